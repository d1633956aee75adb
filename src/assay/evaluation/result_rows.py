"""Rows of `eval_results` beside the run's own metrics: what only the dataset can tell, and verdicts of the gate.

- Columns that need the dataset: ranking metrics nobody asked for, channels, diversity.
- The row of a gate, and of the two sides of a flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from assay.errors import AssayError
from assay.evaluation.scoring import measure_further
from assay.metrics.channels import FusedQuery, contributions, ils
from assay.metrics.inputs import mean
from assay.metrics.spec import MetricSpec
from assay.records.evidence import EvalResult, RunType
from assay.statistics import Interval

if TYPE_CHECKING:
    from assay.evaluation.comparison import Compared, MetricChange
    from assay.evaluation.gating.verdict import Verdict
    from assay.evaluation.readings import Reading
    from assay.evaluation.results import RunResult
    from assay.records.datasets import Dataset
    from assay.records.evaluations import Retrieved
    from assay.storage import Work  # needs an extra that a run without a store does not

Writing: TypeAlias = "Callable[[], AbstractContextManager[Work]]"
"""Begins a transaction of the store that gets a row."""

# --- Columns that need the dataset ---

RANKING_COLUMNS = {
    "mrr_at_5": "mrr@5",
    "mrr_at_10": "mrr@10",
    "ndcg_at_5": "ndcg@5",
    "ndcg_at_10": "ndcg@10",
    "ndcg_at_20": "ndcg@20",
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
}
"""Filled for every run over graded cases, whatever metrics were asked for."""
INTERVAL_OF = "mrr@5"
"""The metric whose interval the row of a run has."""
LOOKED_AT = 5
"""Results of each query that count for channels and diversity, as in the default metrics."""


def further_columns(result: RunResult, dataset: Dataset) -> dict[str, Any]:
    """Return what a run's row has beside the metrics that were asked for; what cannot be known is left out."""
    return {**_ranking_columns(result, dataset), **_channel_columns(result), **_diversity(result, dataset)}


def _ranking_columns(result: RunResult, dataset: Dataset) -> dict[str, Any]:
    if not any(case.grades for case in dataset.cases):
        return {}
    specs = {column: MetricSpec.parse(name) for column, name in RANKING_COLUMNS.items()}
    # A list that ends before the cutoff cannot show what stands between the two.
    deep_enough = {column: spec for column, spec in specs.items() if (spec.cutoff or 0) <= result.manifest.k}
    missing = [spec for spec in deep_enough.values() if spec not in result.aggregates]
    measured = {**result.aggregates, **(measure_further(dataset, result, missing) if missing else {})}
    columns: dict[str, Any] = {column: measured[spec].value for column, spec in deep_enough.items()}
    spread = MetricSpec.parse(INTERVAL_OF)
    return {**columns, **_limits(measured[spread].interval if spread in measured else None)}


def _limits(interval: Interval | None) -> dict[str, float | None]:
    return {
        "confidence_interval_lower": None if interval is None else interval.low,
        "confidence_interval_upper": None if interval is None else interval.high,
    }


def _channel_columns(result: RunResult) -> dict[str, Any]:
    """What each channel gave to the results, where the system reports its channels."""
    fused = [
        FusedQuery(given.seen.channels, given.ids)
        for given in _retrieved(result)
        if given.seen is not None and given.seen.channels is not None
    ]
    found = {
        channel: {
            "queries": share.queries,
            "shown": share.found.of,
            "found": share.found.hits,
            "alone": share.alone.hits,
        }
        for channel, share in contributions(fused, LOOKED_AT).items()
    }
    return {"channel_contribution_json": found} if found else {}


