"""Everything the store knows of one memory, in one reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assay.records import Chunk, Edge, ForgottenMemory, MemoryRecord, MemoryStatus
from assay.storage import Work
from assay.storage.repositories.saves import SaveRecord


class ShownEdge(NamedTuple):
    """An edge and the title of its other end."""

    edge: Edge
    other_id: str
    other_title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownMemory:
    """One memory with what belongs to it."""

    memory: MemoryRecord
    chunks: tuple[Chunk, ...]
    edges: tuple[ShownEdge, ...]
    versions: tuple[MemoryRecord, ...]
    """Every memory of the same source, oldest first; empty when it has no source."""
    saves: tuple[SaveRecord, ...]
    """The decisions that led to it, oldest first."""
    quarantined: tuple[str, ...] = ()
    """Why no search finds it; nothing when searches do."""
    forgotten: ForgottenMemory | None = None
    """Since when it is hidden from every search, and by whom; None when it is not."""


def show(work: Work, memory_id: str) -> ShownMemory:
    """The memory, its chunks, edges, versions and the saves behind it."""
    from assay.memory.saving import forgotten  # noqa: PLC0415 - a search does not wait for what saves
    from assay.memory.saving.quarantine import reasons  # noqa: PLC0415 - the same

    memory = work.memories.get(memory_id)
    return ShownMemory(
        memory=memory,
        chunks=tuple(work.memories.chunks_of(memory_id)),
        edges=tuple(_edges(work, memory_id)),
        versions=tuple(work.memories.by_source(memory.source_id)) if memory.source_id else (),
        saves=tuple(reversed(work.saves.of(memory_id))),
        quarantined=reasons(memory),
        forgotten=forgotten.describe(memory) if memory.status is MemoryStatus.FORGOTTEN else None,
    )


def _edges(work: Work, memory_id: str) -> list[ShownEdge]:
    shown = []
    for edge in work.edges.of(memory_id):
        other = edge.target_id if edge.source_id == memory_id else edge.source_id
        found = work.memories.find(other)
        shown.append(ShownEdge(edge, other, "" if found is None else found.title))
    return shown
