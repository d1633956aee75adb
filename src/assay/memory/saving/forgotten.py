"""Forgetting that can be taken back: the memory is hidden from every search until it is restored or erased.

A forgotten memory keeps its row and loses its passages, vectors and edges, so it is in no index and no graph, and
counts for no word's frequency. Like a quarantined one it is superseded from the moment it became valid, so that no
question about any time finds it. What it takes to bring it back (the edges, and whether it held) stands in its
metadata. `assay forget` erases it for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from assay.clock import Clock
from assay.errors import NotReady
from assay.memory import rights
from assay.memory.saving.structure import RESERVED
from assay.records import Edge, EdgeKind, ForgottenMemory, MemoryRecord, MemoryStatus, Scope, fields
from assay.records.memory import FORGOTTEN_MARK as MARK
from assay.storage import Store, Work


def forget(
    store: Store, scope: Scope, memory_id: str, *, clock: Clock, automated: bool, reason: str = ""
) -> ForgottenMemory:
    """Hide a memory from every search, reversibly. Audited. Forgetting it again changes nothing."""
    with store.writing(scope) as work:
        memory = work.memories.get(memory_id)
        rights.check_change(memory, scope, "forget", automated=automated)
        if memory.status is MemoryStatus.FORGOTTEN:
            return describe(memory, unchanged=True)
        if memory.status is MemoryStatus.QUARANTINED:
            raise NotReady(
                f"the memory {memory_id!r} is in quarantine, where no search finds it",
                remedy=f"Leave it there, or erase it for good with `assay forget {memory_id}`.",
            )
        edges = work.edges.of(memory_id)
        for edge in edges:
            work.edges.remove(edge.source_id, edge.target_id, edge.kind)
        hidden = _hide(memory, edges, scope, at=clock.now(), automated=automated)
        work.memories.update(hidden, ())
        work.audit.append("memory.hide", memory_id, {"automated": automated, "reason": reason, "edges": len(edges)})
    return describe(hidden)


def describe(memory: MemoryRecord, *, unchanged: bool = False) -> ForgottenMemory:
    """When and by whom a memory was forgotten."""
    mark = read_mark(memory)
    return ForgottenMemory(
        memory_id=memory.id,
        title=memory.title,
        forgotten_at=datetime.fromisoformat(mark["at"]),
        forgotten_by=mark["by"],
        unchanged=unchanged,
    )


def read_mark(memory: MemoryRecord) -> Mapping[str, Any]:
    """What is kept of a forgotten memory to bring it back; empty when it is not forgotten."""
    mark: Mapping[str, Any] = memory.metadata.get(RESERVED, {}).get(MARK, {})
    return mark


def reveal(memory: MemoryRecord, now: datetime) -> MemoryRecord:
    """The memory as it was before it was forgotten: holding, or superseded."""
    until = read_mark(memory)["superseded_at"]
    held_until = None if until is None else datetime.fromisoformat(until)
    return replace(_with_mark(memory, None), superseded_at=held_until, updated_at=now)


def restore_edges(work: Work, memory: MemoryRecord) -> int:
    """Put the edges of a restored memory back; returns how many.

    An edge to a memory that was erased since is gone. An edge to one that is forgotten itself waits there.
    """
    restored = 0
    for edge in kept_edges(memory):
        other = work.memories.find(edge.target_id if edge.source_id == memory.id else edge.source_id)
        if other is None:
            continue
        if other.status is MemoryStatus.FORGOTTEN:
            work.memories.update(_with_edges(other, [*kept_edges(other), edge]))
            continue
        work.edges.put(edge)
        restored += 1
    return restored


def kept_edges(memory: MemoryRecord) -> list[Edge]:
    """The edges a forgotten memory had."""
    return [
        Edge(
            source_id=kept["source_id"],
            target_id=kept["target_id"],
            kind=EdgeKind(kept["kind"]),
            strength=kept["strength"],
            evidence=kept["evidence"],
            created_at=datetime.fromisoformat(kept["created_at"]),
        )
        for kept in read_mark(memory).get("edges", [])
    ]


def drop_edges(memory: MemoryRecord, dropped: Iterable[Edge]) -> MemoryRecord:
    """A forgotten memory without some of the edges it would get back."""
    gone = set(dropped)
    return _with_edges(memory, [edge for edge in kept_edges(memory) if edge not in gone])


def _hide(memory: MemoryRecord, edges: Iterable[Edge], scope: Scope, *, at: datetime, automated: bool) -> MemoryRecord:
    mark = {
        "at": at.isoformat(),
        "by": scope.principal,
        "automated": automated,
        "superseded_at": None if memory.superseded_at is None else memory.superseded_at.isoformat(),
        "edges": [fields.plain(edge) for edge in edges],
    }
    return replace(_with_mark(memory, mark), superseded_at=memory.valid_from, updated_at=at)


def _with_edges(memory: MemoryRecord, edges: Iterable[Edge]) -> MemoryRecord:
    return _with_mark(memory, {**read_mark(memory), "edges": [fields.plain(edge) for edge in edges]})


def _with_mark(memory: MemoryRecord, mark: Mapping[str, Any] | None) -> MemoryRecord:
    own = {name: value for name, value in memory.metadata.get(RESERVED, {}).items() if name != MARK}
    if mark is not None:
        own[MARK] = dict(mark)
    rest = {name: value for name, value in memory.metadata.items() if name != RESERVED}
    return replace(memory, metadata={**rest, **({RESERVED: own} if own else {})})