def _diversity(result: RunResult, dataset: Dataset) -> dict[str, Any]:
    """1 - ILS: the mean share of distinct folders among the first results; nothing where there is one folder only."""
    known = dataset.by_id
    if len({document.folder for document in dataset.documents}) < 2:
        return {}
    folders = [[known[found].folder for found in given.ids if found in known] for given in _retrieved(result)]
    alike = [ils(of, LOOKED_AT).value for of in folders]
    similarity = mean([value for value in alike if value is not None])
    return {} if similarity is None else {"result_diversity_score": 1.0 - similarity}


def _retrieved(result: RunResult) -> Iterator[Retrieved]:
    return (case.retrieved for case in result.cases if case.retrieved is not None)


# --- The row of a gate, and of the two sides of a flag ---
#
# `run_id` is the run that was judged, `control_run_id` what it was held against. The differences are treatment minus
# control over the cases both have; p is adjusted by Holm, and `metric` in `metrics_json` says which metric it is of.

RECIPROCAL_RANKS = ("mrr@5", "mrr@10", "mrr", "anchor_mrr")
GAINS = ("ndcg@10", "ndcg@5", "ndcg@20", "ndcg")
ALPHA = 0.05
"""A smaller p counts as significant."""


def regression_row(
    run: Reading,
    compared: Compared | None,
    verdict: Verdict,
    *,
    at: datetime,
    metric: str | None = None,
    feature_id: str | None = None,
) -> EvalResult:
    """Return the row of a gate; `metric` is the one that decides, where one was named."""
    changes = {} if compared is None else compared.metrics
    deciding = _deciding(changes, metric)
    seen = None if deciding is None else changes[deciding].comparison
    p = None if seen is None else seen.p_adjusted
    numbers: dict[str, Any] = {
        **{column: run.mean(name) for column, name in RANKING_COLUMNS.items() if name in run.metrics},
        **_limits(None if seen is None else seen.interval),
    }
    return EvalResult(
        run_id=run.run_id,
        run_type=RunType.REGRESSION,
        feature_id=feature_id,
        query_count=len(run.cases) if seen is None else seen.n,
        created_at=at,
        **numbers,
        avg_latency_ms=run.latency().mean,
        control_run_id=None if compared is None else compared.control.run_id,
        mrr_delta=_delta(changes, RECIPROCAL_RANKS),
        ndcg_delta=_delta(changes, GAINS),
        p_value=p,
        is_significant=None if p is None else p < ALPHA,
        metrics_json=_verdict_json(run, compared, verdict, deciding),
    )


def keep_regression(row: EvalResult, writing: Writing) -> str:
    """Write the row of a gate to a store. A store that cannot take it costs the note that is returned."""
    try:
        with writing() as work:
            work.results.add(row)
    except AssayError as problem:
        return f"The store has no row of this verdict: {problem.message}."
    return ""


def _deciding(changes: Mapping[str, MetricChange], metric: str | None) -> str | None:
    """The metric that p and interval belong to: the one that decides the gate, else the first that was measured."""
    return next((name for name in (metric, *RECIPROCAL_RANKS, *GAINS, *changes) if name in changes), None)


def _delta(changes: Mapping[str, MetricChange], names: tuple[str, ...]) -> float | None:
    return next((changes[name].comparison.delta for name in names if name in changes), None)


def _verdict_json(run: Reading, compared: Compared | None, verdict: Verdict, metric: str | None) -> dict[str, Any]:
    """Names and numbers only: sentences of rules quote queries, which erasing a memory could not find here."""
    changes = {} if compared is None else compared.metrics
    return {
        "status": verdict.status.value,
        "name": run.name,
        "dataset": run.dataset,
        "control": None if compared is None else compared.control.name,
        "metric": metric,
        "rules": [{"rule": rule.rule, "about": rule.about, "status": rule.status.value} for rule in verdict.rules],
        "changes": {
            name: {
                "before": change.before,
                "after": change.after,
                "delta": change.comparison.delta,
                "p": change.comparison.p,
                "p_adjusted": change.comparison.p_adjusted,
                "verdict": change.comparison.verdict,
            }
            for name, change in changes.items()
        },
    }
