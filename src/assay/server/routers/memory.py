"""Memories: save, list, read, explain, link, forget."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field

from assay.access import acts
from assay.memory.graph import Reason
from assay.memory.rights import check_readable
from assay.memory.showing import ShownMemory
from assay.records import (
    EdgeKind,
    Forget,
    Format,
    MemoryFilter,
    MemoryRecord,
    MemoryStatus,
    SaveDecision,
    SaveOutcome,
    Tier,
    make_draft,
)
from assay.records.access import Access
from assay.server import paging
from assay.server.errors import Refused
from assay.server.fields import LONGEST_TEXT, MOST_LABELS, Id, IdInPath, Label, Moment, YesNo
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Asking, Body, Resource, Result

RESOURCE = Resource("/api/memory", "memory")
LIST = "memory"
Labels = Annotated[tuple[Label, ...], Field(max_length=MOST_LABELS)]
TAKEN_OVER = "Left out: as in the memory that this one supersedes. Empty: none."


class SaveBody(Body):
    """What to keep."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"title": "Poll the oven", "body": "We poll every 5 s: pushes are lost behind NAT.", "tags": ["adr"]}
            ]
        }
    )

    title: Annotated[str, Field(min_length=1, max_length=1_000)]
    body: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description="One decision, fact or lesson.")]
    tier: Annotated[
        Tier | None,
        Field(
            description="How much it matters; constitutional needs admin access and a person. Left out: as in the "
            "memory that this one supersedes, else normal."
        ),
    ] = None
    format: Format = Format.MARKDOWN
    triggers: Annotated[Labels | None, Field(description=TAKEN_OVER)] = None
    tags: Annotated[Labels | None, Field(description=TAKEN_OVER)] = None
    folder: Annotated[str | None, Field(max_length=500, description=TAKEN_OVER)] = None
    rel_path: Annotated[str, Field(max_length=4_000)] = ""
    context_type: Annotated[str | None, Field(max_length=500, description=TAKEN_OVER)] = None
    metadata: Annotated[dict[str, Any] | None, Field(description=TAKEN_OVER)] = None
    source_id: Annotated[
        str | None,
        Field(min_length=1, max_length=500, description="The same source id again means a new version of the same."),
    ] = None
    valid_from: Moment | None = None
    automated: Annotated[
        YesNo,
        Field(
            description="Written by a program on its own; it never replaces what a person wrote. "
            "Always so without the token of a person."
        ),
    ] = False


class NearMemory(Result):
    """A memory like the new one."""

    memory_id: str
    title: str
    similarity: float
    agrees: bool
    same_subject: bool


class StepTaken(Result):
    """What one step of a save decided."""

    name: str
    decision: str
    detail: str


class InheritedField(Result):
    """Something that an update took over from the memory it supersedes."""

    field: str
    value: str


class SaveDone(Result):
    """What became of it."""

    save_id: str
    decision: SaveDecision
    memory_id: str | None = Field(description="What now holds the content; null when only its quality spoke.")
    unchanged: bool
    version: int
    superseded: list[str]
    inherited: list[InheritedField] = Field(
        description="What was left out and therefore taken over from what is superseded."
    )
    contradicts: list[str]
    masked: list[str] = Field(description="Secrets that were masked, by kind and place.")
    quality: float | None
    would_reject: str | None
    nearest: list[NearMemory]
    steps: list[StepTaken]
    chunks: int
    quarantined: bool = Field(description="Kept out of search until a person releases it: it looks like no note.")
    held_off: str = Field(
        description="What it would have superseded, why reconsolidation is held off, and what to do; else empty."
    )


@RESOURCE.post("", acts.MEMORY_SAVE, 507)
def save_memory(asked: Asked, body: SaveBody) -> SaveDone:
    """Keep a memory: the answer says whether it was stored, merged, took another's place or was turned away."""
    check_tier(asked, body.tier)
    given = {name: getattr(body, name) for name in SaveBody.model_fields}
    # Whoever does not show a person's token is a program, also on this machine: see design/trust-in-ranking.md.
    given["automated"] = body.automated or not asked.grant.person
    draft = make_draft(**given, written_with="http")
    outcome = asked.engine.saver.save(asked.scope, draft)
    asked.engine.keep_up(asked.scope)
    return saved(outcome)


