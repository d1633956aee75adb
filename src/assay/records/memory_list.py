"""Listing and showing memories: which ones are asked for, one page of them, and one memory with what belongs to it.

`MemoryList` is what the engine gives, whole memories. `MemoryPage` is what surfaces give: lines without the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from assay.records import values
from assay.records.checked import allow, one_of, require
from assay.records.memory import Chunk, Edge, MemoryRecord, MemoryStatus, Tier
from assay.records.saving import ForgottenMemory
from assay.records.writes import SaveDecision


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


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryList:
    """One page of a list of memories, newest first."""

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
    quarantined: tuple[str, ...] = ()
    """Why no search finds it; nothing when searches do."""
    forgotten: ForgottenMemory | None = None
    """Since when it is hidden from every search, and by whom; None when it is not."""
    counted: bool = False
    """Whether this counts as a read in the session that was named; with read access alone it never does."""
