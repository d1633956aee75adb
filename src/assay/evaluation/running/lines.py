"""One case as one line of JSON and back, and the manifest of a run the same way.

Whatever is at its default is left out, so that a line stays short and a new field changes no old line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from assay.evaluation.running.seals import SEAL
from assay.metrics.catalog import recall
from assay.records.anchors import RetrievedChunk
from assay.records.answers import GivenAnswer
from assay.records.evaluations import CaseResult, Retrieved, RunManifest, Seen
from assay.records.writes import Written

Plain = dict[str, Any]


def plain(value: Any) -> Any:
    """A record as JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(given) for one in fields(value) if (given := getattr(value, one.name)) != _default(one)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def _default(one: Any) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def case_line(result: CaseResult) -> str:
    """One line, without its end. NaN never passes."""
    return json.dumps(plain(result), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read_case(found: Plain) -> CaseResult:
    """What `case_line` wrote."""
    retrieved = found.get("retrieved")
    known = {name: value for name, value in found.items() if name != SEAL}
    return CaseResult(**{**known, "retrieved": None if retrieved is None else _retrieved(retrieved)})


def _retrieved(found: Plain) -> Retrieved:
    known: Plain = {**found, "ids": tuple(found["ids"])}
    for name in ("pinned", "notes", "scores"):
        if name in known:
            known[name] = tuple(known[name])
    known["passages"] = _chunks(known.get("passages", []))
    if "seen" in known:
        known["seen"] = _seen(known["seen"])
    if "answer" in known:
        answer = known["answer"]
        known["answer"] = GivenAnswer(**{**answer, "references": _chunks(answer.get("references", []))})
    if "saved" in known:
        known["saved"] = Written(**known["saved"])
    return Retrieved(**known)


def _chunks(found: list[Plain]) -> tuple[RetrievedChunk, ...]:
    return tuple(RetrievedChunk(**one) for one in found)


def _seen(found: Plain) -> Seen:
    read: Mapping[str, Callable[[Any], Any]] = {"channels": _tuples, "channel_scores": _tuples, "tokens_saved": int}
    return Seen(**{name: read.get(name, tuple)(given) for name, given in found.items() if given is not None})


def _tuples(found: Mapping[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(listed) for name, listed in found.items()}


def manifest_json(manifest: RunManifest) -> Plain:
    """Every field, and both hashes beside them for whoever reads the file."""
    whole = {one.name: plain(getattr(manifest, one.name)) for one in fields(manifest)}
    return {**whole, "instrument_hash": manifest.instrument_hash, "subject_hash": manifest.subject_hash}


def read_manifest(found: Plain) -> RunManifest:
    """What `manifest_json` wrote."""
    known = {one.name: found[one.name] for one in fields(RunManifest) if one.name in found}
    known["started_at"] = datetime.fromisoformat(known["started_at"])
    recall(known["metrics"], known.get("own_metrics", {}))
    return RunManifest(**{**known, "metrics": tuple(known["metrics"]), "case_ids": tuple(known["case_ids"])})
