"""All rules together: what passes always, what never does, and what does not depend on order."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.made import golden, good, level, nothing, poor, reading, run_of

from assay.errors import NotComparable, NothingMeasured
from assay.evaluation.gating import GateOptions, RuleVerdict, Status, Verdict, judge
from assay.evaluation.gating.rules import rules_of
from assay.evaluation.gating.verdict import verdict_of_error
from assay.evaluation.readings import Reading, reading_of
from assay.metrics.outcomes import not_applicable
from assay.records.evaluations import Outcome

IDS = st.sampled_from([f"q{n}" for n in range(12)])
VALUES = st.dictionaries(IDS, st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=1)
NEVER = not_applicable("nothing to find")


def shuffled(run: Reading, seed: int) -> Reading:
    def mixed(table: dict[str, Outcome]) -> dict[str, Outcome]:
        keys = list(table)
        Random(seed).shuffle(keys)
        return {key: table[key] for key in keys}

    return replace(run, outcomes={metric: mixed(dict(of)) for metric, of in run.outcomes.items()})


@settings(max_examples=25)
@given(VALUES, VALUES)
def test_a_run_against_itself_always_passes(recall: dict[str, float], mrr: dict[str, float]) -> None:
    run = reading({"recall@5": recall, "mrr": mrr}, times=dict.fromkeys(recall, (5.0,)))
    verdict = judge(run, run)
    assert verdict.passed
    assert verdict.exit_code == 0


@settings(max_examples=25)
@given(VALUES, VALUES, st.integers(0, 99))
def test_the_verdict_does_not_depend_on_the_order_of_cases(
    before: dict[str, float], after: dict[str, float], seed: int
) -> None:
    both = {case: value for case, value in before.items() if case in after} or {"q0": 1.0}
    one, other = reading({"mrr": both}, name="old"), reading({"mrr": {case: after.get(case, 1.0) for case in both}})
    assert judge(other, one).as_json() == judge(shuffled(other, seed), shuffled(one, seed + 1)).as_json()


def test_a_worse_run_fails_and_says_by_what() -> None:
    dataset = golden()
    before = reading_of(run_of(dataset, [good(n) for n in range(30)]))
    after = reading_of(run_of(dataset, [poor(n) if n % 2 else good(n) for n in range(30)], name="worse"))
    verdict = judge(after, before)
    assert (verdict.status, verdict.exit_code, verdict.passed) == (Status.FAIL, 1, False)
    assert {one.about for one in verdict.of(Status.FAIL)} == {"mrr", "ndcg@5"}
    assert repr(verdict).splitlines()[0].startswith("FAIL          mrr fell from 1.00 to ")


@pytest.mark.parametrize(
    ("lost", "strict", "status"), [(1, True, Status.FAIL), (5, False, Status.FAIL), (1, False, Status.INCONCLUSIVE)]
)
def test_lost_and_failed_cases_keep_a_gate_from_passing_though_every_mean_stands(
    lost: int, strict: bool, status: Status
) -> None:
    dataset, options = golden(), GateOptions(strict=strict)
    before = reading_of(run_of(dataset, [good(n) for n in range(30)]))
    for bad in (None, nothing(0)):
        after = reading_of(run_of(dataset, [bad if n < lost else good(n) for n in range(30)]))
        verdict = judge(after, before, options)
        assert {one.rule: one.status for one in verdict.rules}["lost cases"] is status
        assert verdict.exit_code != 0


def test_a_baseline_of_another_dataset_is_refused_with_the_field() -> None:
    other = replace(level(0.8), instrument={"dataset": "sha256:bb", "metrics": {"ndcg@5": "another"}})
    with pytest.raises(NotComparable, match="dataset: sha256:aa -> sha256:bb") as problem:
        judge(other, level(0.8))
    assert problem.value.exit_code == 2
    assert "metrics." not in problem.value.message


def test_a_run_without_cases_or_values_is_never_green() -> None:
    with pytest.raises(NothingMeasured) as empty:
        judge(reading({}), None)
    with pytest.raises(NothingMeasured, match="no case of the run now has a value"):
        judge(reading({"mrr": {"a": not_applicable("nothing to find")}}), None)
    assert empty.value.exit_code == 2


def test_a_failure_outweighs_a_doubt_and_a_doubt_outweighs_a_pass() -> None:
    def verdict(*statuses: Status) -> Status:
        rules = tuple(RuleVerdict(rule="r", status=one, sentence="s") for one in statuses)
        return Verdict(run="a", baseline=None, dataset="d", rules=rules).status

    assert verdict(Status.PASS, Status.INCONCLUSIVE, Status.FAIL) is Status.FAIL
    assert verdict(Status.PASS, Status.INCONCLUSIVE) is Status.INCONCLUSIVE
    assert verdict(Status.PASS, Status.NOT_APPLICABLE) is Status.PASS
    assert verdict(Status.NOT_APPLICABLE) is Status.INCONCLUSIVE
    assert verdict() is Status.INCONCLUSIVE


def test_what_could_not_be_asked_is_a_verdict_that_does_not_pass() -> None:
    problem = NotComparable("they differ", remedy="Run again.")
    found = verdict_of_error(problem, run="now", baseline="then")
    assert (found.exit_code, found.rules[0].sentence) == (2, "they differ. Run again.")


def test_every_dataset_has_at_least_the_rules_of_every_gate() -> None:
    assert [rule.name for rule in rules_of("docs")] == [
        "seal",
        "stopped-early",
        "coverage",
        "answers",
        "floor",
        "relative",
        "latency",
        "lost-cases",
        "guarantee",
        "failures",
        "judge",
    ]
