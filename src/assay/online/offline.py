"""The first rung: what two finished runs of one dataset say of a change."""

from __future__ import annotations

import numpy as np

from assay.errors import NothingMeasured
from assay.evaluation.results import RunResult
from assay.metrics.spec import MetricSpec
from assay.online.graduation import Gains, Sides
from assay.online.ladder import OfflineEvidence
from assay.records.outcome import Outcome
from assay.statistics.bootstrap import bootstrap_mean

GAINED = tuple(MetricSpec.parse(one) for one in ("mrr@5", "mrr@10", "mrr", "anchor_mrr"))
"""What is gained: the first of these that was measured."""
SURFACES = MetricSpec.parse("constitutional_surfacing@5")


def offline_evidence(
    control: RunResult,
    treatment: RunResult,
    *,
    gate_passed: bool,
    rng: np.random.Generator,
    own_share: float | None = None,
) -> OfflineEvidence:
    """Gain, constitutional memories and time, over the cases that both sides answered."""
    metric = gained_by(control)
    pairs = _pairs(control.per_case(metric), treatment.per_case(metric))
    if len(pairs) < 2:
        raise NothingMeasured(
            f"{control.manifest.dataset} has {len(pairs)} cases that both sides answered", remedy="Add cases."
        )
    differences = np.asarray([after - before for before, after in pairs])
    interval = bootstrap_mean(differences, rng=rng, bounds=(-1.0, 1.0))
    return OfflineEvidence(
        dataset=control.manifest.dataset,
        control_run=control.run_id,
        treatment_run=treatment.run_id,
        gains=Gains(
            queries=len(pairs),
            mean=float(differences.mean()),
            low=-1.0 if interval.low is None else interval.low,
            metric=str(metric),
        ),
        constitutional=_surfacing(control, treatment),
        latency_p95_ms=_p95(control, treatment),
        gate_passed=gate_passed,
        own_share=own_share,
    )


def gained_by(run: RunResult) -> MetricSpec:
    """The metric of a run that says what a change gains."""
    for metric in GAINED:
        if metric in run.scores:
            return metric
    raise NothingMeasured(f"{run.name} measured none of {', '.join(map(str, GAINED))}", remedy="Measure one of them.")


def _pairs(before: dict[str, Outcome], after: dict[str, Outcome]) -> list[tuple[float, float]]:
    both = [(before[case].value, after[case].value) for case in before if case in after]
    return [(one, other) for one, other in both if one is not None and other is not None]


def _surfacing(control: RunResult, treatment: RunResult) -> Sides | None:
    if SURFACES not in control.scores or SURFACES not in treatment.scores:
        return None
    pairs = _pairs(control.per_case(SURFACES), treatment.per_case(SURFACES))
    if not pairs:
        return None
    before, after = np.asarray(pairs).mean(axis=0)
    return Sides(control=float(before), treatment=float(after), n=len(pairs))


def _p95(control: RunResult, treatment: RunResult) -> Sides | None:
    before, after = control.latency.get("total"), treatment.latency.get("total")
    if before is None or after is None or before.p95 is None or after.p95 is None:
        return None
    return Sides(control=before.p95, treatment=after.p95, n=min(before.timed, after.timed))
