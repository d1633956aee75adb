"""Tools for memories after they were saved: `memory_list`, `memory_update`, `memory_forget`, `memory_restore`.

An agent changes what its own principal wrote as a program, and nothing that is constitutional or written by hand. What
it forgets is hidden from every search and can be restored; a person erases it for good with `assay forget`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from assay.access import acts
from assay.mcp.framing import NOTICE, About, neutral
from assay.mcp.tool import Arguments, Calling, MemoryId, Moment, Result, Tool
from assay.mcp.tools.saving import LONGEST_BODY, MOST_LABELS, TIERS, Label, Saved, check_agent_tier, describe_save
from assay.records import MemoryFilter, MemoryRecord, MemoryStatus, Tier

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


class UpdateArguments(Arguments):
    """What to change; a field that is left out stays as it was."""

    memory_id: MemoryId
    title: Annotated[
        str | None, Field(min_length=1, max_length=1_000, description="A new title, up to 1,000 letters.")
    ] = None
    body: Annotated[
        str | None,
        Field(min_length=1, max_length=LONGEST_BODY, description=f"A new text, up to {LONGEST_BODY:,} characters."),
    ] = None
    tier: Annotated[
        Tier | None,
        AfterValidator(lambda tier: tier if tier is None else check_agent_tier(tier)),
        Field(description=f"A new tier: {', '.join(TIERS)}."),
    ] = None
    triggers: Annotated[
        tuple[Label, ...] | None,
        Field(max_length=MOST_LABELS, description="New trigger phrases instead of all old ones; [] removes them."),
    ] = None
    tags: Annotated[
        tuple[Label, ...] | None,
        Field(max_length=MOST_LABELS, description="New tags instead of all old ones; [] removes them."),
    ] = None
    folder: Annotated[str | None, Field(max_length=500, description="A new folder.")] = None


def _update(calling: Calling, given: UpdateArguments) -> Saved:
    fields = {name: getattr(given, name) for name in UpdateArguments.model_fields if name != "memory_id"}
    changes = {name: value for name, value in fields.items() if value is not None}
    outcome = calling.engine.saver.update(
        calling.scope, given.memory_id, changes, automated=True, tool="mcp memory_update"
    )
    calling.engine.keep_up(calling.scope)
    return describe_save(outcome)


class ForgetArguments(Arguments):
    """Which memory to forget."""

    memory_id: MemoryId
    reason: Annotated[str, Field(max_length=500, description="Why, for the audit log; up to 500 characters.")] = ""


class Forgotten(Result):
    """What was forgotten."""

    about: About
    memory_id: str
    title: str
    forgotten_at: datetime
    unchanged: bool
    """It was forgotten already."""
    note: str


def _forget(calling: Calling, given: ForgetArguments) -> Forgotten:
    done = calling.engine.saver.forget(calling.scope, given.memory_id, automated=True, reason=given.reason)
    return Forgotten(
        about=NOTICE,
        memory_id=done.memory_id,
        title=neutral(done.title),
        forgotten_at=done.forgotten_at,
        unchanged=done.unchanged,
        note="Hidden from every search. memory_restore brings it back; a person erases it for good with "
        f"`assay forget {done.memory_id}`.",
    )


class RestoreArguments(Arguments):
    """Which memory to bring back."""

    memory_id: MemoryId


class Restored(Result):
    """What was brought back."""

    memory_id: str
    note: str


def _restore(calling: Calling, given: RestoreArguments) -> Restored:
    outcome = calling.engine.saver.restore(calling.scope, given.memory_id, automated=True)
    return Restored(memory_id=given.memory_id, note="; ".join(step.detail for step in outcome.steps))


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
    Tool(
        name="memory_update",
        title="Update a memory",
        description="Change a memory that you saved: a new version takes its place and keeps what you do not give. "
        "The old version can be restored by a person.",
        act=acts.MEMORY_CHANGE,
        arguments=UpdateArguments,
        result=Saved,
        call=_update,
    ),
    Tool(
        name="memory_forget",
        title="Forget a memory",
        description="Hide a memory that you saved from every search, when the user asks to forget it. It can be "
        "restored until a person erases it for good.",
        act=acts.MEMORY_FORGET,
        arguments=ForgetArguments,
        result=Forgotten,
        call=_forget,
    ),
    Tool(
        name="memory_restore",
        title="Restore a forgotten memory",
        description="Bring back a memory that you forgot with memory_forget.",
        act=acts.MEMORY_BRING_BACK,
        arguments=RestoreArguments,
        result=Restored,
        call=_restore,
    ),
)
