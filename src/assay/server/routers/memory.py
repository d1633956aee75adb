"""Memories: list, read, erase."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from assay.access import acts
from assay.memory.rights import check_readable
from assay.memory.showing import ShownMemory
from assay.records import (
    EdgeKind,
    Forget,
    Format,
    MemoryFilter,
    MemoryRecord,
    MemoryStatus,
    Tier,
)
from assay.records.access import Access
from assay.server import paging
from assay.server.fields import MOST_LABELS, IdInPath, Label, Moment
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Asking, Resource, Result

RESOURCE = Resource("/api/memory", "memory")
LIST = "memory"


class MemoryLine(Result):
    """A memory as a list shows it."""

    memory_id: str
    title: str
    status: MemoryStatus
    tier: Tier
    folder: str
    rel_path: str
    tags: list[str]
    version: int
    confidence: float
    validation_count: int
    access_count: int
    updated_at: datetime
    superseded_at: datetime | None


class MemoryPage(Result):
    """Memories, newest first."""

    memories: list[MemoryLine]
    total: int = Field(description="Of all pages.")
    by_status: dict[MemoryStatus, int] = Field(description="How many of the total have each status.")
    next_cursor: str | None


@RESOURCE.get("", acts.MEMORY_LIST)
def list_memories(  # noqa: PLR0917 - one parameter of the query each, all given by name
    asked: Asked,
    cursor: Cursor = None,
    limit: Limit = 50,
    folder: Annotated[
        str | None, Query(max_length=500, description="Only this folder and the folders below it.")
    ] = None,
    tag: Annotated[list[Label] | None, Query(max_length=MOST_LABELS, description="Only with all these tags.")] = None,
    tier: Annotated[Tier | None, Query(description="Only this tier.")] = None,
    status: Annotated[MemoryStatus | None, Query(description="Only memories with this status.")] = None,
    since: Annotated[Moment | None, Query(description="Only memories changed at this time or later.")] = None,
) -> MemoryPage:
    """Every memory, page by page, newest first; forgotten and superseded ones say so."""
    after = paging.read(LIST, cursor, paging.text, "")
    wanted = MemoryFilter(folder=folder, tags=tuple(tag or ()), tier=tier, status=status, since=since)
    page = asked.engine.list_memories(asked.scope, wanted, after=after or None, limit=limit)
    return MemoryPage(
        memories=[_line(one) for one in page.memories],
        total=page.total,
        by_status=dict(page.by_status),
        next_cursor=None if page.next_after is None else paging.written(LIST, page.next_after),
    )


def _line(memory: MemoryRecord) -> MemoryLine:
    return MemoryLine(memory_id=memory.id, **{
        name: getattr(memory, name) for name in MemoryLine.model_fields if name not in ("memory_id", "tags")
    }, tags=list(memory.tags))  # fmt: skip


class FolderCounts(Result):
    """Every folder with its current memories."""

    folders: dict[str, int]


@RESOURCE.get("/folders", acts.MEMORY_LIST)
def list_folders(asked: Asked) -> FolderCounts:
    """Every folder and how many memories are in it."""
    return FolderCounts(folders=dict(asked.engine.folders(asked.scope)))


class JoinedMemory(Result):
    """A memory that an edge leads to or comes from."""

    memory_id: str
    title: str
    relation: EdgeKind
    outgoing: bool
    strength: float
    evidence: str


class MemoryShown(MemoryLine):
    """One memory as a whole."""

    counted: bool = Field(description="Whether this counts as a read in the session that was named.")
    body: str
    format: Format
    triggers: list[str]
    learned_triggers: list[str]
    metadata: dict[str, Any]
    context_type: str
    source_id: str | None
    written_by: str
    written_with: str
    created_at: datetime
    valid_from: datetime
    joined: list[JoinedMemory]
    versions: list[str] = Field(description="Ids of every version of the same source, oldest first.")
    chunks: int


@RESOURCE.get("/{memory_id}", acts.MEMORY_READ, 404)
def get_memory(
    asked: Asked,
    memory_id: IdInPath,
    session_id: Annotated[
        str | None,
        Query(min_length=1, max_length=500, description="Given: counts as read in this session, with write access."),
    ] = None,
) -> MemoryShown:
    """One memory as a whole, with what it is joined to. A token with read access changes nothing by reading."""
    if session_id is None or not asked.grant.access.includes(Access.WRITE):
        shown = asked.engine.show(asked.scope, memory_id)
        if not asked.grant.access.includes(Access.ADMIN):
            check_readable(shown.memory)
        return _shown(shown, counted=False)
    return _shown(asked.engine.load(asked.scope, memory_id, session_id=session_id), counted=True)


def _shown(shown: ShownMemory, *, counted: bool) -> MemoryShown:
    memory = shown.memory
    joined = [
        JoinedMemory(
            memory_id=one.other_id,
            title=one.other_title,
            relation=one.edge.kind,
            outgoing=one.edge.source_id == memory.id,
            strength=one.edge.strength,
            evidence=one.edge.evidence,
        )
        for one in shown.edges
    ]
    return MemoryShown(
        **_line(memory).model_dump(),
        counted=counted,
        body=memory.body,
        format=memory.format,
        triggers=list(memory.triggers),
        learned_triggers=list(memory.learned_triggers),
        metadata=dict(memory.metadata),
        context_type=memory.context_type,
        source_id=memory.source_id,
        written_by=memory.written_by,
        written_with=memory.written_with,
        created_at=memory.created_at,
        valid_from=memory.valid_from,
        joined=joined,
        versions=[one.id for one in shown.versions],
        chunks=len(shown.chunks),
    )


class Forgotten(Result):
    """What was erased."""

    memory_ids: list[str]
    rows: dict[str, int]
    left: int = Field(description="Files in which it still stands; 0, or something is wrong.")


@RESOURCE.delete("/{memory_id}", acts.MEMORY_ERASE, 404)
def forget_memory(
    asked: Asked,
    memory_id: IdInPath,
    versions: Annotated[bool, Query(description="The other versions of its source too.")] = False,
) -> Forgotten:
    """Erase a memory to the last byte, from every table, index and archive."""
    return _forgotten(asked, Forget(memory_ids=(memory_id,), versions=versions))


def _forgotten(asked: Asking, what: Forget) -> Forgotten:
    erased = asked.engine.forget(asked.scope, what)
    return Forgotten(
        memory_ids=[one.memory_id for one in erased.plan.memories], rows=dict(erased.rows), left=len(erased.left)
    )
