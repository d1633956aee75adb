"""Listing memories: which ones are asked for, and one page of what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.records import values
from assay.records.checked import allow, one_of, require
from assay.records.memory import MemoryRecord, MemoryStatus, Tier


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
