"""The tool that lists memories: `memory_list`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.mcp.framing import NOTICE, About, neutral
from assay.mcp.tool import Arguments, Calling, Moment, Result, Tool
from assay.records import MemoryFilter, MemoryRecord, MemoryStatus, Tier
from assay.verbs.fields import MOST_LABELS, Label

MOST_LISTED = 100


class ListArguments(Arguments):
    """Which memories to list; all when nothing is given."""

    folder: Annotated[str | None, Field(max_length=500, description="Only this folder and the folders below it.")] = (
        None
    )
    tags: Annotated[
        tuple[Label, ...], Field(max_length=MOST_LABELS, description="Only memories that have all these tags.")
    ] = ()
    tier: Annotated[Tier | None, Field(description="Only memories of this tier.")] = None
    status: Annotated[
        MemoryStatus | None, Field(description=f"Only memories with this status: {', '.join(MemoryStatus)}.")
    ] = None
    since: Annotated[Moment | None, Field(description="Only memories changed at this time (ISO 8601) or later.")] = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description=f"Memories to give, 1 to {MOST_LISTED}.")] = 20
    after: Annotated[
        str | None, Field(min_length=1, max_length=500, description="next_after of the page before; unset: the start.")
    ] = None


class ListedMemory(Result):
    """A memory as a list shows it; memory_load gives its text."""

    memory_id: str
    title: str
    status: MemoryStatus
    tier: Tier
    folder: str
    tags: list[str]
    updated_at: datetime
    written_by: str


class Listed(Result):
    """Memories, newest first."""

    about: About
    memories: list[ListedMemory]
    total: int
    """Of all pages."""
    by_status: dict[MemoryStatus, int]
    next_after: str | None
    """What to give as `after` for the next page; null on the last."""


def _list(calling: Calling, given: ListArguments) -> Listed:
    wanted = MemoryFilter(folder=given.folder, tags=given.tags, tier=given.tier, status=given.status, since=given.since)
    page = calling.engine.list_memories(calling.scope, wanted, after=given.after, limit=given.limit)
    return Listed(
        about=NOTICE,
        memories=[_listed(memory) for memory in page.memories],
        total=page.total,
        by_status=dict(page.by_status),
        next_after=page.next_after,
    )


def _listed(memory: MemoryRecord) -> ListedMemory:
    return ListedMemory(
        memory_id=memory.id,
        title=neutral(memory.title),
        status=memory.status,
        tier=memory.tier,
        folder=memory.folder,
        tags=list(memory.tags),
        updated_at=memory.updated_at,
        written_by=memory.written_by,
    )


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="memory_list",
        title="List memories",
        description="The memories there are, newest first, with their status and how many there are in all.",
        act=acts.MEMORY_LIST,
        arguments=ListArguments,
        result=Listed,
        call=_list,
    ),
)
