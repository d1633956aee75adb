"""The metrics of a run: defaults, floors, and computing one metric of one case.

- Floors: values that must be reached.
- Default metrics: those that the dataset can answer.
- One metric of one case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import BadValue, UnknownMetric
from assay.metrics import catalog, outcomes
from assay.metrics.answers import BY_REFERENCE
from assay.metrics.catalog import Better, FromCase, FromRecord
from assay.metrics.inputs import CaseView, relevant_to
from assay.metrics.spec import MetricSpec, parse_specs
from assay.metrics.write_path import find_superseded
from assay.records import values
from assay.records.answers import FolderMode
from assay.records.memory import Tier
from assay.records.saving import SaveDecision
from assay.records.searching import Channel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.records.datasets import Case, Dataset
    from assay.records.evaluations import CaseResult, Outcome

# --- Floors: values that must be reached ---
#
# Datasets, the settings file and programs declare them. Each is checked here before anything is held against it: a
# floor of NaN or of -5 would be reached by every run.

NOT_QUALITY = frozenset({"operations", "indexing"})
"""The families of latencies, costs, failure rates and the index, which do not measure the quality of results."""


def floors_of(dataset: Dataset) -> dict[str, float]:
    """What the dataset demands, by metric as it is spelt everywhere."""
    return name_floors(dataset.floors)


def name_floors(floors: Mapping[str, float]) -> dict[str, float]:
    """Floors by metric as it is spelt everywhere; people also write `latency p95`.

    Raises `BadValue` for a floor that is not a finite number within the range of its metric.
    """
    specs = {name: MetricSpec.parse(name.removeprefix("latency ")) for name in floors}
    return {str(spec): _check(spec, floors[name]) for name, spec in specs.items()}


def asks_quality(metric: str, floor: float) -> bool:
    """Whether a floor can be missed by bad results: not one of a latency or rate, nor one that every value reaches."""
    entry = MetricSpec.parse(metric).entry
    worst = entry.highest if entry.better is Better.LOWER else entry.lowest
    return entry.family not in NOT_QUALITY and floor != worst


def _check(spec: MetricSpec, floor: Any) -> float:
    value = values.finite(floor, f"floors.{spec}")
    lowest, highest = spec.entry.lowest, spec.entry.highest
    if (lowest is not None and value < lowest) or (highest is not None and value > highest):
        ends = (
            f"at least {lowest:g}" if lowest is not None else "",
            f"at most {highest:g}" if highest is not None else "",
        )
        raise BadValue(
            f"the floor {value:g} of {spec} is outside the range of the metric",
            remedy=f"Give a number of {' and '.join(filter(None, ends))}.",
        )
    return value


# --- Default metrics: those that the dataset can answer ---

RANKING_METRICS = "recall@5,precision@5,mrr,ndcg@5,ndcg@10,recall@10,mrr@10"
ANCHOR_METRICS = "recall_any@5,recall_all@5,anchor_precision@5,anchor_mrr,recall_any@10"
GRADED = "mrr@5,ndcg(gain=exp)@5,ndcg(gain=exp)@10,ndcg(gain=exp)@20"
JUDGED_TIERS = (Tier.CRITICAL, Tier.IMPORTANT, Tier.NORMAL)
"""Those that a gate compares."""
OF_SAVES = ",".join(
    [
        "save_accuracy",
        *(f"{name}(decision={decision})" for name in ("save_precision", "save_recall") for decision in SaveDecision),
        "false_rejection_rate",
        "contradiction_coexistence",
        "contradiction_coexistence(marked=count)",
        "stale_served_rate(per=search)@5",
        "information_lost",
        "false_supersede",
        "false_supersede(facts=count)",
    ]
)
OF_LISTS = "precision_returned,tokens_returned"
"""What an agent has to read: lists as they were returned, whatever their length."""
CURRENT_FACTS = "current_fact@1,current_fact@5,stale_served@5"
OF_FUSION = "fusion_reorder_rate@5,expansion_impact@5"
SHARES = ("channel_contribution", "exclusive_contribution")
"""What a channel gives to the results: found by it, and found by it alone."""


def default_metrics(dataset: Dataset) -> tuple[MetricSpec, ...]:
    """Those that the dataset can answer."""
    if any(case.save is not None for case in dataset.cases):
        return parse_specs(OF_SAVES)
    graded = any(case.grades for case in dataset.cases)
    anchored = any(case.anchors is not None for case in dataset.cases)
    scoped = anchored and any(case.folder_mode is not FolderMode.OFF for case in dataset.cases)
    wanted = [
        *([RANKING_METRICS] if graded or not anchored else []),
        *([ANCHOR_METRICS] if anchored else []),
        *(["scope_miss_rate"] if scoped else []),
        *(["top1_chunk"] if any(case.top_chunk for case in dataset.cases) else []),
        *memory_metrics(dataset),
        *([channel_metrics(dataset)] if anchored or dataset.edges else []),
    ]
    return parse_specs(",".join(wanted))


def memory_metrics(dataset: Dataset) -> Iterator[str]:
    """What a dataset of an agent's memory can be measured with beside rankings; nothing for any other dataset."""
    tiers = {document.tier for document in dataset.documents}
    if Tier.CONSTITUTIONAL in tiers:
        yield "constitutional_surfacing@5"
    if tiers - {Tier.NORMAL}:
        yield f"{GRADED},importance_weighted_recall@10,importance_weighted_recall(least=critical,pinned=count)@10"
        yield from (f"tier_precision(tier={tier})@5" for tier in JUDGED_TIERS if tier in tiers)
        yield OF_LISTS
    if any(case.session is not None for case in dataset.cases):
        yield "cold_start_mrr@10,cold_start_ratio@10,personalisation_lift@10,dedup_tokens_saved"
    if any(case.causal_chain for case in dataset.cases):
        yield "causal_chain_completeness@10"
    if any(case.current_value is not None for case in dataset.cases):
        yield CURRENT_FACTS
    if find_superseded(dataset):
        yield "stale_served_rate@5"


