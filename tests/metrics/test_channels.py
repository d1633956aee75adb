"""What each channel adds, what fusion and expansion change, and exact Shapley values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, missing, value

from assay.errors import BadValue
from assay.metrics import channels
from assay.metrics.channels import FusedQuery, Lists, ShapleyValues
from assay.metrics.first_results import reciprocal_rank
from assay.records.evidence import ChannelCandidates, LoggedQuery
from assay.records.outcome import Outcome, OutcomeKind
from assay.records.rate import Rate

TWO = FusedQuery({"vector": ["a", "b", "c"], "fts5": ["b", "d"]}, ["a", "b", "d", "c"])
WORTH = {(): 0.0, ("vector",): 0.6, ("fts5",): 0.4, ("fts5", "vector"): 0.8}


def worth(subset: frozenset[str]) -> float:
    return WORTH[tuple(sorted(subset))]


def interleaved(lists: Lists) -> Sequence[str]:
    """A fusion simple enough to follow: first places of all channels by name, then second places, ..."""
    longest = max(len(ids) for ids in lists.values())
    return [lists[name][place] for place in range(longest) for name in sorted(lists) if place < len(lists[name])]


def test_every_entry_has_its_worked_example() -> None:
    found = channels.shapley_values(["vector", "fts5"], worth)
    assert found.shares["fts5"] == pytest.approx(0.3)
    alone = FusedQuery({"vector": ["a", "b", "c"], "fts5": ["b", "c", "d"]}, ["a", "b", "c", "d"])
    check_entries(
        channels.ENTRIES,
        "channels",
        {
            "channel_contribution": value(channels.channel_contribution(TWO, "vector", 10)),
            "exclusive_contribution": value(channels.exclusive_contribution(alone, "vector", 10)),
            "fusion_reorder_rate": value(channels.fusion_reorder_rate(TWO)),
            "expansion_impact": value(channels.expansion_impact(list("abcde"), list("aecf"), 5)),
            "channel_shapley": found.shares["vector"],
            "ils": value(channels.ils(["specs", "specs", "notes", "home", "home"], 5)),
        },
    )


def test_a_channel_that_did_not_run_is_not_one_that_found_nothing() -> None:
    silent = FusedQuery({"vector": ["a"], "graph": []}, ["a"])
    for metric in (channels.channel_contribution, channels.exclusive_contribution):
        assert metric(silent, "graph", 5) == Outcome.scored(0)
        assert missing(metric(silent, "bm25", 5)) is OutcomeKind.NOT_APPLICABLE
        assert missing(metric(FusedQuery({"vector": ["a"]}, []), "vector", 5)) is OutcomeKind.NOT_APPLICABLE


def test_contributions_look_at_the_first_k_distinct_results() -> None:
    doubled = FusedQuery({"vector": ["a"], "fts5": ["b"]}, ["a", "a", "b", "c"])
    assert channels.channel_contribution(doubled, "fts5", 2) == Outcome.scored(0.5)
    assert channels.channel_contribution(doubled, "fts5", 1) == Outcome.scored(0)
    assert channels.channel_contribution(doubled, "vector", 100) == Outcome.scored(1 / 3)


def test_pooled_contributions_count_every_result_alike() -> None:
    queries = [TWO, FusedQuery({"vector": ["x"]}, ["x"]), FusedQuery({"vector": []}, [])]
    assert channels.contributions(queries, 10) == {
        "fts5": channels.Contribution(found=Rate(hits=2, of=4), alone=Rate(hits=1, of=4), queries=1),
        "vector": channels.Contribution(found=Rate(hits=4, of=5), alone=Rate(hits=3, of=5), queries=3),
    }
    assert channels.contributions([], 10) == {}


def test_fusion_moves_a_result_only_against_all_channels_that_found_it() -> None:
    assert channels.fusion_reorder_rate(FusedQuery({"vector": ["a", "b"]}, ["a", "b"])) == Outcome.scored(0)
    assert channels.fusion_reorder_rate(FusedQuery({"vector": ["a", "b"]}, ["b", "a"])) == Outcome.scored(1)
    assert channels.fusion_reorder_rate(FusedQuery({"v": ["a", "b"], "f": ["b", "a"]}, ["b", "a"])) == Outcome.scored(0)
    assert channels.fusion_reorder_rate(TWO, 2) == Outcome.scored(0)


def test_results_from_no_channel_have_no_place_to_move_from() -> None:
    assert channels.fusion_reorder_rate(FusedQuery({"vector": ["a"]}, ["pinned", "a"])) == Outcome.scored(1)
    assert missing(channels.fusion_reorder_rate(FusedQuery({"vector": []}, ["pinned"]))) is OutcomeKind.NOT_APPLICABLE
    assert missing(channels.fusion_reorder_rate(FusedQuery({}, []))) is OutcomeKind.NOT_APPLICABLE


def test_a_result_that_expansion_only_moved_up_is_not_new() -> None:
    assert channels.expansion_impact(["b"], ["a", "b"], 1) == Outcome.scored(0)
    assert missing(channels.expansion_impact(None, ["a"], 5)) is OutcomeKind.NOT_APPLICABLE
    assert missing(channels.expansion_impact([], ["a"], 5)) is OutcomeKind.NOT_APPLICABLE
    assert channels.expansion_impact(["a"], [], 5) == Outcome.scored(1)


def test_crowding_into_folders() -> None:
    assert channels.ils(["a", "b"]) == Outcome.scored(0)
    assert channels.ils(["a"]) == Outcome.scored(0)
    assert channels.ils(["a", "a", "b"], 2) == Outcome.scored(0.5)
    assert missing(channels.ils([])) is OutcomeKind.NOT_APPLICABLE
    with pytest.raises(BadValue):
        channels.ils(["a"], 0)


def test_a_logged_query_is_read_as_it_was() -> None:
    logged = LoggedQuery(
        query_id="eq_1",
        query="limits",
        tool_name="memory_search",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        result_ids=("a", "b"),
        candidates=(ChannelCandidates(channel="vector", ids=("a",), scores=(0.5,)),),
    )
    assert channels.fused_query(logged) == FusedQuery({"vector": ("a",)}, ("a", "b"))


def test_shapley_from_logged_lists_and_a_fusion_by_hand() -> None:
    """Relevant is d. fts5 alone: place 2; vector alone: none; both, interleaved b a d b c: place 3."""
    value_of = channels.fused_value(TWO.lists, interleaved, lambda ids: reciprocal_rank(ids, {"d"}))
    found = channels.shapley_values(TWO.lists, value_of)
    assert found.shares == {
        "fts5": pytest.approx((1 / 2 + 1 / 3) / 2),
        "vector": pytest.approx((0 + 1 / 3 - 1 / 2) / 2),
    }
    assert found.nothing == 0
    assert found.together == pytest.approx(1 / 3)


def test_no_channels_and_one_channel() -> None:
    assert channels.shapley_values([], lambda subset: 0.25) == ShapleyValues(shares={}, together=0.25, nothing=0.25)
    alone = channels.shapley_values(["v", "v"], lambda subset: 0.75 if subset else 0.25)
    assert alone.shares == {"v": 0.5}


def test_channels_that_replace_each_other_share_their_worth() -> None:
    either = channels.shapley_values(["v", "f", "idle"], lambda subset: float(bool(subset & {"v", "f"})))
    assert either.shares == {"v": pytest.approx(0.5), "f": pytest.approx(0.5), "idle": 0}


def test_too_many_channels_and_values_that_are_no_numbers_are_refused() -> None:
    most = channels.shapley_values(map(str, range(12)), lambda subset: float(len(subset)))
    assert list(most.shares.values()) == pytest.approx([1.0] * 12)
    with pytest.raises(BadValue, match="13 channels"):
        channels.shapley_values(map(str, range(13)), lambda subset: 0.0)
    with pytest.raises(BadValue, match="nan"):
        channels.shapley_values(["v"], lambda subset: math.nan)


def test_the_mean_over_queries_counts_a_channel_that_did_not_run_as_nothing() -> None:
    one = ShapleyValues(shares={"v": 0.5, "f": 0.5}, together=1.0, nothing=0.0)
    other = ShapleyValues(shares={"v": 0.5}, together=0.5, nothing=0.0)
    assert channels.mean_shapley([one, other]) == ShapleyValues(
        shares={"f": 0.25, "v": 0.5}, together=0.75, nothing=0.0
    )
    assert channels.mean_shapley([]) is None


GAMES = st.integers(min_value=1, max_value=4).flatmap(
    lambda count: st.tuples(st.just(count), st.lists(st.floats(0, 1), min_size=2**count, max_size=2**count))
)


@given(GAMES)
def test_shapley_shares_add_up_and_equal_the_mean_over_all_orders(game: tuple[int, list[float]]) -> None:
    count, worths = game
    players = "abcd"[:count]

    def worth_of(subset: frozenset[str]) -> float:
        return worths[sum(1 << players.index(player) for player in subset)]

    found = channels.shapley_values(players, worth_of)
    assert math.fsum(found.shares.values()) == pytest.approx(found.together - found.nothing, abs=1e-12)
    for player in players:
        gains = []
        for order in permutations(players):
            before = frozenset(order[: order.index(player)])
            gains.append(worth_of(before | {player}) - worth_of(before))
        assert found.shares[player] == pytest.approx(sum(gains) / len(gains), abs=1e-12)
        assert -1 <= found.shares[player] <= 1


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_symmetric_players_get_equal_shares(by_size: list[float]) -> None:
    """A game that only counts heads: nobody can tell its players apart."""
    shares = channels.shapley_values("abcd", lambda subset: by_size[len(subset)]).shares
    assert list(shares.values()) == pytest.approx([(by_size[4] - by_size[0]) / 4] * 4, abs=1e-12)


IDS = st.sampled_from("abcdef")
QUERIES = st.builds(
    FusedQuery,
    st.dictionaries(st.sampled_from(["vector", "fts5", "graph"]), st.lists(IDS, max_size=6), min_size=1),
    st.lists(IDS, min_size=1, max_size=8),
)


@given(QUERIES, st.integers(min_value=1, max_value=10))
def test_exclusive_is_part_of_contribution_and_exclusive_shares_never_pass_one(query: FusedQuery, k: int) -> None:
    found = {name: value(channels.channel_contribution(query, name, k)) for name in query.lists}
    alone = {name: value(channels.exclusive_contribution(query, name, k)) for name in query.lists}
    assert all(0 <= alone[name] <= found[name] <= 1 for name in query.lists)
    assert sum(alone.values()) <= 1 + 1e-12


@given(QUERIES)
def test_reordering_is_in_range(query: FusedQuery) -> None:
    moved = channels.fusion_reorder_rate(query).value
    assert moved is None or 0 <= moved <= 1


@given(st.lists(IDS, min_size=1))
def test_crowding_is_below_one_and_grows_when_a_folder_repeats(folders: list[str]) -> None:
    crowded = value(channels.ils(folders))
    assert 0 <= crowded < 1
    assert value(channels.ils([*folders, folders[0]])) > crowded
