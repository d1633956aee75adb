"""Shapley values: they add up, a channel that adds nothing is worth nothing, and equals are worth the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.tuning.logs import drawn

from assay.evaluation.tuning import FusionChoice, Replay, channel_values
from assay.evaluation.tuning.shapley import shapley
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
