"""Ceilings of failure rates, and of cases that could not be judged."""

from __future__ import annotations

import pytest
from tests.evaluation.made import level, reading

from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import GateOptions, Question, Status
from assay.evaluation.gating.guarantee_rules import judge_failures
from assay.evaluation.gating.run_rules import judge_coverage
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading
from assay.metrics.outcomes import judge_failed, not_applicable, skipped, system_failed
from assay.records.evaluations import CaseStatus, Outcome


def ended(*statuses: CaseStatus) -> Reading:
    cases = {f"q{n:02}": (statuses[n] if n < len(statuses) else CaseStatus.OK,) for n in range(20)}
    return level(0.5, 20, statuses=cases)


def failures(run: Reading, **floors: float) -> dict[str, RuleVerdict]:
    return {
        one.about: one for one in judge_failures(Question(run=run, compared=None, options=GateOptions(floors=floors)))
    }


def test_one_of_twenty_is_allowed_and_two_are_not() -> None:
    assert failures(ended(CaseStatus.ERROR))["error_rate"].status is Status.PASS
    found = failures(ended(CaseStatus.ERROR, CaseStatus.EMPTY))["error_rate"]
    assert found.status is Status.FAIL
    assert found.sentence == "2 of 20 cases failed (error, timeout or nothing returned): 10.0 %, allowed 5 %"


def test_ceilings_that_are_declared_count_and_others_are_not_in_force() -> None:
    slow = ended(CaseStatus.TIMEOUT)
    assert set(failures(slow)) == {"error_rate"}
    found = failures(slow, timeout_rate=0.0, error_rate=0.5)
    assert (found["timeout_rate"].status, found["error_rate"].status) == (Status.FAIL, Status.PASS)


def test_a_run_of_which_nothing_was_tried_says_nothing_of_failures() -> None:
    found = failures(level(0.5, 2, statuses={"q00": (CaseStatus.SKIPPED,)}))
    assert found["error_rate"].status is Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (skipped("a budget"), Status.INCONCLUSIVE),
        (judge_failed("no answer"), Status.INCONCLUSIVE),
        (system_failed("it broke"), Status.PASS),
        (not_applicable("nothing to find"), Status.PASS),
    ],
)
def test_too_many_cases_nobody_could_judge_leave_the_gate_undecided(outcome: Outcome, status: Status) -> None:
    def covered(missing: int) -> RuleVerdict:
        values = {f"q{n:02}": outcome if n < missing else 0.5 for n in range(20)}
        (found,) = judge_coverage(Question(run=reading({"mrr": values}), compared=None))
        return found

    assert covered(1).status is Status.PASS
    assert covered(2).status is status


def test_cases_that_only_the_baseline_has_are_missing() -> None:
    before, after = level(0.5, 20), level(0.5, 18)
    (found,) = judge_coverage(Question(run=after, compared=compare_two(before, after)))
    assert found.status is Status.INCONCLUSIVE
    assert found.sentence.startswith("2 of 20 cases could not be judged: 10.0 %, allowed 5 %, 2 of them")
