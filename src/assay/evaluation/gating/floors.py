"""Floors: values that must be reached whatever the baseline says; for latencies, ceilings.

Only what the dataset or the settings declare is in force: a floor that suits one dataset may be out of reach in
another, as precision@5 of 0.60 is with one gold document a query. Ceilings of failure rates are in `failures`.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.evaluation.floors import asks_quality
from assay.evaluation.gating.bounds import beyond
from assay.evaluation.gating.question import Question
from assay.evaluation.gating.registering import gate_rule
from assay.evaluation.gating.verdict import RuleVerdict, Status
from assay.evaluation.readings import Reading
from assay.metrics.catalog import Better
from assay.metrics.spec import MetricSpec

RULE = "floor"
RATES = ("error_rate", "timeout_rate", "empty_response_rate")
PERCENTILES = ("p50", "p95", "p99", "mean_latency")


@gate_rule("floor", quality=lambda question, verdict: asks_quality(verdict.about, question.floors[verdict.about]))
def judge_floors(question: Question) -> Iterator[RuleVerdict]:
    """One verdict for each floor that is declared."""
    for name, floor in question.floors.items():
        spec = MetricSpec.parse(name)
        if spec.name not in RATES and str(spec) not in question.diagnostic:
            yield _judge(question.run, spec, floor)


def _judge(run: Reading, spec: MetricSpec, floor: float) -> RuleVerdict:
    value, ceiling = value_of(run, spec), spec.entry.better is Better.LOWER
    evidence = {"value": value, "floor": floor}
    if value is None:
        return RuleVerdict(
            rule=RULE,
            about=str(spec),
            status=Status.INCONCLUSIVE,
            sentence=f"{spec} was not measured, and {'at most' if ceiling else 'at least'} {floor:g} is demanded",
            evidence=evidence,
        )
    missed = beyond(value, floor) if ceiling else beyond(floor, value)
    if not missed and is_lower_bound(run, spec):
        sentence = f"latency {spec} is at least {value:.3g} ms, since {run.latency().timed_out} cases ran out of time: "
        return RuleVerdict(
            rule=RULE,
            about=str(spec),
            status=Status.INCONCLUSIVE,
            sentence=f"{sentence}whether it is within the ceiling {floor:g} ms is not known; wait longer (--timeout)",
            evidence=evidence,
        )
    return RuleVerdict(
        rule=RULE,
        about=str(spec),
        status=Status.FAIL if missed else Status.PASS,
        sentence=_sentence(spec, value, floor, missed=missed, ceiling=ceiling),
        evidence=evidence,
    )


def value_of(run: Reading, spec: MetricSpec) -> float | None:
    """What the run reached; percentiles come from its times, other metrics of a run only where they were asked for."""
    if spec.name not in PERCENTILES:
        return run.of_run.get(str(spec)) if spec.is_of_run else run.mean(str(spec))
    if spec.parameters:
        return None
    found: float | None = getattr(run.latency(), spec.name.removesuffix("_latency"))
    return found


def is_lower_bound(run: Reading, spec: MetricSpec) -> bool:
    """Whether the value of a latency could be larger, because cases ran out of time."""
    return spec.name in PERCENTILES and spec.name.removesuffix("_latency") in run.latency().at_least


def _sentence(spec: MetricSpec, value: float, floor: float, *, missed: bool, ceiling: bool) -> str:
    if spec.name in PERCENTILES:
        shown, bound = f"latency {spec} {value:.3g} ms", f"{floor:g} ms"
    else:
        shown, bound = f"{spec} {_apart(value, floor)}", f"{floor:.2f}"
    if ceiling:
        return f"{shown} is {'over' if missed else 'within'} the ceiling {bound}"
    return f"{shown} {'is under' if missed else 'reaches'} the floor {bound}"


def _apart(value: float, floor: float) -> str:
    """With two digits, or as many as show that it is not the floor."""
    for digits in (2, 3, 4):
        shown = f"{value:.{digits}f}"
        if float(shown) != floor or value == floor:
            return shown
    return f"{value:.6g}"
