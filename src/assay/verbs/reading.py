"""Verbs that read memories one by one or in lists, and the one that erases: show, list, folders, erase."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.records import (
    ErasedMemory,
    FolderCounts,
    Forget,
    MemoryFilter,
    MemoryPage,
    MemoryStatus,
    ShownMemory,
    Tier,
    line_of,
)
from assay.records.access import Access
from assay.verbs import agent_text, paging
from assay.verbs.fields import LONGEST_TEXT, Labels, MemoryId, Moment, SessionId
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Surface, Verb

AGENTS_PART = 100_000
"""Characters of a body that an agent is given at once, unless it asks for another number."""
LIST = "memory"
"""What cursors of the list of memories are bound to."""


class ShowRequest(Request):
    """Which memory, and which part of it."""

    memory_id: MemoryId
    session_id: SessionId = None
    offset: Annotated[int, Field(ge=0, description="The first character of the body to give; 0 if left out.")] = 0
    limit: Annotated[
        int | None,
        Field(
            ge=1,
            le=LONGEST_TEXT,
            description=f"Characters of the body to give. Left out: all of it; to agents {AGENTS_PART:,}.",
        ),
    ] = None


class ListRequest(Request):
    """Which memories to list; all when nothing is given."""

    folder: Annotated[str | None, Field(max_length=500, description="Only this folder and the folders below it.")] = (
        None
    )
    tags: Annotated[Labels, Field(description="Only memories that have all these tags.")] = ()
    tier: Annotated[Tier | None, Field(description="Only memories of this tier.")] = None
    status: Annotated[
        MemoryStatus | None, Field(description=f"Only memories with this status: {', '.join(MemoryStatus)}.")
    ] = None
    since: Annotated[Moment | None, Field(description="Only memories changed at this time (ISO 8601) or later.")] = None
    limit: paging.PageLimit = 50
    cursor: paging.PageCursor = None


class FoldersRequest(Request):
    """Nothing to say."""


class EraseRequest(Request):
    """Which memory to erase for good."""

    memory_id: MemoryId
    versions: Annotated[bool, Field(description="The other versions of its source too.")] = False


def show(caller: Caller, request: ShowRequest) -> ShownMemory:
    """Read one memory; in a session, and with write access, that counts as a read."""
    counted = request.session_id is not None and caller.grant.access.includes(Access.WRITE)
    if counted:
        shown = caller.engine.load(caller.scope, request.memory_id, session_id=request.session_id)
    else:
        # Whoever looks after the store may look at what was forgotten, an agent never.
        forgotten = caller.grant.access.includes(Access.ADMIN) and caller.surface is not Surface.MCP
        shown = caller.engine.show(caller.scope, request.memory_id, forgotten=forgotten)
    limit = request.limit or (AGENTS_PART if caller.surface is Surface.MCP else shown.characters)
    end = request.offset + limit
    part = replace(shown.memory, body=shown.memory.body[request.offset : end])
    return replace(shown, memory=part, counted=counted, next_offset=end if end < shown.characters else None)


def list_memories(caller: Caller, request: ListRequest) -> MemoryPage:
    """List memories, newest first; forgotten and superseded ones say so."""
    wanted = MemoryFilter(
        folder=request.folder, tags=request.tags, tier=request.tier, status=request.status, since=request.since
    )
    after = paging.read_cursor(LIST, request.cursor, paging.row_id, "") or None
    found = caller.engine.list_memories(caller.scope, wanted, after=after, limit=request.limit)
    return MemoryPage(
        memories=tuple(map(line_of, found.memories)),
        total=found.total,
        by_status=found.by_status,
        next_cursor=None if found.next_after is None else paging.write_cursor(LIST, found.next_after),
    )


def list_folders(caller: Caller, request: FoldersRequest) -> FolderCounts:  # noqa: ARG001 - one shape for all verbs
    """Count the current memories of every folder."""
    return FolderCounts(folders=caller.engine.folders(caller.scope))


def erase(caller: Caller, request: EraseRequest) -> ErasedMemory:
    """Erase a memory to the last byte."""
    done = caller.engine.forget(caller.scope, Forget(memory_ids=(request.memory_id,), versions=request.versions))
    return ErasedMemory(
        memory_ids=tuple(memory.memory_id for memory in done.plan.memories), rows=done.rows, left=len(done.left)
    )


SHOW = Verb(
    name="memory.show",
    summary="Show one memory as a whole, with what it is joined to; named with a session, that counts as a read.",
    act=acts.MEMORY_READ,
    request=ShowRequest,
    result=ShownMemory,
    call=show,
    http=HttpRoute("GET", "/api/memory/{memory_id}", (404,)),
    tool=McpTool(
        name="memory_load",
        title="Load a memory",
        description="One memory as a whole, with what it is joined to. With a session_id and write access it counts "
        "as having read it.",
        masked=frozenset({"chunks", "versions", "saves"}),
        read_as=agent_text.read_memory,
    ),
    command="show",
    client="memory",
    python="Memory.show",
)
LIST_MEMORIES = Verb(
    name="memory.list",
    summary="List memories page by page, newest first; forgotten and superseded ones say so.",
    act=acts.MEMORY_LIST,
    request=ListRequest,
    result=MemoryPage,
    call=list_memories,
    http=HttpRoute("GET", "/api/memory"),
    tool=McpTool(
        name="memory_list",
        title="List memories",
        description="The memories there are, newest first, with their status and how many there are in all.",
    ),
    command="list",
    client="list",
    python="Memory.list",
)
FOLDERS = Verb(
    name="memory.folders",
    summary="List every folder and how many current memories are in it.",
    act=acts.MEMORY_LIST,
    request=FoldersRequest,
    result=FolderCounts,
    call=list_folders,
    http=HttpRoute("GET", "/api/memory/folders"),
    client="folders",
    python="Memory.folders",
)
ERASE = Verb(
    name="memory.erase",
    summary="Erase a memory to the last byte, from every table, index and archive.",
    act=acts.MEMORY_ERASE,
    request=EraseRequest,
    result=ErasedMemory,
    call=erase,
    http=HttpRoute("DELETE", "/api/memory/{memory_id}", (404,)),
    client="erase",
    python="Memory.erase",
)

FAMILY = Family(name="reading", verbs=(SHOW, LIST_MEMORIES, FOLDERS, ERASE))