def channel_metrics(dataset: Dataset) -> str:
    """What channels, fusion and expansion do; how results spread over folders, where there are several."""
    each = [f"{name}(channel={channel})@5" for name in SHARES for channel in Channel]
    spread = ["ils@5"] if len({document.folder for document in dataset.documents}) > 1 else []
    return ",".join([*each, OF_FUSION, *spread])


def leading_tier(case: Case, dataset: Dataset) -> str:
    """The most important tier among what is relevant to a case; empty where nothing is, or where tiers are not used."""
    if not dataset.has_tiers:
        return ""
    tiers = {dataset.by_id[document].tier for document in relevant_to(case, dataset) if document in dataset.by_id}
    return next((tier.value for tier in Tier if tier in tiers), "")


# --- One metric of one case ---

NEEDS_ANSWER = (
    "answer_rate",
    "over_abstention_rate",
    "abstention_accuracy",
    "hallucination_rate",
    "correctness",
    "groundedness",
)
"""Reported whenever a system answers; the last two are for a judge."""
NEEDS_REFERENCE = ("reference_match", "reference_match(over=answerable)", BY_REFERENCE)
"""Reported whenever a system answers questions that have a reference answer."""
NEEDS_REFERENCES = ("citation_coverage",)
"""Reported whenever some answer has references."""
NEEDS_CITATIONS = ("attribution_hit_rate", "cite_newer", "cite_both", "acknowledge_both")
"""Reported whenever a system answers questions whose evidence has a place."""
RUN_AREAS = ("risk_coverage_area", "risk_coverage_area(right=reference)")
"""Reported whenever answers have a confidence, and something decides which are right."""
RUN_JUDGING = ("judge_tokens", "judge_cost", "judge_time")
"""Reported whenever a judge was asked."""
RUN_GENERATION = ("p50(stage=generation)", "p95(stage=generation)")
"""Reported whenever a system reports how long it took to write its answers."""
RUN_UNITS = {
    **dict.fromkeys(("p50", "p95", "p99", "mean_latency"), ("ms", 1)),
    "suite_time": ("s", 3),
    "judge_tokens": ("tokens", 0),
    "judge_cost": ("USD", 4),
    "judge_time": ("s", 3),
}
"""The unit of metrics of a whole run, and how many digits after the point are shown."""


def measurable(specs: Sequence[MetricSpec]) -> None:
    """Refuse metrics that are only known from stored runs, naming them."""
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
