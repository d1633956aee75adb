"""Lists of memories, one memory in full, why it is as it is, and the health of a memory.

- Filters, pages of memories, and one memory in full.
- Why a memory is as it is.
- Health of a memory store, part by part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum

from assay.records import values
from assay.records.facts import ShownFact
from assay.records.fields import allow, one_of, require
from assay.records.memory import Chunk, Edge, EdgeKind, MemoryRecord, MemoryStatus, Tier
from assay.records.saving import ForgottenMemory, SaveDecision

# --- Filters, pages of memories, and one memory in full ---
#
# `MemoryList` is what the engine gives, whole memories. `MemoryPage` is what surfaces give: lines without the texts.


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryFilter:
    """Which memories a list shows. Every condition that is given has to hold."""

    folder: str | None = None
    """This folder and the folders below it; `""` is the top folder alone."""
    tags: tuple[str, ...] = ()
    """All of them."""
    tier: Tier | None = None
    status: MemoryStatus | None = None
    since: datetime | None = None
    """Changed at this time or later."""

    def __post_init__(self) -> None:
        allow(self, values.optional_short_label, "folder")
        require(self, values.labels, "tags")
        allow(self, one_of(Tier), "tier")
        allow(self, one_of(MemoryStatus), "status")
        allow(self, values.moment, "since")


class MemoryOrder(StrEnum):
    """By what a list of memories is sorted."""

    CREATED = "created"
    UPDATED = "updated"
    TITLE = "title"
    FOLDER = "folder"
    TIER = "tier"
    """From deprecated to constitutional."""
    CONFIDENCE = "confidence"
    READS = "reads"


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryList:
    """One page of a list of memories, newest first unless another order was asked for."""

    memories: tuple[MemoryRecord, ...]
    total: int
    """Of all pages."""
    by_status: Mapping[MemoryStatus, int]
    """How many of the total have each status; a status that none has is absent."""
    next_after: str | None
    """The id after which the next page begins; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryLine:
    """A memory as a list shows it: everything but its text and metadata."""

    memory_id: str
    title: str
    status: MemoryStatus
    tier: Tier
    folder: str
    rel_path: str
    tags: tuple[str, ...]
    version: int
    confidence: float
    validation_count: int
    access_count: int
    updated_at: datetime
    superseded_at: datetime | None
    written_by: str


def line_of(memory: MemoryRecord) -> MemoryLine:
    """Return a memory as a list shows it."""
    names = [field.name for field in fields(MemoryLine) if field.name != "memory_id"]
    return MemoryLine(memory_id=memory.id, **{name: getattr(memory, name) for name in names})


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPage:
    """One page of a list of memories, newest first."""

    memories: tuple[MemoryLine, ...]
    total: int
    """Of all pages."""
    by_status: Mapping[MemoryStatus, int]
    """How many of the total have each status; a status that none has is absent."""
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderCounts:
    """Every folder with the number of its current memories."""

    folders: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownEdge:
    """An edge and the title of its other end."""

    edge: Edge
    other_id: str
    other_title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SaveLine:
    """One save that led to a memory, without the texts that it replaced."""

    save_id: str
    decision: SaveDecision
    at: datetime
    actor: str
    quality: float | None
    similarity: float | None
    """Of the nearest memory; None when none was compared."""
    neighbour_id: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownMemory:
    """One memory with what belongs to it."""

    memory: MemoryRecord
    """Its body may be a part of the whole: see `characters` and `next_offset`."""
    status: MemoryStatus
    characters: int
    """Of the whole body."""
    next_offset: int | None = None
    """Where to go on reading the body; None at its end."""
    chunks: tuple[Chunk, ...]
    edges: tuple[ShownEdge, ...]
    versions: tuple[MemoryLine, ...]
    """Every memory of the same source, oldest first; empty when it has no source."""
    saves: tuple[SaveLine, ...]
    """The decisions that led to it, oldest first."""
    facts: tuple[ShownFact, ...] = ()
    """What it states, in order, and until when that held."""
    quarantined: tuple[str, ...] = ()
    """Why no search finds it; nothing when searches do."""
    forgotten: ForgottenMemory | None = None
    """Since when it is hidden from every search, and by whom; None when it is not."""
    counted: bool = False
    """Whether this counts as a read in the session that was named; with read access alone it never does."""


# --- Why a memory is as it is ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """One memory in a chain, with the memories that it is based on."""

    memory_id: str
    title: str
    kind: EdgeKind | None
    """Its relation to the memory it was reached from; None for the first memory of the chain."""
    strength: float
    """Of the edges on the way, multiplied."""
    evidence: str
    behind: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """The answer to "why is this so?"."""

    chain: Reason
    contradicted_by: tuple[str, ...]
    """Memories joined to it by `contradicts`, in either direction."""
    cut: bool
    """Whether the chain goes on beyond what is shown."""


# --- Health of a memory store, part by part ---


class Condition(StrEnum):
    """How a part is."""

    OK = "ok"
    SILENT = "silent"
    """It should have found something and found nothing."""
    DEGRADED = "degraded"
    EMPTY = "empty"
    """There is nothing yet that it could find."""


@dataclass(frozen=True, slots=True)
class HealthLine:
    """One part and how it is."""

    name: str
    state: Condition
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthReport:
    """Every part."""

    ok: bool
    """Whether nothing is silent or degraded."""
    at: datetime
    parts: tuple[HealthLine, ...]


def report_health(parts: tuple[HealthLine, ...], at: datetime) -> HealthReport:
    """Return a report of these parts."""
    return HealthReport(ok=all(part.state in (Condition.OK, Condition.EMPTY) for part in parts), at=at, parts=parts)
