"""Tools that keep and join: `memory_save`, `memory_causal_link`, `memory_causal_why`.

What an agent saves counts as written by a program: it never replaces what a person wrote. It cannot make a memory
constitutional either, since those come with every answer to every agent.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from assay.access import acts
from assay.mcp.framing import NOTICE, About
from assay.mcp.tool import Arguments, Calling, MemoryId, Result, Tool
from assay.memory.graph import Reason
from assay.records import EdgeKind, Format, SaveDecision, SaveOutcome, Tier, make_draft

LONGEST_BODY = 1_000_000
MOST_LABELS = 50

Label = Annotated[str, Field(min_length=1, max_length=500)]
TAKEN_OVER = "If left out, an update keeps what the memory it supersedes has."
TIERS = tuple(one for one in Tier if one is not Tier.CONSTITUTIONAL)


def check_agent_tier(tier: Tier) -> Tier:
    """Refuse the tier that only a person may give."""
    if tier not in TIERS:
        raise ValueError("a constitutional memory is for a person to make")
    return tier


AgentTier = Annotated[
    Tier, AfterValidator(check_agent_tier), Field(json_schema_extra={"enum": [one.value for one in TIERS]})
]


class SaveArguments(Arguments):
    """What to keep."""

    title: Annotated[str, Field(min_length=1, max_length=1_000, description="What it is called, up to 1,000 letters.")]
    body: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_BODY,
            description=f"The text in Markdown, up to {LONGEST_BODY:,} characters: one decision, fact or lesson.",
        ),
    ]
    tier: Annotated[
        AgentTier | None,
        Field(description=f"How much it matters: {', '.join(TIERS)}. {TAKEN_OVER}"),
    ] = None
    triggers: Annotated[
        tuple[Label, ...] | None,
        Field(
            max_length=MOST_LABELS, description=f"Phrases that should bring it up, up to {MOST_LABELS}. {TAKEN_OVER}"
        ),
    ] = None
    tags: Annotated[
        tuple[Label, ...] | None,
        Field(max_length=MOST_LABELS, description=f"Up to {MOST_LABELS} tags. {TAKEN_OVER}"),
    ] = None
    folder: Annotated[
        str | None, Field(max_length=500, description=f"Where it belongs, such as decisions/auth. {TAKEN_OVER}")
    ] = None
    source_id: Annotated[
        str | None,
        Field(min_length=1, max_length=500, description="The same source id again means a new version of the same."),
    ] = None


class NearMemory(Result):
    """A memory like the new one."""

    memory_id: str
    title: str
    similarity: float
    agrees: bool


class InheritedField(Result):
    """Something that an update took over from the memory it supersedes."""

    field: str
    value: str


class Saved(Result):
    """What became of it."""

    about: About
    decision: SaveDecision
    memory_id: str | None
    """What now holds the content; null when it was turned away for its quality."""
    unchanged: bool
    version: int
    reason: str
    """Why it was turned away; empty when it was kept."""
    warning: str
    """What the quality gate will say once it no longer only warns, or why the memory is in quarantine; else empty."""
    held_off: str
    """What it would have superseded, why reconsolidation is held off, and what a person can do; else empty."""
    superseded: list[str]
    inherited: list[InheritedField]
    """What was left out and therefore taken over from what is superseded."""
    contradicts: list[str]
    masked: list[str]
    """Secrets that were masked, by kind and place."""
    quality: float | None
    nearest: list[NearMemory]


def _save(calling: Calling, given: SaveArguments) -> Saved:
    draft = make_draft(
        title=given.title,
        body=given.body,
        tier=given.tier,
        triggers=given.triggers,
        tags=given.tags,
        folder=given.folder,
        format=Format.MARKDOWN,
        source_id=given.source_id,
        written_with="mcp memory_save",
        automated=True,
    )
    outcome = calling.engine.saver.save(calling.scope, draft)
    calling.engine.keep_up(calling.scope)
    return describe_save(outcome)


def describe_save(outcome: SaveOutcome) -> Saved:
    """What became of a save, as a tool tells it."""
    rejected = outcome.decision is SaveDecision.REJECT
    said = [step.detail for step in outcome.steps if step.decision == "reject"]
    duplicate = f"a duplicate of {outcome.memory_id}" if outcome.memory_id else "the quality is too low"
    return Saved(
        about=NOTICE,
        decision=outcome.decision,
        memory_id=outcome.memory_id,
        unchanged=outcome.unchanged,
        version=outcome.version,
        reason=("; ".join(filter(None, said)) or duplicate) if rejected else "",
        warning=_warning(outcome),
        held_off=outcome.held_off,
        superseded=list(outcome.superseded),
        inherited=[InheritedField(field=one.field, value=one.value) for one in outcome.inherited],
        contradicts=list(outcome.contradicts),
        masked=[f"{mask.kind} in {mask.where}" for mask in outcome.masks],
        quality=None if outcome.quality is None else outcome.quality.score,
        nearest=[
            NearMemory(memory_id=one.memory_id, title=one.title, similarity=one.similarity, agrees=one.agrees)
            for one in outcome.nearest
        ],
    )


def _warning(outcome: SaveOutcome) -> str:
    if not outcome.quarantined:
        return outcome.would_reject or ""
    said = "; ".join(step.detail for step in outcome.steps if step.decision == "quarantine")
    return f"quarantined, no search finds it until a person releases it: {said}"


class LinkArguments(Arguments):
    """How one memory bears on another."""

    source_id: MemoryId
    relation: Annotated[EdgeKind, Field(description="How the source bears on the target: the source RELATION it.")]
    target_id: MemoryId
    strength: Annotated[float, Field(ge=0.0, le=1.0, description="How strongly, 0 to 1.")] = 1.0
    evidence: Annotated[str, Field(max_length=4_000, description="Why this is so, up to 4,000 characters.")] = ""


class Linked(Result):
    """The edge as it now stands."""

    source_id: str
    relation: EdgeKind
    target_id: str
    strength: float
    evidence: str


def _link(calling: Calling, given: LinkArguments) -> Linked:
    edge = calling.engine.link(
        calling.scope,
        given.source_id,
        given.relation,
        given.target_id,
        strength=given.strength,
        evidence=given.evidence,
    )
    return Linked(
        source_id=edge.source_id,
        relation=edge.kind,
        target_id=edge.target_id,
        strength=edge.strength,
        evidence=edge.evidence,
    )


class WhyArguments(Arguments):
    """Which memory to explain."""

    memory_id: MemoryId


class Behind(Result):
    """One memory in the chain, and what stands behind it in turn."""

    memory_id: str
    title: str
    relation: EdgeKind | None
    """How it bears on the one before; null for the memory that was asked about."""
    strength: float
    evidence: str
    behind: list[Behind]


class Reasons(Result):
    """What stands behind a memory."""

    about: About
    chain: Behind
    contradicted_by: list[str]
    cut: bool
    """Whether the chain goes on beyond what is shown."""


def _why(calling: Calling, given: WhyArguments) -> Reasons:
    found = calling.engine.why(calling.scope, given.memory_id)
    return Reasons(about=NOTICE, chain=_behind(found.chain), contradicted_by=list(found.contradicted_by), cut=found.cut)


def _behind(reason: Reason) -> Behind:
    return Behind(
        memory_id=reason.memory_id,
        title=reason.title,
        relation=reason.kind,
        strength=reason.strength,
        evidence=reason.evidence,
        behind=[_behind(one) for one in reason.behind],
    )


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="memory_save",
        title="Save a memory",
        description="Keep one decision, fact or lesson. It is masked, scored and compared with what is there; the "
        "answer says whether it was stored, merged, took another's place or was turned away, and why.",
        act=acts.MEMORY_SAVE,
        arguments=SaveArguments,
        result=Saved,
        call=_save,
    ),
    Tool(
        name="memory_causal_link",
        title="Link two memories",
        description="Say how one memory bears on another: it caused, enabled, supports, contradicts it, ...",
        act=acts.MEMORY_LINK,
        arguments=LinkArguments,
        result=Linked,
        call=_link,
    ),
    Tool(
        name="memory_causal_why",
        title="Why is it so?",
        description="What caused, enabled or supports a memory, and what stands behind that in turn.",
        act=acts.MEMORY_READ,
        arguments=WhyArguments,
        result=Reasons,
        call=_why,
    ),
)
