"""The tool that reads one memory as a whole: `memory_load`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.mcp.framing import NOTICE, About
from assay.mcp.tool import Arguments, Calling, MemoryId, Result, SessionId, Tool
from assay.memory.rights import check_readable
from assay.records import MemoryRecord, Tier

LONGEST_PART = 100_000
"""Characters of a body that one call gives."""
MOST_JOINED = 50


class LoadArguments(Arguments):
    """Which memory, and which part of it."""

    memory_id: MemoryId
    offset: Annotated[int, Field(ge=0, description="The first character of the body to give; 0 if left out.")] = 0
    limit: Annotated[
        int, Field(ge=1, le=LONGEST_PART, description=f"Characters of the body to give, up to {LONGEST_PART:,}.")
    ] = LONGEST_PART
    session_id: SessionId = None


class JoinedMemory(Result):
    """A memory that an edge leads to or comes from."""

    memory_id: str
    title: str
    relation: str
    outgoing: bool
    strength: float


class Loaded(Result):
    """One memory."""

    about: About
    memory_id: str
    title: str
    text: str
    offset: int
    next_offset: int | None
    """Where to go on reading; null at the end."""
    characters: int
    """Of the whole body."""
    tier: Tier
    folder: str
    path: str
    tags: list[str]
    triggers: list[str]
    version: int
    confidence: float
    valid_from: datetime
    updated_at: datetime
    superseded_at: datetime | None
    written_by: str
    counted: bool
    """Whether this counts as having read it; with read access alone it does not."""
    joined: list[JoinedMemory]


def _load(calling: Calling, given: LoadArguments) -> Loaded:
    if calling.read_only:
        shown = calling.engine.show(calling.scope, given.memory_id)
        check_readable(shown.memory)
    else:
        shown = calling.engine.load(calling.scope, given.memory_id, session_id=given.session_id)
    joined = [
        JoinedMemory(
            memory_id=one.other_id,
            title=one.other_title,
            relation=one.edge.kind.value,
            outgoing=one.edge.source_id == given.memory_id,
            strength=one.edge.strength,
        )
        for one in shown.edges[:MOST_JOINED]
    ]
    return _loaded(shown.memory, given, joined, counted=not calling.read_only)


def _loaded(memory: MemoryRecord, given: LoadArguments, joined: list[JoinedMemory], *, counted: bool) -> Loaded:
    end = given.offset + given.limit
    return Loaded(
        about=NOTICE,
        memory_id=memory.id,
        title=memory.title,
        text=memory.body[given.offset : end],
        offset=given.offset,
        next_offset=end if end < len(memory.body) else None,
        characters=len(memory.body),
        tier=memory.tier,
        folder=memory.folder,
        path=memory.rel_path,
        tags=list(memory.tags),
        triggers=list(memory.triggers),
        version=memory.version,
        confidence=memory.confidence,
        valid_from=memory.valid_from,
        updated_at=memory.updated_at,
        superseded_at=memory.superseded_at,
        written_by=memory.written_by,
        counted=counted,
        joined=joined,
    )


def _loaded_as_read(loaded: Loaded) -> str:
    more = f"\n\n(the text goes on at offset {loaded.next_offset})" if loaded.next_offset is not None else ""
    return f"# {loaded.title} (id {loaded.memory_id})\n\n{loaded.text}{more}"


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="memory_load",
        title="Load a memory",
        description="One memory as a whole, with what it is joined to. Counts as having read it, with write access.",
        act=acts.MEMORY_READ,
        arguments=LoadArguments,
        result=Loaded,
        call=_load,
        readable=_loaded_as_read,
    ),
)
