"""Judged metrics decide nothing unless their judge is calibrated: until then they are shown, and no rule listens.

A floor on such a metric cannot be answered, so it leaves the gate `inconclusive`; a change of it since the baseline is
passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.evaluation.gating.question import Question
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.judged_scores import untrusted
from assay.metrics.spec import MetricSpec

RULE = "judge"


def judge_judges(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each judged metric that has values and may not decide."""
    floors = {MetricSpec.parse(name).name for name in question.floors}
    for metric, why in untrusted(question.run.subject).items():
        measured = [name for name in question.run.metrics if MetricSpec.parse(name).name == metric]
        if measured and (metric in floors or any(question.run.values(name) for name in measured)):
            yield _told(metric, why, demanded=metric in floors)


def _told(metric: str, why: str, *, demanded: bool) -> RuleVerdict:
    evidence: Mapping[str, object] = {"why": why}
    if demanded:
        sentence = f"{metric} has a floor and cannot decide it: {why}"
        return RuleVerdict(rule=RULE, about=metric, status=Status.INCONCLUSIVE, sentence=sentence, evidence=evidence)
    return RuleVerdict(
        rule=RULE,
        about=metric,
        status=Status.NOT_APPLICABLE,
        sentence=f"{metric} is diagnostic only: {why}",
        evidence=evidence,
    )
