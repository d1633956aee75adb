"""What is fixed before the first case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.sample import CASES, Given, dataset

from assay.errors import BadValue, NotCovered, NothingMeasured, UnknownMetric
from assay.evaluation.run_metrics import default_metrics
from assay.evaluation.running.planning import (
    NO_LIMIT,
    Budget,
    RunOptions,
    RunSpending,
    guard_coverage,
    plan_run,
    sample_cases,
)
from assay.metrics.catalog import recall
from assay.metrics.spec import parse_specs
from assay.records.answers import FolderMode, GoldAnchors, GoldSupport
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult, CaseStatus, RunManifest

SYSTEM = Given(lambda _: [])
WHEN = datetime(2026, 5, 1, tzinfo=UTC)


def plan(of: Dataset, **options: Any) -> RunManifest:
    return plan_run(of, SYSTEM, RunOptions(**options), run_id="run_1", at=WHEN, host="here")


def test_a_manifest_holds_what_moves_numbers_and_what_may_differ() -> None:
    made = plan(dataset(), metrics=parse_specs("mrr,ndcg@20"))
    assert (made.k, made.metrics, made.case_ids) == (20, ("mrr", "ndcg@20"), ("q1", "q2", "q3", "q4"))
    assert made.instrument["dataset"] == dataset().content_hash
    assert made.instrument["metrics"].keys() == {"mrr", "ndcg@20"}
    assert made.subject.keys() >= {"system", "timeout_s", "assay"}
    assert made.name == made.system == "given"


def test_another_level_or_depth_is_another_instrument() -> None:
    usual = plan(dataset()).instrument_hash
    assert plan(dataset()).instrument_hash == usual
    assert plan(dataset(relevance_level=3)).instrument_hash != usual
    assert plan(dataset(), k=50).instrument_hash != usual
    assert plan(dataset(), timeout_s=1.0).instrument_hash == usual


def test_metrics_are_those_the_dataset_can_answer() -> None:
    gold = GoldAnchors(supports=(GoldSupport(rel_path="a.md"),))
    anchored = Case(id="a1", query="where", anchors=gold, folder_mode=FolderMode.ON)
    assert {one.name for one in default_metrics(dataset())} == {"recall", "precision", "mrr", "ndcg"}
    only = default_metrics(dataset(cases=(anchored,)))
    assert {one.entry.family for one in only} == {"anchors", "channels"}
    assert "scope_miss_rate" in {one.name for one in only}
    assert len(default_metrics(dataset(cases=(*CASES, anchored)))) == len(only) + 7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 5, "metrics": parse_specs("ndcg@10")}, "ndcg@10 looks at 10 results, and k is 5"),
        ({"k": 0}, "k 0 is below 1"),
        ({"repeats": 0}, "repeats 0 is below 1"),
        ({"sample": 0.0}, "sample 0.0 is not a share"),
        ({"sample": 1.5}, "sample 1.5 is not a share"),
        ({"timeout_s": 0.0}, "timeout 0.0 is not above 0"),
    ],
)
def test_options_that_contradict_themselves_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        plan(dataset(), **options)


def test_a_metric_that_nothing_here_computes_is_refused_by_name() -> None:
    recall(["elsewhere@10"], {"elsewhere": {"better": "higher"}})
    with pytest.raises(UnknownMetric, match="nothing here computes elsewhere@10"):
        plan(dataset(), metrics=parse_specs("elsewhere@10"))
    with pytest.raises(UnknownMetric, match="recal"):
        plan(dataset(floors={"recal@5": 0.5}))


def test_a_dataset_without_cases_measures_nothing() -> None:
    with pytest.raises(NothingMeasured, match="holds no cases"):
        plan(dataset(cases=()))


def cases_of(numbers: Iterable[int], kinds: int = 1) -> list[Case]:
    return [Case(id=f"q{number}", query="?", difficulty=f"kind {number % kinds}") for number in numbers]


@given(
    st.lists(st.integers(0, 10_000), unique=True, min_size=1),
    st.floats(0.01, 1.0),
    st.integers(0, 5),
    st.integers(1, 4),
)
def test_a_sample_is_the_same_every_time_and_in_order(numbers: list[int], share: float, seed: int, kinds: int) -> None:
    cases = cases_of(numbers, kinds)
    ids = [case.id for case in cases]
    chosen = sample_cases(cases, share, seed)
    assert chosen == sample_cases(cases, share, seed)
    assert len(chosen) >= 1
    assert abs(len(chosen) - share * len(ids)) < 1
    assert [ids.index(one) for one in chosen] == sorted(ids.index(one) for one in chosen)
    assert set(sample_cases(cases[::-1], share, seed)) == set(chosen)


def test_a_sample_grows_with_its_share() -> None:
    cases = cases_of(range(100))
    assert set(sample_cases(cases, 0.1, 0)) < set(sample_cases(cases, 0.4, 0)) < {case.id for case in cases}
    assert sample_cases(cases, 0.4, 0) != sample_cases(cases, 0.4, 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_has_its_share_of_every_kind_of_case(seed: int) -> None:
    cases = cases_of(range(100), kinds=2)
    kind = {case.id: case.difficulty for case in cases}
    assert Counter(kind[one] for one in sample_cases(cases, 0.2, seed)) == {"kind 0": 10, "kind 1": 10}


class Holding(Given):
    def holds(self, document_ids: Any) -> frozenset[str]:
        return frozenset(document_ids) - {"parking"}


def test_the_guard_looks_at_relevant_documents_of_chosen_cases_only() -> None:
    holding = Holding(lambda _: [])
    guard_coverage(dataset(), holding, ["q1", "q2"])
    guard_coverage(dataset(), SYSTEM, ["q3"])
    with pytest.raises(NotCovered, match=r"parking \(for q3\)"):
        guard_coverage(dataset(), holding, ["q1", "q3"])


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("1.50", Budget(money=1.5)),
        ("90s", Budget(seconds=90)),
        ("10m", Budget(seconds=600)),
        ("2 h", Budget(seconds=7200)),
    ],
)
def test_a_budget_is_money_or_time(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "5 days", "1.5.0"])
def test_a_budget_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="budget"):
        Budget.parse(text)


def test_spending_stops_before_the_dearest_case_would_exceed_it() -> None:
    spending = RunSpending(Budget(money=1.0))
    assert spending.allows_another(0.0)
    for cost in (0.4, None, 0.1):
        spending.add(CaseResult(case_id="q", status=CaseStatus.OK, cost=cost))
    assert spending.allows_another(0.0)
    spending.add(CaseResult(case_id="q", status=CaseStatus.OK, cost=0.2))
    assert not spending.allows_another(0.0)
    assert RunSpending(NO_LIMIT).allows_another(1e9)


def test_time_is_spent_on_the_clock_on_the_wall() -> None:
    spending = RunSpending(Budget(seconds=10))
    spending.add(CaseResult(case_id="q", status=CaseStatus.OK, total_ms=2_000.0))
    assert spending.allows_another(8.0)
    assert not spending.allows_another(8.1)
