"""Shapley values: they add up, a channel that adds nothing is worth nothing, and equals are worth the same."""

from __future__ import annotations

from collections.abc import Collection
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.tuning.logs import drawn

from assay.evaluation.tuning import FusionChoice, Replay, channel_values
from assay.evaluation.tuning.decision import shapley
from assay.metrics.spec import MetricSpec
from assay.records import Channel

worths = st.lists(st.floats(-1, 1), min_size=32, max_size=32)


@given(worths)
def test_values_add_up_to_what_all_are_worth_together(values: list[float]) -> None:
    def worth(some: object) -> float:
        return values[sum(1 << one for one in some)]  # type: ignore[attr-defined] # a set of small numbers

    found = shapley(range(5), worth)
    assert sum(found.values()) == pytest.approx(values[31] - values[0], abs=1e-9)


def test_a_hand_computed_game() -> None:
    # Two gloves left, one right: a pair is worth 1.
    pairs = {"l1": "left", "l2": "left", "r": "right"}
    found = shapley(tuple(pairs), lambda some: float({pairs[one] for one in some} == {"left", "right"}))
    assert found == pytest.approx({"l1": 1 / 6, "l2": 1 / 6, "r": 2 / 3})


def test_channels_share_the_metric() -> None:
    rng = np.random.default_rng(9)
    replay = Replay(drawn(60, rng, words=0.2, vectors=0.5), MetricSpec.parse("mrr@10"), level=2)
    found = channel_values(replay, FusionChoice())
    whole = float(replay.measure([FusionChoice()]).mean())
    assert sum(one.value for one in found) == pytest.approx(whole)
    assert found[0].channel is Channel.VECTOR
    silent = {one.channel: one for one in found if one.channel in (Channel.GRAPH, Channel.TRIGGER, Channel.FTS5)}
    assert all(one.value == pytest.approx(0.0) and one.without == pytest.approx(whole) for one in silent.values())


GAMES = st.integers(min_value=1, max_value=4).flatmap(
    lambda count: st.tuples(st.just(count), st.lists(st.floats(0, 1), min_size=2**count, max_size=2**count))
)


@given(GAMES)
def test_a_value_is_the_mean_gain_over_all_orders_of_joining(game: tuple[int, list[float]]) -> None:
    count, worths = game
    players = "abcd"[:count]

    def worth_of(subset: Collection[str]) -> float:
        return worths[sum(1 << players.index(player) for player in subset)]

    found = shapley(players, worth_of)
    for player in players:
        gains = []
        for order in permutations(players):
            before = order[: order.index(player)]
            gains.append(worth_of((*before, player)) - worth_of(before))
        assert found[player] == pytest.approx(sum(gains) / len(gains), abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_symmetric_players_get_equal_shares(by_size: list[float]) -> None:
    """A game that only counts heads: nobody can tell its players apart."""
    found = shapley("abcd", lambda subset: by_size[len(subset)])
    assert list(found.values()) == pytest.approx([(by_size[4] - by_size[0]) / 4] * 4, abs=1e-12)


def test_channels_that_replace_each_other_share_their_worth() -> None:
    either = shapley(("v", "f", "idle"), lambda subset: float(bool(set(subset) & {"v", "f"})))
    assert either == pytest.approx({"v": 0.5, "f": 0.5, "idle": 0})
