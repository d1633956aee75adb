"""Verbs on single memories: save, update, tier, forget, restore, link, and why.

Whoever does not show that they are a person counts as a program: it changes what its own principal saved as a program,
and never replaces what a person wrote.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import Edge, EdgeKind, ForgottenMemory, Format, SaveOutcome, Tier, TierChange, Why, make_draft
from assay.records.access import Access
from assay.verbs.fields import LONGEST_TEXT, MOST_LABELS, Labels, MemoryId, Moment, Share, YesNo
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Verb

LONGEST_SURROUNDINGS = 20_000
LONG_BODY = f"One decision, fact or lesson, up to {LONGEST_TEXT:,} characters."
KEPT = "Left out: as in the memory that this one supersedes. Empty: none."
REPLACED = "Instead of all old ones; an empty list removes them. Left out: unchanged."


class SaveRequest(Request):
    """What to save."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"title": "Poll the oven", "body": "We poll every 5 s: pushes are lost behind NAT.", "tags": ["adr"]}
            ]
        }
    )

    title: Annotated[str, Field(min_length=1, max_length=1_000, description="What it is called.")]
    body: Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description=LONG_BODY)]
    tier: Annotated[
        Tier | None,
        Field(
            description="How much it matters; constitutional needs admin access and a person. Left out: as in the "
            "memory that this one supersedes, else normal."
        ),
    ] = None
    format: Annotated[Format, Field(description=f"How the body is written: {', '.join(Format)}.")] = Format.MARKDOWN
    triggers: Annotated[
        Labels | None, Field(description=f"Up to {MOST_LABELS} phrases that should bring it up. {KEPT}")
    ] = None
    tags: Annotated[Labels | None, Field(description=f"Up to {MOST_LABELS} tags. {KEPT}")] = None
    folder: Annotated[
        str | None, Field(max_length=500, description=f"Where it belongs, such as decisions/auth. {KEPT}")
    ] = None
    rel_path: Annotated[str, Field(max_length=4_000, description="The file it comes from, below its folder.")] = ""
    context_type: Annotated[str | None, Field(max_length=500, description=f"The kind of work it is for. {KEPT}")] = None
    surroundings: Annotated[
        str | None,
        Field(
            max_length=LONGEST_SURROUNDINGS,
            description="What stood around it, such as the turns before and after in a chat. Searches find it by these "
            f"words too; they are not shown with it. {KEPT}",
        ),
    ] = None
    metadata: Annotated[dict[str, Any] | None, Field(description=f"Anything else, as JSON. {KEPT}")] = None
    source_id: Annotated[
        str | None,
        Field(min_length=1, max_length=500, description="The same source id again means a new version of the same."),
    ] = None
    valid_from: Annotated[Moment | None, Field(description="Since when it holds. Left out: now.")] = None
    automated: Annotated[
        YesNo,
        Field(
            description="Written by a program on its own; it never replaces what a person wrote. "
            "Always so for callers that do not show that they are a person."
        ),
    ] = False


class UpdateRequest(Request):
    """What to change; a field that is left out stays as it was."""

    memory_id: MemoryId
    title: Annotated[str | None, Field(min_length=1, max_length=1_000, description="A new title.")] = None
    body: Annotated[
        str | None,
        Field(min_length=1, max_length=LONGEST_TEXT, description=f"A new text, up to {LONGEST_TEXT:,} characters."),
    ] = None
    tier: Annotated[Tier | None, Field(description="A new tier; constitutional needs admin access and a person.")] = (
        None
    )
    format: Annotated[Format | None, Field(description=f"How the new text is written: {', '.join(Format)}.")] = None
    triggers: Annotated[Labels | None, Field(description=f"Up to {MOST_LABELS} new trigger phrases. {REPLACED}")] = None
    tags: Annotated[Labels | None, Field(description=f"Up to {MOST_LABELS} new tags. {REPLACED}")] = None
    folder: Annotated[str | None, Field(max_length=500, description="A new folder; an empty text removes it.")] = None
    context_type: Annotated[str | None, Field(max_length=500, description="A new kind of work it is for.")] = None
    surroundings: Annotated[
        str | None,
        Field(max_length=LONGEST_SURROUNDINGS, description="New words around it; an empty text removes them."),
    ] = None
    metadata: Annotated[dict[str, Any] | None, Field(description="Instead of all old metadata.")] = None
    automated: Annotated[YesNo, Field(description="A program changes it on its own.")] = False


