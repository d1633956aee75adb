"""The catalog: every metric of every family under one name, and what is near a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from assay.errors import UnknownMetric
from assay.metrics import agent_memory, anchors, answers, channels, indexing, operations, ranking_entries, write_path
from assay.metrics.entry import MetricEntry

_FAMILIES = (ranking_entries, anchors, answers, agent_memory, channels, write_path, operations, indexing)

ENTRIES: tuple[MetricEntry, ...] = tuple(entry for family in _FAMILIES for entry in family.ENTRIES)
"""Every metric, family by family."""
BY_NAME: Mapping[str, MetricEntry] = MappingProxyType({entry.name: entry for entry in ENTRIES})

_KNOWN_ELSEWHERE = {
    "map": "ap",
    "average_precision": "ap",
    "p": "precision",
    "p_cut": "precision",
    "r": "recall",
    "r@": "recall",
    "rr": "mrr",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "hit": "success",
    "hits": "success",
    "hit_rate": "success",
    "top1": "top1_chunk",
    "ndcg_cut": "ndcg",
    "dcg": "ndcg",
    "r_precision": "rprec",
    "rprecision": "rprec",
    "latency": "p95",
}
"""What other tools call them: understood in a hint, never accepted, because one thing has one name."""


def find(name: str) -> MetricEntry:
    """The entry of a metric."""
    if name in BY_NAME:
        return BY_NAME[name]
    close = near(name, BY_NAME)
    hint = f"; close names: {', '.join(close)}" if close else ""
    raise UnknownMetric(
        f"unknown metric {name!r}{hint}",
        remedy="`assay metrics` lists the catalog, `assay metrics NAME` shows one entry.",
    )


def near(name: str, known: Iterable[str]) -> list[str]:
    """Names that may have been meant, the likeliest first."""
    names = list(known)
    folded = name.lower().replace("-", "_")
    elsewhere = _KNOWN_ELSEWHERE.get(folded)
    likely = [elsewhere] if elsewhere in names else []
    return list(dict.fromkeys([*likely, *difflib.get_close_matches(folded, names, n=3, cutoff=0.5)]))[:3]
