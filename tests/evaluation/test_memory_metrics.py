"""Agent-memory metrics in a run, worked by hand."""

from __future__ import annotations

import pytest
from tests.evaluation.remembered import CASES, DOCUMENTS, given, measured, memory
from tests.systems.sample import dataset

from assay.evaluation.run_metrics import default_metrics, leading_tier
from assay.records.datasets import Dataset

LISTS = {
    "c1": given("imp", "crit"),
    "c2": given("norm", "old", unboosted=("imp", "norm"), tokens_saved=40),
    "c3": given("imp", "crit", "norm"),
    "c4": given("crit", pinned=()),
}


def test_constitutional_memories_count_whether_pinned_or_found() -> None:
    result = measured(LISTS, "constitutional_surfacing@5")
    assert [one.value for one in result.per_case("constitutional_surfacing@5").values()] == [1, 1, 1, 0]


def test_recall_is_weighted_by_tier_and_counts_what_is_pinned_only_if_asked() -> None:
    metrics = "importance_weighted_recall@5,importance_weighted_recall(least=critical,pinned=count)@5"
    result = measured(LISTS, metrics)
    plain, pinned = (result.per_case(one) for one in metrics.split(",", 1))
    assert plain["c1"].value == pytest.approx(3 / 8)
    assert pinned["c1"].value == 1.0
    assert plain["c3"].value == pytest.approx(2 / 5)
    assert pinned["c3"].value == 0.0
    assert pinned["c2"].value is None, "nothing critical is relevant to it"


def test_precision_of_a_tier_looks_at_that_tier_alone() -> None:
    result = measured(LISTS, "tier_precision(tier=critical)@5,tier_precision(tier=important)@5")
    critical = result.per_case("tier_precision(tier=critical)@5")
    assert (critical["c1"].value, critical["c3"].value, critical["c4"].value) == (1.0, 0.0, 0.0)
    assert critical["c2"].reason == "no critical memory is among the first 5"
    assert result.value("tier_precision(tier=important)@5") == pytest.approx((0 + 1) / 2)


def test_the_ratio_of_cold_to_warm_is_a_ratio_of_means_over_the_cold_cases() -> None:
    result = measured(LISTS, "cold_start_mrr@10,cold_start_ratio@10")
    assert result.value("cold_start_mrr@10") == 0.5
    assert result.value("cold_start_ratio@10") == 0.5, "warm: the first place"
    reasons = {case: one.reason for case, one in result.per_case("cold_start_ratio@10").items()}
    assert reasons["c2"].startswith("the session has a history")
    assert reasons["c3"] == "the case stands in no session"
    assert result.aggregates[next(iter(result.aggregates))].scored == 1


def test_without_warm_searches_there_is_no_ratio() -> None:
    result = measured(LISTS, "cold_start_ratio@10", memory(CASES[:1]))
    assert result.value("cold_start_ratio@10") is None
    assert "1 cold and 0 warm searches" in result.per_case("cold_start_ratio@10")["c1"].reason


def test_what_the_session_adds_and_saves_is_told_by_the_system() -> None:
    result = measured(LISTS, "personalisation_lift@10,dedup_tokens_saved")
    assert result.value("personalisation_lift@10") == pytest.approx(1 - 1 / 2)
    assert result.value("dedup_tokens_saved") == 40
    assert result.per_case("personalisation_lift@10")["c1"].reason == "the session has no history"
    silent = measured({**LISTS, "c2": given("norm")}, "personalisation_lift@10,dedup_tokens_saved")
    assert "does not say" in silent.per_case("personalisation_lift@10")["c2"].reason
    assert "does not say" in silent.per_case("dedup_tokens_saved")["c2"].reason


def test_chains_and_what_was_superseded() -> None:
    result = measured(LISTS, "causal_chain_completeness@10,stale_served_rate@5,stale_served_rate(per=search)@5")
    assert result.value("causal_chain_completeness@10") == pytest.approx(2 / 3)
    assert result.per_case("stale_served_rate@5")["c2"].value == 0.5
    assert result.value("stale_served_rate(per=search)@5") == 1 / 4


def test_a_memory_is_measured_with_all_of_it_and_other_datasets_with_nothing_of_it() -> None:
    names = {one.name for one in default_metrics(memory())}
    families = {one.entry.family for one in default_metrics(memory())}
    assert names >= {"constitutional_surfacing", "cold_start_ratio", "personalisation_lift", "tier_precision", "ils"}
    assert families == {"ranking", "agent memory", "channels", "write path"}
    assert {one.entry.family for one in default_metrics(dataset())} == {"ranking"}


def test_the_tier_of_a_case_is_the_highest_of_what_is_relevant() -> None:
    assert [leading_tier(one, memory()) for one in CASES] == ["constitutional", "normal", "critical", ""]
    plain = Dataset(name="plain", documents=DOCUMENTS[4:5], cases=CASES[1:2])
    assert leading_tier(CASES[1], plain) == ""


def test_what_was_returned_is_measured_whole() -> None:
    result = measured(LISTS, "precision_returned,tokens_returned")
    precision, tokens = result.per_case("precision_returned"), result.per_case("tokens_returned")
    assert precision["c1"].value == pytest.approx(1 / 2)
    assert tokens["c1"].reason == "the system returns documents without their texts"
    assert {"precision_returned", "tokens_returned"} <= {spec.name for spec in default_metrics(memory())}