class TierRequest(Request):
    """Which tier a memory gets, and why."""

    memory_id: MemoryId
    tier: Annotated[
        Tier,
        Field(
            description="critical and important are raised in searches, deprecated is served last, constitutional "
            "comes with every answer and needs admin access and a person."
        ),
    ]
    reason: Annotated[str, Field(max_length=500, description="Why, for the audit log.")] = ""


class ForgetRequest(Request):
    """Which memory to hide, and why."""

    memory_id: MemoryId
    reason: Annotated[str, Field(max_length=500, description="Why, for the audit log.")] = ""


class RestoreRequest(Request):
    """Which memory to bring back."""

    memory_id: MemoryId


class LinkRequest(Request):
    """How one memory bears on another."""

    source_id: MemoryId
    kind: Annotated[EdgeKind, Field(description="How the source bears on the target: the source KIND the target.")]
    target_id: MemoryId
    strength: Annotated[Share, Field(description="How strongly, 0 to 1.")] = 1.0
    evidence: Annotated[str, Field(max_length=4_000, description="Why this is so.")] = ""


class WhyRequest(Request):
    """Which memory to explain."""

    memory_id: MemoryId


def save(caller: Caller, request: SaveRequest) -> SaveOutcome:
    """Save a memory and let the indexes follow."""
    _check_tier(caller, request.tier)
    given = {name: getattr(request, name) for name in SaveRequest.model_fields}
    given["automated"] = request.automated or caller.is_program
    outcome = caller.engine.saver.save(caller.scope, make_draft(**given, written_with=caller.via))
    caller.engine.keep_up(caller.scope)
    return outcome


def update(caller: Caller, request: UpdateRequest) -> SaveOutcome:
    """Save a new version of a memory."""
    _check_tier(caller, request.tier)
    fields = UpdateRequest.model_fields.keys() - {"memory_id", "automated"}
    changes = {name: value for name in fields if (value := getattr(request, name)) is not None}
    automated = request.automated or caller.is_program
    outcome = caller.engine.saver.update(caller.scope, request.memory_id, changes, automated=automated, tool=caller.via)
    caller.engine.keep_up(caller.scope)
    return outcome


def set_tier(caller: Caller, request: TierRequest) -> TierChange:
    """Give a memory another tier."""
    _check_tier(caller, request.tier)
    return caller.engine.set_tier(
        caller.scope, request.memory_id, request.tier, automated=caller.is_program, reason=request.reason
    )


def forget(caller: Caller, request: ForgetRequest) -> ForgottenMemory:
    """Hide a memory from every search."""
    return caller.engine.saver.forget(
        caller.scope, request.memory_id, automated=caller.is_program, reason=request.reason
    )


def restore(caller: Caller, request: RestoreRequest) -> SaveOutcome:
    """Bring a memory back."""
    return caller.engine.saver.restore(caller.scope, request.memory_id, automated=caller.is_program)


def link(caller: Caller, request: LinkRequest) -> Edge:
    """Link two memories."""
    return caller.engine.link(
        caller.scope,
        request.source_id,
        request.kind,
        request.target_id,
        strength=request.strength,
        evidence=request.evidence,
    )


def explain(caller: Caller, request: WhyRequest) -> Why:
    """Walk to what stands behind a memory."""
    return caller.engine.why(caller.scope, request.memory_id)


def _check_tier(caller: Caller, tier: Tier | None) -> None:
    if tier is Tier.CONSTITUTIONAL:
        caller.require(
            Access.ADMIN,
            person=True,
            what="a constitutional memory comes with every answer, and needs a person with admin access",
            remedy="Choose another tier, use the command line (`assay save`, `assay tier`), or use a token made with "
            "`assay token create --scope admin --person`.",
        )


