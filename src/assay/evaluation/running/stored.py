"""A run as the one row that a store keeps of it."""

from __future__ import annotations

from typing import Any

from assay.evaluation.results import RunResult
from assay.metrics.spec import MetricSpec
from assay.records.evidence import EvalResult, RunType

COLUMNS = {
    "mrr_at_5": "mrr@5",
    "mrr_at_10": "mrr@10",
    "ndcg_at_5": "ndcg@5",
    "ndcg_at_10": "ndcg@10",
    "ndcg_at_20": "ndcg@20",
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
}
"""The columns that have a metric of their own."""
_INTERVAL_OF = "ndcg@10"


def as_row(result: RunResult) -> EvalResult:
    """Fixed columns where the run has their metric; everything else under `metrics_json`."""
    measured = {str(spec): one for spec, one in result.aggregates.items()}
    known: dict[str, Any] = {column: measured[name].value for column, name in COLUMNS.items() if name in measured}
    interval = measured[_INTERVAL_OF].interval if _INTERVAL_OF in measured else None
    return EvalResult(
        run_id=result.run_id,
        run_type=RunType.FULL,
        query_count=len(result.manifest.case_ids),
        created_at=result.manifest.started_at,
        **known,
        avg_latency_ms=result.latency["total"].mean,
        confidence_interval_lower=None if interval is None else interval.low,
        confidence_interval_upper=None if interval is None else interval.high,
        per_query_results={str(spec): _values(result, spec) for spec in result.scores},
        metrics_json=_rest(result),
    )


def _values(result: RunResult, spec: MetricSpec) -> dict[str, Any]:
    return {case: one.kind.value if one.value is None else one.value for case, one in result.scores[spec].items()}


def _rest(result: RunResult) -> dict[str, Any]:
    whole = result.as_json()
    wanted = ("name", "metrics", "latency", "rates", "counts", "caveats", "result_hash")
    manifest = {name: of for name, of in whole["manifest"].items() if name != "case_ids"}
    return {**{name: whole[name] for name in wanted}, "manifest": manifest}
