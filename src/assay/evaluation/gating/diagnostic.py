"""Judged metrics decide nothing unless their judge is calibrated: until then they are shown, and no rule listens.

A floor on such a metric cannot be answered, and neither can whether it changed since the baseline: both leave the gate
`inconclusive`, so that a judge whose calibration has ended does not take its metric out of the gate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.evaluation.differences import number
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.judged_scores import untrusted
from assay.metrics.spec import MetricSpec

RULE = "judge"


@gate_rule("judge", quality=False)
def judge_judges(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each judged metric that has values and may not decide."""
    floors = {MetricSpec.parse(name).name for name in question.floors}
    for metric, why in untrusted(question.run.subject).items():
        measured = [name for name in question.run.metrics if MetricSpec.parse(name).name == metric]
        known = [name for name in measured if question.run.values(name)]
        asked = _asked_by_baseline(question, measured)
        if metric in floors and measured:
            yield _undecided(metric, f"{metric} has a floor and cannot decide it: {why}", why)
        elif asked:
            yield _undecided(
                metric, f"{_moved(question, asked[0])} since the baseline, which cannot be decided: {why}", why
            )
        elif known:
            yield RuleVerdict(
                rule=RULE,
                about=metric,
                status=Status.NOT_APPLICABLE,
                sentence=f"{metric} is diagnostic only: {why}",
                evidence={"why": why},
            )


def _asked_by_baseline(question: Question, measured: Sequence[str]) -> list[str]:
    """The metrics that the baseline has values of and that would decide; a deciding metric leaves out the others."""
    baseline, deciding = question.baseline, question.options.metric
    return [name for name in measured if baseline is not None and baseline.values(name) and deciding in (None, name)]


def _moved(question: Question, metric: str) -> str:
    before = None if question.baseline is None else question.baseline.mean(metric)
    return f"{metric} went from {number(before)} to {number(question.run.mean(metric))}"


def _undecided(metric: str, sentence: str, why: str) -> RuleVerdict:
    return RuleVerdict(rule=RULE, about=metric, status=Status.INCONCLUSIVE, sentence=sentence, evidence={"why": why})
