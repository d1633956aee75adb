"""Tools that tell the memory what was of use: `memory_validate` and `memory_observe`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.mcp.tool import Arguments, Calling, MemoryId, Result, SessionId, Tool
from assay.records import Tier
from assay.records.learning import Observation

LONGEST_TEXT = 200_000

EventKey = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=100,
        description="A name of your own for this event, of letters, digits, _ and -: sent again, it counts once.",
    ),
]


class ValidateArguments(Arguments):
    """Whether a memory helped."""

    memory_id: MemoryId
    was_useful: Annotated[bool, Field(description="true: it helped; false: it did not, or it was wrong.")]
    query_id: Annotated[
        str | None,
        Field(min_length=1, max_length=500, description="The search that gave it, as memory_search named it."),
    ] = None
    session_id: SessionId = None
    note: Annotated[str, Field(max_length=1_000, description="Why, up to 1,000 characters.")] = ""
    event_key: EventKey = None


class ValidatedMemory(Result):
    """What the verdict did."""

    memory_id: str
    was_useful: bool
    repeated: bool
    """It had been recorded before; nothing was counted again."""
    counted: int
    reason: str
    """Why nothing was counted; empty when something was."""
    confidence_before: float
    confidence: float
    validations: int
    tier_before: Tier
    tier: Tier
    query_id: str | None
    event_key: str


def _validate(calling: Calling, given: ValidateArguments) -> ValidatedMemory:
    done = calling.engine.validate(
        calling.scope,
        given.memory_id,
        given.was_useful,
        session_id=given.session_id,
        query_id=given.query_id,
        event_key=given.event_key,
        note=given.note,
    )
    return ValidatedMemory(
        memory_id=done.memory_id,
        was_useful=done.was_useful,
        repeated=done.repeated,
        counted=done.counted,
        reason=done.reason,
        confidence_before=done.confidence_before,
        confidence=done.confidence,
        validations=done.validation_count,
        tier_before=done.tier_before,
        tier=done.tier,
        query_id=done.query_id,
        event_key=done.event_key,
    )


class ObserveArguments(Arguments):
    """What was done in a session: exactly one of memory_id, path and wrote."""

    session_id: Annotated[
        str, Field(min_length=1, max_length=500, description="The session's name, as given to the searches before.")
    ]
    memory_id: Annotated[str | None, Field(min_length=1, max_length=500, description="A memory that was read.")] = None
    path: Annotated[
        str | None, Field(min_length=1, max_length=4_000, description="The path of a memory's file that was read.")
    ] = None
    wrote: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=LONGEST_TEXT,
            description=f"Text that was written, up to {LONGEST_TEXT:,} characters; its use from memories counts.",
        ),
    ] = None
    event_key: EventKey = None


class ObservedEvent(Result):
    """One thing that followed from it."""

    kind: str
    memory_id: str | None
    query_id: str | None


class ObservedEvents(Result):
    """What an observation came to; no events: it had nothing to do with what the session was given."""

    events: list[ObservedEvent]
    new: int
    repeated: int


def _observe(calling: Calling, given: ObserveArguments) -> ObservedEvents:
    observation = Observation(
        session_id=given.session_id,
        memory_id=given.memory_id,
        path=given.path,
        wrote=given.wrote,
        event_key=given.event_key,
    )
    seen = calling.engine.observe(calling.scope, observation)
    events = [
        ObservedEvent(kind=one.event_type.value, memory_id=one.memory_id, query_id=one.query_id) for one in seen.events
    ]
    return ObservedEvents(events=events, new=seen.new, repeated=seen.repeated)


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="memory_validate",
        title="Say whether a memory helped",
        description="Tell whether a memory was useful. It moves how much the memory is trusted and where it ranks.",
        act=acts.MEMORY_VALIDATE,
        arguments=ValidateArguments,
        result=ValidatedMemory,
        call=_validate,
    ),
    Tool(
        name="memory_observe",
        title="Tell what was read or written",
        description="Tell that a memory or its file was read, or a text written. For hooks: what was of use is learnt "
        "without anybody being asked.",
        act=acts.MEMORY_VALIDATE,
        arguments=ObserveArguments,
        result=ObservedEvents,
        call=_observe,
    ),
)
