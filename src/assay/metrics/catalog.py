"""The catalog: every registered metric, what is near a name that is not there, and metrics known from stored runs only.

A stored run may name a metric whose package is not installed here, a function of another program, or one that an
earlier version of Assay had. `recall` takes what the run says of it, so that the run can still be read, compared and
held to a gate; it cannot be computed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import UnknownMetric
from assay.metrics.entry import Better, Cutoff, FromRecord, MetricEntry, Parameter
from assay.metrics.registering import METRICS

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
_RETIRED = frozenset({"acknowledge_both"})
"""Metrics that version 0.1 named in its runs and that nothing computed."""
_RECALLED: dict[str, MetricEntry] = {}


def entries() -> tuple[MetricEntry, ...]:
    """Return every metric that can be computed here, family by family."""
    return tuple(registered.entry for registered in METRICS.all().values())


def find(name: str) -> MetricEntry:
    """Return the entry of a metric; raises `UnknownMetric` with close names."""
    entry = METRICS.find(name) or _RECALLED.get(name)
    if entry is not None:
        return entry
    broken = METRICS.problem(name)
    known = METRICS.names()
    close = near(name, known)
    hint = f": {broken}" if broken else f"; close names: {', '.join(close)}" if close else ""
    raise UnknownMetric(
        f"unknown metric {name!r}{hint}",
        remedy="`assay metrics` lists the catalog, `assay metrics NAME` shows one entry.",
    )


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return names that may have been meant, the likeliest first."""
    names = list(known)
    folded = name.lower().replace("-", "_")
    elsewhere = _KNOWN_ELSEWHERE.get(folded)
    likely = [elsewhere] if elsewhere in names else []
    return list(dict.fromkeys([*likely, *difflib.get_close_matches(folded, names, n=3, cutoff=0.5)]))[:3]


def describe_added(names: Iterable[str]) -> dict[str, Any]:
    """Return what a stored run has to say of the metrics among these that are not built in."""
    return {
        name: {
            "summary": entry.summary,
            "better": entry.better.value,
            "lowest": entry.lowest,
            "highest": entry.highest,
            "cutoff": entry.cutoff.value,
            "parameters": {parameter.name: parameter.default for parameter in entry.parameters},
            "code": entry.code,
        }
        for name in dict.fromkeys(names)
        if (entry := find(name)).code
    }


def recall(specs: Iterable[str], described: Mapping[str, Any]) -> None:
    """Make the metrics that a stored run describes known by name, where nothing here computes them."""
    for name in {re.split(r"[(@]", spec, maxsplit=1)[0] for spec in specs}:
        if (name in described or name in _RETIRED) and METRICS.find(name) is None:
            _RECALLED[name] = _read_description(name, described.get(name) or {})


def _read_description(name: str, facts: Mapping[str, Any]) -> MetricEntry:
    """Read what `describe_added` wrote; of a retired metric nothing was written, so neither way is better."""
    return MetricEntry(
        name=name,
        family="stored",
        summary=str(facts.get("summary", "")),
        lowest=facts.get("lowest"),
        highest=facts.get("highest"),
        better=Better(facts.get("better", Better.NEITHER)),
        cutoff=Cutoff(facts.get("cutoff", Cutoff.OPTIONAL)),
        parameters=tuple(
            Parameter(name=parameter, meaning="", default=str(default))
            for parameter, default in (facts.get("parameters") or {}).items()
        ),
        compute=FromRecord(),
        code=str(facts.get("code", "")),
    )
