"""Quarantine: a memory that is kept and shown, and that no search finds until a person releases it.

It has a row and no passages, so it is in no index and counts for no word's frequency. It never held: it is superseded
from the moment it would have been valid, so that no question about any time finds it, nor is it what a source says now.
What was doubted stands in its metadata. `assay restore` releases it: only then is it cut, embedded and indexed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from assay.memory.saving.structure import RESERVED
from assay.memory.saving.trust import Doubt
from assay.records import MemoryRecord
from assay.records.memory import QUARANTINED_MARK
from assay.storage import Work

MARK = QUARANTINED_MARK


def set_apart(memory: MemoryRecord, doubts: Sequence[Doubt]) -> MemoryRecord:
    """A new memory as it is kept in quarantine."""
    own = {**memory.metadata.get(RESERVED, {}), MARK: [f"{doubt.name}: {doubt.reason}" for doubt in doubts]}
    return replace(memory, superseded_at=memory.valid_from, metadata={**memory.metadata, RESERVED: own})


def reasons(memory: MemoryRecord) -> tuple[str, ...]:
    """Why a memory is in quarantine; nothing when it is not."""
    return tuple(memory.metadata.get(RESERVED, {}).get(MARK, ()))


def released(memory: MemoryRecord, now: datetime) -> MemoryRecord:
    """The memory as one that holds."""
    own = {name: value for name, value in memory.metadata[RESERVED].items() if name != MARK}
    rest = {name: value for name, value in memory.metadata.items() if name != RESERVED}
    return replace(memory, superseded_at=None, updated_at=now, metadata={**rest, **({RESERVED: own} if own else {})})


def all_of(work: Work) -> list[MemoryRecord]:
    """Every memory in quarantine, oldest first."""
    return [one for one in work.memories.never_held() if reasons(one)]


def of_source(work: Work, source_id: str | None, source_hash: str) -> MemoryRecord | None:
    """What is in quarantine with this very source and content."""
    versions = [] if source_id is None else work.memories.by_source(source_id)
    return next((one for one in versions if one.source_hash == source_hash and reasons(one)), None)
