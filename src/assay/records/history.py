"""What happened to the store itself: the change log that derived indexes follow, and the audit log that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.records import values
from assay.records.checked import allow, one_of, require


class RowKind(StrEnum):
    """What kind of row changed."""

    MEMORY = "memory"
    CHUNK = "chunk"


class Operation(StrEnum):
    """What happened to it."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One line of the change log. `seq` only grows; within a tenant it grows in the order of commits."""

    seq: int
    kind: RowKind
    row_id: str
    operation: Operation
    at: datetime
    number: int | None = None
    """The row's number, by which derived indexes know it. None on lines from before rows had numbers."""

    def __post_init__(self) -> None:
        require(self, values.count, "seq")
        allow(self, values.count, "number")
        require(self, one_of(RowKind), "kind")
        require(self, values.identifier, "row_id")
        require(self, one_of(Operation), "operation")
        require(self, values.moment, "at")


class LogPosition(NamedTuple):
    """How far a follower has read. Another epoch means the past was rewritten by a restore: begin anew."""

    epoch: str
    seq: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """Who did what to which thing, and the detail needed to undo or judge it."""

    action: str
    target: str
    actor: str
    at: datetime
    detail: Mapping[str, Any] = field(default_factory=dict)
    via: str = ""
    """From where it was done, such as `command line` or `http 10.0.0.7`; empty when nobody said."""
    place: int | None = field(default=None, compare=False)
    """The entry's number in the chain of its tenant, from 1. None: it has not been stored yet."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "action")
        require(self, values.short_label, "target")
        require(self, values.label, "actor")
        require(self, values.moment, "at")
        require(self, values.json_object, "detail")
        require(self, values.optional_label, "via")
        allow(self, values.count, "place")
