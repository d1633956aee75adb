"""Verbs that tell the memory what was of use: validate one memory, record what was read or written."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.learning import Observation, RecordedEvents, Validated
from assay.verbs.fields import LONGEST_TEXT, EventKey, Id, MemoryId, SessionId, YesNo
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Verb

MOST_EVENTS = 500


class ValidateRequest(Request):
    """Whether a memory helped."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"was_useful": True, "event_key": "task-7-m1"}]})

    memory_id: MemoryId
    was_useful: Annotated[YesNo, Field(description="true: it helped; false: it did not, or it was wrong.")]
    query_id: Annotated[Id | None, Field(description="The search that gave it, as the search named itself.")] = None
    session_id: SessionId = None
    note: Annotated[
        str, Field(max_length=1_000, description="Why, up to 1,000 characters; the audit log shows it.")
    ] = ""
    event_key: EventKey = None


class SessionEvent(Request):
    """What was done in a session: exactly one of memory_id, path and wrote."""

    session_id: Annotated[
        str, Field(min_length=1, max_length=500, description="The session's name, as given to the searches before.")
    ]
    memory_id: Annotated[Id | None, Field(description="A memory that was read.")] = None
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


class RecordRequest(Request):
    """Events in the order they happened."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"events": [{"session_id": "s1", "memory_id": "m_01", "event_key": "e1"}]}]}
    )

    events: Annotated[
        tuple[SessionEvent, ...],
        Field(min_length=1, max_length=MOST_EVENTS, description=f"What was read or written, 1 to {MOST_EVENTS}."),
    ]


def validate(caller: Caller, request: ValidateRequest) -> Validated:
    """Count a verdict on a memory."""
    return caller.engine.validate(
        caller.scope,
        request.memory_id,
        request.was_useful,
        session_id=request.session_id,
        query_id=request.query_id,
        event_key=request.event_key,
        note=request.note,
    )


def record(caller: Caller, request: RecordRequest) -> RecordedEvents:
    """Record events, each on its own; sent again under the same event key, an event counts once."""
    # Wrong events are found before any is kept.
    observations = [
        Observation(**{name: getattr(event, name) for name in SessionEvent.model_fields}) for event in request.events
    ]
    recorded = tuple(caller.engine.observe(caller.scope, observation) for observation in observations)
    return RecordedEvents(
        recorded=recorded,
        new=sum(observed.new for observed in recorded),
        repeated=sum(observed.repeated for observed in recorded),
    )


VALIDATE = Verb(
    name="memory.validate",
    summary="Say whether a memory was useful: it moves how much the memory is trusted and where it ranks.",
    act=acts.MEMORY_VALIDATE,
    request=ValidateRequest,
    result=Validated,
    call=validate,
    http=HttpRoute("POST", "/api/memory/{memory_id}/validate", (404, 409)),
    tool=McpTool(
        name="memory_validate",
        title="Say whether a memory helped",
        description="Tell whether a memory was useful. It moves how much the memory is trusted and where it ranks.",
    ),
    command="validate",
    client="validate",
    python="Memory.validate",
)
RECORD = Verb(
    name="memory.record",
    summary="Record what was read or written: what was of use is learnt without anybody being asked.",
    act=acts.MEMORY_VALIDATE,
    request=RecordRequest,
    result=RecordedEvents,
    call=record,
    http=HttpRoute("POST", "/api/memory/events", (404,)),
    tool=McpTool(
        name="memory_observe",
        title="Tell what was read or written",
        description="Tell that memories or their files were read, or texts written. For hooks: what was of use is "
        "learnt without anybody being asked.",
    ),
    command="observe",
    client="record",
    python="Memory.record",
)

FAMILY = Family(name="usage", verbs=(VALIDATE, RECORD))
