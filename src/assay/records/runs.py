"""One case as it was run (how it ended, how long each stage took), and what the judge's calls used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.errors import BadValue
from assay.records import values
from assay.records.checked import allow, one_of, require


class CaseStatus(StrEnum):
    """How a case ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    EMPTY = "empty"
    """It answered in time, with nothing in it."""
    SKIPPED = "skipped"
    """It was never tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRun:
    """One case as it was run."""

    status: CaseStatus = CaseStatus.OK
    total_ms: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage: folder-choice, candidate, fusion, rerank, generation, judge, ..."""
    doc_type: str = ""
    """Of the documents the case is about: markdown, pdf, code, ..."""

    def __post_init__(self) -> None:
        require(self, one_of(CaseStatus), "status")
        allow(self, _amount, "total_ms")
        require(self, _amounts, "stages")
        require(self, values.optional_label, "doc_type")


def _amount(value: Any, field: str) -> float:
    number = values.finite(value, field)
    if number < 0:
        raise BadValue(f"{field} {value!r} is negative", remedy="Give 0 or more.")
    return number


def _amounts(amounts: Any, field: str) -> dict[str, float]:
    return {name: _amount(value, f"{field}.{name}") for name, value in amounts.items()}
