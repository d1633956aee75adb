"""How a treatment's answer differs from the control's: order, overlap, the top result, and which one judges prefer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from assay.metrics.engine import Rules, measure_mappings
from assay.metrics.spec import MetricSpec
from assay.records import SearchResult, ShadowRun
from assay.statistics.rank_agreement import rank_agreement

RECIPROCAL_RANK = MetricSpec.parse("mrr@5")
RELEVANT = 2
"""From this grade on, a memory is one that should be found."""
GAIN = MetricSpec.parse("ndcg@10")

Grades = Mapping[str, int]


class Deltas(NamedTuple):
    """Treatment minus control, by judgments; None where there are none."""

    mrr: float | None = None
    ndcg: float | None = None


def shadow_run(
    feature_id: str, control: SearchResult, treatment: SearchResult, *, grades: Grades | None, at: datetime
) -> ShadowRun:
    """Both answers side by side."""
    agreement = rank_agreement(control.ids, treatment.ids)
    gained = deltas(control.ids, treatment.ids, grades)
    return ShadowRun(
        query_id=control.query_id,
        feature_id=feature_id,
        control_result_ids=control.ids,
        treatment_result_ids=treatment.ids,
        created_at=at,
        rank_correlation=agreement.tau_b,
        set_overlap=agreement.jaccard,
        rbo=agreement.rbo,
        classified=agreement.classified,
        top_result_changed=agreement.top_changed,
        order_differences=agreement.order_differences,
        mrr_delta=gained.mrr,
        ndcg_delta=gained.ndcg,
        control_latency_ms=control.telemetry.total_latency_ms,
        treatment_latency_ms=treatment.telemetry.total_latency_ms,
    )


DROPPED = "dropped: too many searches waited to be compared"
"""The problem of a search that was in the sample and never compared."""


def failed_run(feature_id: str, control: SearchResult, problem: str, *, at: datetime) -> ShadowRun:
    """A treatment that gave no answer."""
    return ShadowRun(
        query_id=control.query_id,
        feature_id=feature_id,
        control_result_ids=control.ids,
        treatment_result_ids=(),
        created_at=at,
        control_latency_ms=control.telemetry.total_latency_ms,
        problem=problem,
    )


def deltas(control: Sequence[str], treatment: Sequence[str], grades: Grades | None) -> Deltas:
    """How much better the treatment ranks, where somebody judged."""
    if not grades or max(grades.values()) < RELEVANT:
        return Deltas()
    judged = {"query": dict(grades)}
    specs = [RECIPROCAL_RANK, GAIN]
    sides = [
        measure_mappings(judged, {"query": _weigh_ranks(ids)}, specs, Rules(level=RELEVANT)).scores
        for ids in (control, treatment)
    ]
    mrr, ndcg = ([float(side[spec].values[0]) for side in sides] for spec in (RECIPROCAL_RANK, GAIN))
    return Deltas(mrr[1] - mrr[0], ndcg[1] - ndcg[0])


def _weigh_ranks(ids: Sequence[str]) -> dict[str, float]:
    return {one: 1.0 / rank for rank, one in enumerate(ids, start=1)}
