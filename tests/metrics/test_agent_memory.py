"""What must surface, what matters most, and what a session's history gains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.examples import check_entries, mean, missing, value

from assay.errors import BadValue
from assay.metrics import agent_memory
from assay.metrics import agent_memory as cold_start
from assay.metrics.agent_memory import Need
from assay.records.answers import EquivalenceClasses
from assay.records.evaluations import Outcome, OutcomeKind
from assay.records.memory import Tier
from assay.records.sessions import SessionQuery


def query(*ranking: str, cold: bool = False, relevant: tuple[str, ...] = ("x",)) -> SessionQuery:
    return SessionQuery(ranking=ranking, relevant=frozenset(relevant), cold=cold)


COLD = [query("x", cold=True), query("a", "x", cold=True)]
HITS = ["a", "c2", "b", "d", "e", "f", "c3"]
CONSTITUTION = {"c1", "c2", "c3"}


def test_every_entry_has_its_worked_example() -> None:
    surfaced = {
        need: value(agent_memory.constitutional_surfacing(HITS, CONSTITUTION, 5, pinned=["c1"], need=need))
        for need in Need
    }
    assert surfaced == {Need.ALL: 0, Need.ANY: 1, Need.SHARE: 2 / 3}
    check_entries(
        agent_memory.ENTRIES,
        "agent memory",
        {
            "constitutional_surfacing": surfaced[Need.ALL],
            "importance_weighted_recall": value(
                agent_memory.importance_weighted_recall(["a", "b"], {"a": Tier.CRITICAL, "n": Tier.NORMAL}, 5)
            ),
            "cold_start_mrr": mean([cold_start.cold_start_mrr(one) for one in [*COLD, query("a", "b", "x")]]),
            "cold_start_ratio": value(cold_start.cold_start([*COLD, query("x"), query("x", "a")]).ratio),
            "personalisation_lift": value(agent_memory.personalisation_lift(["x", "a"], ["a", "x"], {"x"})),
            "causal_chain_completeness": value(
                agent_memory.causal_chain_completeness(["1", "a", "2", "5"], ["1", "2", "3", "4", "5"], 10)
            ),
            "tier_precision": value(
                agent_memory.tier_precision(
                    ["a", "b", "c", "d", "e"],
                    {"a": Tier.CRITICAL, "b": Tier.CRITICAL, "c": Tier.NORMAL},
                    {"a", "c"},
                    5,
                    tier=Tier.CRITICAL,
                )
            ),
            "dedup_tokens_saved": value(agent_memory.dedup_tokens_saved([120, 80])),
        },
    )


def test_pinned_memories_surface_whatever_the_cutoff() -> None:
    assert agent_memory.constitutional_surfacing([], CONSTITUTION, 1, pinned=["c1", "c2", "c3"]) == Outcome.scored(1)
    assert agent_memory.constitutional_surfacing(HITS, CONSTITUTION, 7, pinned=["c1"]) == Outcome.scored(1)
    assert agent_memory.constitutional_surfacing(HITS, CONSTITUTION, 6, pinned=["c1"]) == Outcome.scored(0)


@pytest.mark.parametrize("need", Need)
def test_without_constitutional_memories_there_is_nothing_to_surface(need: Need) -> None:
    assert missing(agent_memory.constitutional_surfacing(HITS, (), 5, need=need)) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(("need", "expected"), [(Need.ALL, 0), (Need.ANY, 0), (Need.SHARE, 0)])
def test_nothing_shown_surfaces_nothing(need: Need, expected: float) -> None:
    assert agent_memory.constitutional_surfacing([], CONSTITUTION, 5, need=need) == Outcome.scored(expected)


def test_the_weights_are_those_of_the_document_and_deprecated_is_worth_nothing() -> None:
    assert dict(agent_memory.TIER_WEIGHTS) == {
        Tier.CONSTITUTIONAL: 4,
        Tier.CRITICAL: 3,
        Tier.IMPORTANT: 2,
        Tier.NORMAL: 1,
        Tier.TEMPORARY: 0.5,
        Tier.DEPRECATED: 0,
    }


def test_importance_weighted_recall_over_all_six_tiers_by_hand() -> None:
    relevant = {tier.value: tier for tier in Tier}
    found = ["constitutional", "normal", "deprecated", "unrelated"]
    assert agent_memory.importance_weighted_recall(found, relevant, 10) == Outcome.scored(5 / 10.5)
    assert agent_memory.importance_weighted_recall(found, relevant, 1) == Outcome.scored(4 / 10.5)
    assert agent_memory.importance_weighted_recall(found, relevant, 10, least=Tier.CRITICAL) == Outcome.scored(4 / 7)
    everything = agent_memory.importance_weighted_recall(found, relevant, 10, least=Tier.DEPRECATED)
    assert everything == Outcome.scored(5 / 10.5)


def test_pinned_memories_count_for_recall_only_when_given() -> None:
    relevant = {"c": Tier.CONSTITUTIONAL}
    assert agent_memory.importance_weighted_recall([], relevant, 5) == Outcome.scored(0)
    assert agent_memory.importance_weighted_recall([], relevant, 5, pinned=["c"]) == Outcome.scored(1)


def test_where_no_relevant_memory_has_weight_recall_does_not_apply() -> None:
    for relevant in ({}, {"d": Tier.DEPRECATED}):
        assert missing(agent_memory.importance_weighted_recall(["d"], relevant, 5)) is OutcomeKind.NOT_APPLICABLE
    only_normal = agent_memory.importance_weighted_recall(["n"], {"n": Tier.NORMAL}, 5, least=Tier.CRITICAL)
    assert missing(only_normal) is OutcomeKind.NOT_APPLICABLE


def test_an_equivalence_class_is_one_memory_of_its_highest_tier() -> None:
    classes = EquivalenceClasses(classes=(frozenset({"a", "b", "twin"}),))
    relevant = {"a": Tier.NORMAL, "b": Tier.CRITICAL, "c": Tier.NORMAL}
    by_twin = agent_memory.importance_weighted_recall(["twin"], relevant, 5, classes=classes)
    assert by_twin == Outcome.scored(3 / 4)
    assert agent_memory.importance_weighted_recall(["twin"], relevant, 5) == Outcome.scored(0)
    assert agent_memory.causal_chain_completeness(["twin", "b"], ["a", "c"], 5, classes=classes) == Outcome.scored(0.5)
    tiers = dict.fromkeys(("a", "b"), Tier.NORMAL)
    repeated = agent_memory.tier_precision(["a", "b"], tiers, {"a", "b"}, 5, tier=Tier.NORMAL, classes=classes)
    assert repeated == Outcome.scored(0.5)


def test_an_id_in_two_classes_is_refused() -> None:
    with pytest.raises(BadValue):
        EquivalenceClasses(classes=(frozenset({"a", "b"}), frozenset({"b", "c"})))


def test_cold_start_mrr_is_of_cold_queries_with_something_to_find() -> None:
    assert missing(cold_start.cold_start_mrr(query("x"))) is OutcomeKind.NOT_APPLICABLE
    assert missing(cold_start.cold_start_mrr(query("x", cold=True, relevant=()))) is OutcomeKind.NOT_APPLICABLE
    assert cold_start.cold_start_mrr(query("a", "x", cold=True), 1) == Outcome.scored(0)
    assert cold_start.cold_start_mrr(query(cold=True)) == Outcome.scored(0)


def test_a_memory_listed_twice_counts_at_its_first_place_and_the_rest_move_up() -> None:
    assert cold_start.cold_start_mrr(query("a", "a", "x", cold=True)) == Outcome.scored(0.5)


def test_the_cold_start_ratio_shows_its_parts() -> None:
    found = cold_start.cold_start([query("a", "x", cold=True)] * 2 + [query("x"), query("x", relevant=())], 5)
    assert found == cold_start.ColdStart(
        cold_mrr=0.5, warm_mrr=1.0, cold=2, warm=1, left_out={OutcomeKind.NOT_APPLICABLE: 1}
    )
    assert found.ratio == Outcome.scored(0.5)


@pytest.mark.parametrize(
    "queries",
    [[], [query("x")], [query("x", cold=True)], [query("x", cold=True), query("a")]],
    ids=["nothing", "no cold", "no warm", "warm finds nothing"],
)
def test_a_ratio_needs_both_sides_and_a_warm_side_above_zero(queries: list[SessionQuery]) -> None:
    assert missing(cold_start.cold_start(queries).ratio) is OutcomeKind.NOT_APPLICABLE


def test_a_boost_can_do_harm() -> None:
    assert agent_memory.personalisation_lift(["a", "x"], ["x", "a"], {"x"}) == Outcome.scored(-0.5)
    assert agent_memory.personalisation_lift(["a", "x"], ["a", "x"], {"x"}, 1) == Outcome.scored(0)
    assert missing(agent_memory.personalisation_lift(["a"], ["b"], ())) is OutcomeKind.NOT_APPLICABLE


def test_a_chain_counts_each_memory_once_and_needs_one() -> None:
    assert agent_memory.causal_chain_completeness(["1"], ["1", "1", "2"], 5) == Outcome.scored(0.5)
    assert agent_memory.causal_chain_completeness(["a", "1"], ["1"], 1) == Outcome.scored(0)
    assert missing(agent_memory.causal_chain_completeness(["1"], [], 5)) is OutcomeKind.NOT_APPLICABLE


def test_a_tier_that_is_not_shown_has_no_precision() -> None:
    shown = agent_memory.tier_precision(["a"], {"a": Tier.NORMAL}, {"a"}, 5, tier=Tier.IMPORTANT)
    assert missing(shown) is OutcomeKind.NOT_APPLICABLE
    assert agent_memory.tier_precision(["a"], {"a": Tier.NORMAL}, (), 5, tier=Tier.NORMAL) == Outcome.scored(0)


def test_saving_nothing_and_not_deduplicating_are_not_the_same() -> None:
    assert agent_memory.dedup_tokens_saved([]) == Outcome.scored(0)
    assert missing(agent_memory.dedup_tokens_saved(None)) is OutcomeKind.NOT_APPLICABLE


IDS = st.sampled_from("abcdefgh")
RANKINGS = st.lists(IDS, max_size=12)
CUTOFFS = st.integers(min_value=1, max_value=15)


@given(RANKINGS, st.dictionaries(IDS, st.sampled_from(Tier)), CUTOFFS)
def test_weighted_recall_is_in_range_grows_with_the_cutoff_and_is_one_when_all_is_found(
    ranking: list[str], relevant: dict[str, Tier], k: int
) -> None:
    now, later = (agent_memory.importance_weighted_recall(ranking, relevant, cutoff) for cutoff in (k, k + 1))
    if now.value is not None and later.value is not None:
        assert 0 <= now.value <= later.value <= 1
        assert agent_memory.importance_weighted_recall(sorted(relevant), relevant, 8) == Outcome.scored(1)


@given(RANKINGS, st.sets(IDS, min_size=1), CUTOFFS)
def test_surfacing_all_implies_any_and_the_share_lies_between(ranking: list[str], wanted: set[str], k: int) -> None:
    every, share, some = (
        value(agent_memory.constitutional_surfacing(ranking, wanted, k, need=need))
        for need in (Need.ALL, Need.SHARE, Need.ANY)
    )
    assert 0 <= every <= share <= some <= 1


@given(RANKINGS, RANKINGS, st.sets(IDS, min_size=1), CUTOFFS)
def test_lift_is_antisymmetric_and_in_range(one: list[str], other: list[str], relevant: set[str], k: int) -> None:
    there = value(agent_memory.personalisation_lift(one, other, relevant, k))
    assert -1 <= there <= 1
    assert value(agent_memory.personalisation_lift(other, one, relevant, k)) == -there


@given(RANKINGS, st.sets(IDS, min_size=1), CUTOFFS)
def test_chain_completeness_grows_with_the_cutoff(ranking: list[str], chain: set[str], k: int) -> None:
    now, later = (value(agent_memory.causal_chain_completeness(ranking, chain, cutoff)) for cutoff in (k, k + 1))
    assert 0 <= now <= later <= 1
