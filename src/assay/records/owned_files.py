"""Whose a file is: the row that the store keeps of a run, a dataset, a journal of labels or a report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from assay.records import values
from assay.records.checked import one_of, require


class FileKind(StrEnum):
    """What a tenant can own outside the database."""

    RUN = "run"
    DATASET = "dataset"
    LABELS = "labels"
    REPORT = "report"


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedFile:
    """One file or folder of a tenant."""

    kind: FileKind
    name: str
    """The id of a run, which no other run ever has; the whole path of anything else."""
    principal: str
    """Who made it; empty where nobody wrote that down."""
    created_at: datetime

    def __post_init__(self) -> None:
        require(self, one_of(FileKind), "kind")
        require(self, values.short_label, "name")
        require(self, values.optional_label, "principal")
        require(self, values.moment, "created_at")
