"""One case of a run under one metric, as the registry says how it is computed."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import UnknownMetric
from assay.metrics import catalog, outcomes
from assay.metrics.catalog import FromCase, FromRecord
from assay.metrics.inputs import CaseView
from assay.metrics.spec import MetricSpec
from assay.records.datasets import Case, Dataset
from assay.records.evaluations import CaseResult
from assay.records.outcome import Outcome

NEEDS_ANSWER = ("answer_rate", "abstention_accuracy", "hallucination_rate", "correctness", "groundedness")
"""Reported whenever a system answers; the last two are for a judge."""
NEEDS_CITATIONS = ("attribution_hit_rate", "cite_newer", "cite_both")
"""Reported whenever a system answers questions whose evidence has a place."""


def measurable(specs: Sequence[MetricSpec]) -> None:
    """Refuse metrics that only a stored run knows, naming them."""
    foreign = [str(spec) for spec in specs if isinstance(spec.entry.compute, FromRecord)]
    if foreign:
        known = ", ".join(entry.name for entry in catalog.entries())
        raise UnknownMetric(
            f"nothing here computes {', '.join(foreign)}: only a stored run has it",
            remedy=f"Install the package that adds it, or choose among: {known}.",
        )


def case_outcome(spec: MetricSpec, case: Case, result: CaseResult, dataset: Dataset) -> Outcome:
    """Compute one metric for one case that came back."""
    if result.retrieved is None:
        return outcomes.system_failed(result.error)
    return compute_view(CaseView(spec, case, result.retrieved, dataset))


def compute_view(view: CaseView) -> Outcome:
    """Compute the metric that a view names."""
    compute = view.spec.entry.compute
    if not isinstance(compute, FromCase):
        raise UnknownMetric(f"{view.spec} has no value for a single case", remedy="Look at its value over the run.")
    return compute.function(view)
