"""Ceilings of failure rates. A case that failed has no value, so failures never show in a mean: they show here."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.floors import RATES
from assay.evaluation.gating.question import FAILURE_CEILINGS, Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.metrics.operations import Failures
from assay.records.rate import Rate

RULE = "failures"
_SAID = {
    "error_rate": "cases failed (error, timeout or nothing returned)",
    "timeout_rate": "cases ran out of time",
    "empty_response_rate": "cases came back with nothing",
}


@gate_rule("failures", quality=False)
def judge_failures(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each rate with a ceiling."""
    found = question.run.failures()
    declared = {name: value for name, value in question.floors.items() if name in RATES}
    for name, ceiling in {**FAILURE_CEILINGS, **declared}.items():
        yield _judge(name, _rate(found, name), ceiling)


def _judge(name: str, rate: Rate, ceiling: float) -> RuleVerdict:
    if rate.value is None:
        sentence = "no case was tried, so nothing is known of failures"
        return RuleVerdict(rule=RULE, about=name, status=Status.INCONCLUSIVE, sentence=sentence)
    return RuleVerdict(
        rule=RULE,
        about=name,
        status=Status.FAIL if beyond(rate.value, ceiling) else Status.PASS,
        sentence=f"{rate.hits} of {rate.of} {_SAID[name]}: {rate.value * 100:.1f} %, allowed {ceiling * 100:g} %",
        evidence={"rate": rate.value, "hits": rate.hits, "of": rate.of, "ceiling": ceiling},
    )


def _rate(found: Failures, name: str) -> Rate:
    return {"error_rate": found.any, "timeout_rate": found.timeout, "empty_response_rate": found.empty}[name]
