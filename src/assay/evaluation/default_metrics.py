"""Which metrics a run has when nobody names any: those that the dataset can answer."""

from __future__ import annotations

from collections.abc import Iterator

from assay.metrics.inputs import relevant_to
from assay.metrics.spec import MetricSpec, parse_specs
from assay.metrics.write_path import superseded
from assay.records.anchors import FolderMode
from assay.records.datasets import Case, Dataset
from assay.records.memory import Tier
from assay.records.searching import Channel
from assay.records.writes import SaveDecision

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
    ]
)
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
    if any(case.session is not None for case in dataset.cases):
        yield "cold_start_mrr@10,cold_start_ratio@10,personalisation_lift@10,dedup_tokens_saved"
    if any(case.causal_chain for case in dataset.cases):
        yield "causal_chain_completeness@10"
    if superseded(dataset):
        yield "stale_served_rate@5"


def channel_metrics(dataset: Dataset) -> str:
    """What channels, fusion and expansion do; how results spread over folders, where there are several."""
    each = [f"{name}(channel={one})@5" for name in SHARES for one in Channel]
    spread = ["ils@5"] if len({one.folder for one in dataset.documents}) > 1 else []
    return ",".join([*each, OF_FUSION, *spread])


def leading_tier(case: Case, dataset: Dataset) -> str:
    """The most important tier among what is relevant to a case; empty where nothing is, or where tiers are not used."""
    if all(one.tier is Tier.NORMAL for one in dataset.documents):
        return ""
    tiers = {dataset.by_id[one].tier for one in relevant_to(case, dataset) if one in dataset.by_id}
    return next((tier.value for tier in Tier if tier in tiers), "")
