"""Cases lost since the baseline, and what is only noise between repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.evaluation.made import reading

from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import GateOptions, Question, Status
from assay.evaluation.gating.baseline_rules import find_lost_cases, judge_lost, telling_metric
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading
from assay.metrics.outcomes import skipped, system_failed
from assay.records.evaluations import CaseStatus

FOUND = {"a": 0.2, "b": 1.0, "c": 0.0, "d": 1.0}


def judged(before: Reading, after: Reading, lost: int = 0) -> RuleVerdict:
    question = Question(run=after, compared=compare_two(before, after), options=GateOptions(lost=lost))
    (found,) = judge_lost(question)
    return found


def test_a_case_that_was_found_and_is_not_any_more_is_lost_and_named() -> None:
    before = reading({"recall@5": FOUND})
    after = reading({"recall@5": {**FOUND, "b": 0.0, "c": 0.5}}, queries={"b": "reset  my\nbadge"})
    found = judged(before, after)
    assert found.status is Status.INCONCLUSIVE, "one was lost and one gained: that may be noise"
    assert found.sentence.startswith(
        '1 case lost since the baseline (by recall@5; 1 gained): b "reset my badge"; chance'
    )
    assert "--repeat 3" in found.sentence
    assert judged(before, after, lost=1).status is Status.PASS
    strict = Question(run=after, compared=compare_two(before, after), options=GateOptions(strict=True))
    assert [one.status for one in judge_lost(strict)] == [Status.FAIL]


def test_a_case_the_system_failed_on_is_lost_and_one_never_tried_is_not() -> None:
    before = reading({"recall@5": FOUND})
    failed = reading({"recall@5": {**FOUND, "b": system_failed("it broke"), "d": skipped("a budget")}})
    assert find_lost_cases(before, failed, "recall@5") == ["b"]


def test_a_lower_value_above_zero_is_not_lost() -> None:
    assert judged(reading({"mrr": FOUND}), reading({"mrr": {**FOUND, "b": 0.1}})).status is Status.PASS


def test_a_drop_within_the_noise_of_repeats_does_not_count() -> None:
    after = reading({"recall@5": {**FOUND, "b": 0.0, "d": 0.0}})
    steady = reading({"recall@5": FOUND}, noise={"recall@5": {"b": 0.5, "d": 0.49}})
    assert find_lost_cases(steady, after, "recall@5") == ["d"]


def test_many_lost_cases_are_not_all_named() -> None:
    cases = [f"q{n}" for n in range(8)]
    found = judged(reading({"mrr": dict.fromkeys(cases, 1.0)}), reading({"mrr": dict.fromkeys(cases, 0.0)}))
    assert found.status is Status.FAIL
    assert found.sentence.startswith(
        "8 cases lost since the baseline (by mrr; 0 gained): q0, q1, q2, q3, q4 and 3 more; p = 0.0039"
    )


def test_the_metric_that_tells_is_recall_before_others_and_never_one_that_is_better_when_lower() -> None:
    assert telling_metric(("ndcg@5", "mrr", "recall@5", "recall@10")) == "recall@5"
    assert telling_metric(("scope_miss_rate", "precision@5")) is None
    (found,) = judge_lost(Question(run=reading({"mrr": FOUND}), compared=None))
    assert found.status is Status.NOT_APPLICABLE


def repeated(values: Mapping[str, float], **more: Any) -> Reading:
    return reading({"recall@5": values}, statuses=dict.fromkeys(values, (CaseStatus.OK,) * 3), **more)


def test_one_lost_case_fails_where_repeats_of_both_runs_never_vary() -> None:
    found = judged(repeated(FOUND), repeated({**FOUND, "b": 0.0}))
    assert found.status is Status.FAIL
    assert found.sentence.endswith("b; no case varies between repeats")
    noisy = repeated({**FOUND, "b": 0.0}, noise={"recall@5": {"a": 0.1}})
    assert judged(repeated(FOUND), noisy).status is Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("lost", "gained", "status"),
    [(4, 0, Status.INCONCLUSIVE), (5, 0, Status.FAIL), (9, 5, Status.INCONCLUSIVE), (15, 4, Status.FAIL)],
)
def test_cases_lost_must_outnumber_those_gained_by_more_than_chance(lost: int, gained: int, status: Status) -> None:
    names = [f"q{n:02}" for n in range(40)]
    before = {name: float(place >= gained) for place, name in enumerate(names)}
    after = {name: float(place < 40 - lost) for place, name in enumerate(names)}
    assert judged(reading({"recall@5": before}), reading({"recall@5": after})).status is status