SAVE = Verb(
    name="memory.save",
    summary="Save a memory: the answer says whether it was stored, merged, took another's place or was turned away.",
    act=acts.MEMORY_SAVE,
    request=SaveRequest,
    result=SaveOutcome,
    call=save,
    http=HttpRoute("POST", "/api/memory", (507,)),
    tool=McpTool(
        name="memory_save",
        title="Save a memory",
        description="Keep one decision, fact or lesson. It is masked, scored and compared with what is there; the "
        "answer says whether it was stored, merged, took another's place or was turned away, and why.",
        without=frozenset({"automated"}),
    ),
    command="save",
    client="save",
    python="Memory.save",
)
UPDATE = Verb(
    name="memory.update",
    summary="Save a new version of a memory that takes its place; fields that are not given stay.",
    act=acts.MEMORY_CHANGE,
    request=UpdateRequest,
    result=SaveOutcome,
    call=update,
    http=HttpRoute("POST", "/api/memory/{memory_id}/update", (404, 409, 507)),
    tool=McpTool(
        name="memory_update",
        title="Update a memory",
        description="Change a memory that you saved: a new version takes its place and keeps what you do not give. "
        "The old version can be restored by a person.",
        without=frozenset({"automated"}),
    ),
    command="update",
    client="update",
    python="Memory.update",
)
TIER = Verb(
    name="memory.tier",
    summary="Change the tier of a memory in place: critical ranks a little higher, deprecated is served last.",
    act=acts.MEMORY_RETIER,
    request=TierRequest,
    result=TierChange,
    call=set_tier,
    http=HttpRoute("POST", "/api/memory/{memory_id}/tier", (404, 409)),
    tool=McpTool(
        name="memory_tier",
        title="Change the tier of a memory",
        description="Change how much a memory that you saved matters: critical and important rank a little higher, "
        "deprecated is served last and marked as such.",
    ),
    command="tier",
    client="tier",
    python="Memory.tier",
)
FORGET = Verb(
    name="memory.forget",
    summary="Hide a memory from every search until it is restored or erased.",
    act=acts.MEMORY_FORGET,
    request=ForgetRequest,
    result=ForgottenMemory,
    call=forget,
    http=HttpRoute("POST", "/api/memory/{memory_id}/forget", (404, 409)),
    tool=McpTool(
        name="memory_forget",
        title="Forget a memory",
        description="Hide a memory that you saved from every search, when the user asks to forget it. memory_restore "
        "brings it back, until a person erases it for good with `assay forget`.",
    ),
    command="forget --reversible",
    client="forget",
    python="Memory.forget",
)
RESTORE = Verb(
    name="memory.restore",
    summary="Bring back a forgotten memory; a person also a quarantined, superseded or merged one.",
    act=acts.MEMORY_BRING_BACK,
    request=RestoreRequest,
    result=SaveOutcome,
    call=restore,
    http=HttpRoute("POST", "/api/memory/{memory_id}/restore", (404,)),
    tool=McpTool(
        name="memory_restore",
        title="Restore a forgotten memory",
        description="Bring back a memory that you forgot with memory_forget.",
    ),
    command="restore",
    client="restore",
    python="Memory.restore",
)
LINK = Verb(
    name="memory.link",
    summary="Link two memories: the first caused, enabled, supports or contradicts the second.",
    act=acts.MEMORY_LINK,
    request=LinkRequest,
    result=Edge,
    call=link,
    http=HttpRoute("POST", "/api/memory/links", (404,)),
    tool=McpTool(
        name="memory_causal_link",
        title="Link two memories",
        description="Say how one memory bears on another: it caused, enabled, supports, contradicts it, ...",
    ),
    command="link",
    client="link",
    python="Memory.link",
)
WHY = Verb(
    name="memory.why",
    summary="Show what caused, enabled or supports a memory, and the reasons behind those.",
    act=acts.MEMORY_READ,
    request=WhyRequest,
    result=Why,
    call=explain,
    http=HttpRoute("GET", "/api/memory/{memory_id}/why", (404,)),
    tool=McpTool(
        name="memory_causal_why",
        title="Why is it so?",
        description="What caused, enabled or supports a memory, and what stands behind that in turn.",
    ),
    command="why",
    client="why",
    python="Memory.why",
)

FAMILY = Family(name="memory", verbs=(SAVE, UPDATE, TIER, FORGET, RESTORE, LINK, WHY))
