"""Not worse than the baseline by more than 5 %, and significantly so: at the bound and around it."""

from __future__ import annotations

import math

import pytest
from tests.evaluation.made import level, reading

from assay.errors import NotComparable, UnknownMetric
from assay.evaluation.comparison import compare_two
from assay.evaluation.gating import GateOptions, Question, Status, judge
from assay.evaluation.gating.baseline_rules import judge_relative, worsening
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading
from assay.metrics.outcomes import not_applicable


def judged(before: Reading, after: Reading, **options: bool | float) -> RuleVerdict:
    (found,) = judge_relative(
        Question(run=after, compared=compare_two(before, after), options=GateOptions(**options))  # type: ignore[arg-type] # given by name
    )
    return found


@pytest.mark.parametrize(
    ("after", "status"), [(0.76, Status.PASS), (0.7599, Status.FAIL), (0.70, Status.FAIL), (0.9, Status.PASS)]
)
def test_exactly_five_percent_is_allowed_and_more_is_not(after: float, status: Status) -> None:
    assert judged(level(0.8), level(after)).status is status


def test_values_that_look_alike_are_shown_with_more_digits_or_called_equal() -> None:
    before = level(0.902101)
    assert "rose from 0.9021 to 0.9022" in judged(before, level(0.902203)).sentence
    assert "rose from 0.902101 to 0.902103" in judged(before, level(0.902103)).sentence
    assert judged(before, level(0.90210101)).sentence == "ndcg@5 stands at 0.902101 as in the baseline (+1e-08)"
    assert judged(before, level(0.902101 + 1e-16)).sentence == "ndcg@5 stands at 0.90 as in the baseline"


def test_the_sentence_holds_both_means_the_change_its_interval_the_allowance_and_p() -> None:
    before = reading({"ndcg@5": {f"q{n:02}": 0.8 for n in range(60)}})
    after = reading({"ndcg@5": {f"q{n:02}": 0.7 if n % 2 else 0.74 for n in range(60)}})
    found = judged(before, after)
    assert found.status is Status.FAIL
    assert found.sentence.startswith("ndcg@5 fell from 0.80 to 0.72: -10.0 % [-10.")
    assert found.sentence.endswith("], allowed -5 %, p = 0.0001 (Holm)")
    assert found.evidence["worse"] == pytest.approx(0.1)


def test_a_drop_beyond_five_percent_that_may_be_chance_is_inconclusive() -> None:
    before = reading({"mrr": {f"q{n}": 1.0 for n in range(20)}})
    after = reading({"mrr": {f"q{n}": 0.0 if n < 2 else 1.0 for n in range(20)}})
    found = judged(before, after)
    assert found.status is Status.INCONCLUSIVE
    assert "not significant" in found.sentence


def test_with_strict_the_share_alone_decides() -> None:
    before = reading({"mrr": {f"q{n}": 1.0 for n in range(20)}})
    after = reading({"mrr": {f"q{n}": 0.0 if n < 2 else 1.0 for n in range(20)}})
    assert judged(before, after, strict=True).status is Status.FAIL
    assert judged(before, before, strict=True).status is Status.PASS


def test_too_few_cases_to_tell_are_inconclusive_and_say_how_many_it_takes() -> None:
    found = judged(reading({"mrr": {"a": 1.0, "b": 1.0}}), reading({"mrr": {"a": 0.5, "b": 0.5}}))
    assert found.status is Status.INCONCLUSIVE
    assert "2 cases cannot show whether that is chance, it takes at least 6" in found.sentence


def test_a_metric_that_is_better_when_lower_is_worse_when_it_rises() -> None:
    cases = [f"q{n}" for n in range(40)]
    low, high = (
        reading({"scope_miss_rate": dict.fromkeys(cases, 0.1)}),
        reading({"scope_miss_rate": dict.fromkeys(cases, 0.2)}),
    )
    assert judged(low, high).status is Status.FAIL
    assert "rose from 0.10 to 0.20: +100.0 %" in judged(low, high).sentence
    assert "allowed +5 %" in judged(low, high).sentence
    assert judged(high, low).status is Status.PASS


def test_a_rise_from_zero_is_beyond_every_share() -> None:
    assert worsening("mrr", 0.0, 0.0) == 0.0
    assert worsening("mrr", 0.0, 0.5) == 0.0
    assert worsening("scope_miss_rate", 0.0, 0.1) == math.inf
    assert worsening("mrr", 0.5, 0.4) == pytest.approx(0.2)


def test_without_a_baseline_the_question_does_not_arise() -> None:
    (found,) = judge_relative(Question(run=level(0.5), compared=None))
    assert found.status is Status.NOT_APPLICABLE


def test_a_metric_no_case_has_on_both_sides_is_inconclusive() -> None:
    before = reading({"mrr": {"a": 1.0, "b": 0.5}, "recall@5": {"a": 1.0}})
    after = reading({"mrr": {"a": 1.0, "b": 0.5}, "recall@5": {"b": 1.0}})
    found = {one.about: one for one in judge_relative(Question(run=after, compared=compare_two(before, after)))}
    assert found["recall@5"].status is Status.INCONCLUSIVE
    assert found["mrr"].status is Status.PASS


def test_a_metric_that_arises_nowhere_does_not_apply() -> None:
    run = reading({"mrr": {"a": 1.0}, "recall@5": {"a": not_applicable("nothing to find")}})
    found = {one.about: one for one in judge_relative(Question(run=run, compared=compare_two(run, run)))}
    assert found["recall@5"].status is Status.NOT_APPLICABLE


def with_a_loss() -> tuple[Reading, Reading]:
    """recall@5 falls in 7 of 30 cases; four other metrics go up and down by as much, each its own way."""
    names = [f"q{n:02}" for n in range(30)]
    others = {f"ndcg@{k}": {name: 0.2 + (n * k % 7) / 10 for n, name in enumerate(names)} for k in (3, 7, 11, 13)}
    moved = {
        metric: {name: value + (-1) ** n / 100 for n, (name, value) in enumerate(values.items())}
        for metric, values in others.items()
    }
    before = reading({"recall@5": dict.fromkeys(names, 1.0), **others})
    after = reading({"recall@5": {name: float(n >= 7) for n, name in enumerate(names)}, **moved})
    return before, after


def test_a_deciding_metric_is_tested_alone_and_the_others_decide_nothing() -> None:
    before, after = with_a_loss()
    question = Question(run=after, compared=compare_two(before, after), options=GateOptions(metric="recall@5"))
    found = {one.about: one for one in judge_relative(question)}
    deciding = found.pop("recall@5")
    assert deciding.status is Status.FAIL
    assert "(Holm)" not in deciding.sentence
    assert deciding.evidence["p_adjusted"] == pytest.approx(2 / 2**7, abs=0.004)
    assert {one.status for one in found.values()} == {Status.NOT_APPLICABLE}
    assert all(one.sentence.endswith("; recall@5 decides, not this") for one in found.values())


def test_without_a_deciding_metric_holm_weighs_on_each() -> None:
    before, after = with_a_loss()
    question = Question(run=after, compared=compare_two(before, after))
    found = {one.about: one for one in judge_relative(question)}
    assert found["recall@5"].status is Status.INCONCLUSIVE


def test_a_deciding_metric_that_nobody_measured_is_refused_with_those_that_were() -> None:
    with pytest.raises(NotComparable, match=r"decided by mrr, which was not measured") as refused:
        judge(level(0.8), level(0.8), GateOptions(metric="mrr"))
    assert "ndcg@5" in (refused.value.remedy or "")
    with pytest.raises(UnknownMetric):
        GateOptions(metric="nDGC")
