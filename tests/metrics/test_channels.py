"""What each channel adds, what fusion and expansion change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, missing, value

from assay.errors import BadValue
from assay.metrics import channels
from assay.metrics.channels import FusedQuery
from assay.records.evaluations import Outcome, OutcomeKind, Rate
from assay.records.evidence import ChannelCandidates, LoggedQuery

TWO = FusedQuery({"vector": ["a", "b", "c"], "fts5": ["b", "d"]}, ["a", "b", "d", "c"])


def test_every_entry_has_its_worked_example() -> None:
    alone = FusedQuery({"vector": ["a", "b", "c"], "fts5": ["b", "c", "d"]}, ["a", "b", "c", "d"])
    check_entries(
        channels.ENTRIES,
        "channels",
        {
            "channel_contribution": value(channels.channel_contribution(TWO, "vector", 10)),
            "exclusive_contribution": value(channels.exclusive_contribution(alone, "vector", 10)),
            "fusion_reorder_rate": value(channels.fusion_reorder_rate(TWO)),
            "expansion_impact": value(channels.expansion_impact(list("abcde"), list("aecf"), 5)),
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
    assert channels.read_fused_query(logged) == FusedQuery({"vector": ("a",)}, ("a", "b"))


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