def check_tier(asked: Asking, tier: Tier | None) -> None:
    """Refuse to let a program, or less than admin access, make a memory constitutional."""
    if tier is Tier.CONSTITUTIONAL and not (asked.grant.person and asked.grant.access.includes(Access.ADMIN)):
        raise Refused(
            403,
            "access_too_low",
            "a constitutional memory comes with every answer, and needs a person with admin access",
            remedy="Choose another tier, run `assay save` at the command line, or use a token made with "
            "`assay token create --scope admin --person`.",
        )


def saved(outcome: SaveOutcome) -> SaveDone:
    """An outcome as the API gives it."""
    return SaveDone(
        save_id=outcome.save_id,
        decision=outcome.decision,
        memory_id=outcome.memory_id,
        unchanged=outcome.unchanged,
        version=outcome.version,
        superseded=list(outcome.superseded),
        inherited=[InheritedField(field=one.field, value=one.value) for one in outcome.inherited],
        contradicts=list(outcome.contradicts),
        masked=[f"{mask.kind} in {mask.where}" for mask in outcome.masks],
        quality=None if outcome.quality is None else outcome.quality.score,
        would_reject=outcome.would_reject,
        nearest=[
            NearMemory(
                memory_id=one.memory_id,
                title=one.title,
                similarity=one.similarity,
                agrees=one.agrees,
                same_subject=one.same_subject,
            )
            for one in outcome.nearest
        ],
        steps=[StepTaken(name=one.name, decision=one.decision, detail=one.detail) for one in outcome.steps],
        chunks=outcome.chunks,
        quarantined=outcome.quarantined,
        held_off=outcome.held_off,
    )


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


class Behind(Result):
    """One memory in the chain, and what stands behind it in turn."""

    memory_id: str
    title: str
    relation: EdgeKind | None
    strength: float
    evidence: str
    behind: list[Behind]


class Reasons(Result):
    """What stands behind a memory."""

    chain: Behind
    contradicted_by: list[str]
    cut: bool = Field(description="Whether the chain goes on beyond what is shown.")


@RESOURCE.get("/{memory_id}/why", acts.MEMORY_READ, 404)
def explain_memory(asked: Asked, memory_id: IdInPath) -> Reasons:
    """What caused, enabled or supports a memory, and what stands behind that in turn."""
    why = asked.engine.why(asked.scope, memory_id)
    return Reasons(chain=_behind(why.chain), contradicted_by=list(why.contradicted_by), cut=why.cut)


def _behind(reason: Reason) -> Behind:
    return Behind(
        memory_id=reason.memory_id,
        title=reason.title,
        relation=reason.kind,
        strength=reason.strength,
        evidence=reason.evidence,
        behind=[_behind(one) for one in reason.behind],
    )


class LinkBody(Body):
    """How one memory bears on another."""

    source_id: Id
    relation: EdgeKind
    target_id: Id
    strength: Annotated[float, Field(strict=True, ge=0.0, le=1.0)] = 1.0
    evidence: Annotated[str, Field(max_length=4_000)] = ""


class LinkDone(Result):
    """The edge as it now stands."""

    source_id: str
    relation: EdgeKind
    target_id: str
    strength: float
    evidence: str


@RESOURCE.post("/links", acts.MEMORY_LINK, 404)
def link_memories(asked: Asked, body: LinkBody) -> LinkDone:
    """Say how one memory bears on another: it caused, enabled, supports, contradicts it."""
    edge = asked.engine.link(
        asked.scope, body.source_id, body.relation, body.target_id, strength=body.strength, evidence=body.evidence
    )
    return LinkDone(
        source_id=edge.source_id,
        relation=edge.kind,
        target_id=edge.target_id,
        strength=edge.strength,
        evidence=edge.evidence,
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
