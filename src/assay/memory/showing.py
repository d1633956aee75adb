"""Everything the store knows of one memory, in one reading."""

from __future__ import annotations

from assay.records import MemoryStatus, SaveLine, ShownEdge, ShownMemory, line_of
from assay.storage import SaveRecord, Work


def show(work: Work, memory_id: str) -> ShownMemory:
    """The memory, its chunks, edges, versions and the saves behind it."""
    from assay.memory.saving import restoring  # noqa: PLC0415 - a search does not wait for what saves
    from assay.memory.saving.spam_filter import quarantine_reasons  # noqa: PLC0415 - the same

    memory = work.memories.get(memory_id)
    return ShownMemory(
        memory=memory,
        status=memory.status,
        characters=len(memory.body),
        chunks=tuple(work.memories.chunks_of(memory_id)),
        edges=tuple(_edges(work, memory_id)),
        versions=tuple(map(line_of, work.memories.by_source(memory.source_id))) if memory.source_id else (),
        saves=tuple(map(_save, reversed(work.saves.of(memory_id)))),
        quarantined=quarantine_reasons(memory),
        forgotten=restoring.describe_forgotten(memory) if memory.status is MemoryStatus.FORGOTTEN else None,
    )


def _edges(work: Work, memory_id: str) -> list[ShownEdge]:
    shown = []
    for edge in work.edges.of(memory_id):
        other = edge.target_id if edge.source_id == memory_id else edge.source_id
        found = work.memories.find(other)
        shown.append(ShownEdge(edge=edge, other_id=other, other_title="" if found is None else found.title))
    return shown


def _save(save: SaveRecord) -> SaveLine:
    return SaveLine(
        save_id=save.save_id,
        decision=save.decision,
        at=save.at,
        actor=save.actor,
        quality=save.quality,
        similarity=save.similarity,
        neighbour_id=save.neighbour_id,
    )
