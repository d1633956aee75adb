"""A run as the one row that a store keeps of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from assay.evaluation.results import RunResult
from assay.metrics.spec import MetricSpec
from assay.records.cycle_evidence import CycleEvidence, cycle_evidence, evidence_to_json
from assay.records.datasets import Dataset
from assay.records.evidence import EvalResult, RunType

if TYPE_CHECKING:
    from assay.storage import Work  # needs an extra that a run without a store does not

OWN_CORPUS = 0.5
"""The share of a dataset's documents a memory must hold for a run over it to speak for that memory."""
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


def as_row(result: RunResult, evidence: CycleEvidence | None = None) -> EvalResult:
    """Fixed columns where the run has their metric; everything else under `metrics_json`.

    `evidence` says what the run measured of the memory that keeps the row; without it the run counts for no cycle.
    """
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
        metrics_json={**_rest(result), **({} if evidence is None else evidence_to_json(evidence))},
    )


def _values(result: RunResult, spec: MetricSpec) -> dict[str, Any]:
    return {case: one.kind.value if one.value is None else one.value for case, one in result.scores[spec].items()}


def _rest(result: RunResult) -> dict[str, Any]:
    whole = result.as_json()
    wanted = ("name", "metrics", "latency", "rates", "counts", "caveats", "result_hash")
    manifest = {name: of for name, of in whole["manifest"].items() if name != "case_ids"}
    return {**{name: whole[name] for name in wanted}, "manifest": manifest}


def share_held(work: Work, document_ids: Collection[str]) -> float:
    """Return the share of a dataset's documents that this memory holds, by the memory's id or its source's."""
    if not document_ids:
        return 0.0
    held = set(work.memories.numbers_of(sorted(document_ids))) | set(work.memories.current_hashes())
    return sum(ident in held for ident in document_ids) / len(document_ids)


def evidence_of_run(work: Work, result: RunResult, dataset: Dataset) -> CycleEvidence:
    """Return what a run says for evaluation cycles: its questions, and whether they were asked of this memory.

    They were when Assay itself searched, and this memory holds at least half of the dataset's documents.
    """
    engine = result.manifest.system.partition(":")[0] == "assay"
    own = engine and share_held(work, [document.id for document in dataset.documents]) >= OWN_CORPUS
    asked = set(result.manifest.case_ids)
    return cycle_evidence((case.query for case in dataset.cases if case.id in asked), own=own)
