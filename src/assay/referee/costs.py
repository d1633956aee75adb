"""Cost beside quality: what filling and asking took, from the measured lines of a journal.

Times differ from run to run, so they are no part of a capsule and of the numbers that two runs share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.referee.records import Line


def summarise_costs(lines: Sequence[Line], results: Mapping[str, Any]) -> list[Line]:
    """Return one line for each set and system: seconds to fill, milliseconds to ask, bytes, calls to a model."""
    keys = [(name, row["system"]) for name, found in results["sets"].items() for row in found["rows"] if "asked" in row]
    return [cost for name, system in keys if (cost := _cost_of(lines, name, system)) is not None]


def _cost_of(lines: Sequence[Line], name: str, system: str) -> Line | None:
    own = [line for line in lines if line["set"] == name and line["system"] == system]
    fills = {line["user"]: line for line in own if line["kind"] == "fill"}
    asked = sorted(line["ms"] for line in own if line["kind"] == "ask")
    stores = [line for line in own if line["kind"] == "store"]
    if not fills or not asked:
        return None
    hosts = sorted({host for line in stores for host in line["hosts"]})
    timed = not hosts
    return {
        "set": name,
        "system": system,
        "items": sum(line["items"] for line in fills.values()),
        "fill_s": sum(line["seconds"] for line in fills.values()) if timed else None,
        "embedding_s": sum(line["embedding"] for line in fills.values()) if timed else None,
        "ask_p50_ms": _quantile(asked, 0.5) if timed else None,
        "ask_p95_ms": _quantile(asked, 0.95) if timed else None,
        "disk_bytes": max((line["bytes"] for line in stores), default=None),
        "model_calls": sum(line["model_calls"] for line in stores),
        "hosts": hosts,
    }


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
