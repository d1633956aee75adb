"""What was of use: verdicts on memories, and events that tell what was read or written."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import Tier
from assay.records import learning as validating
from assay.records.learning import Observation
from assay.server.fields import EventKey, Id, IdInPath, SessionId, YesNo
from assay.server.routing import Asked, Body, Resource, Result

RESOURCE = Resource("/api/memory", "learning")
LONGEST_WRITTEN = 200_000
MOST_EVENTS = 500


class ValidateBody(Body):
    """Whether a memory helped."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"was_useful": True, "event_key": "task-7-m1"}]})

    was_useful: YesNo
    query_id: Id | None = None
    session_id: SessionId = None
    note: Annotated[str, Field(max_length=1_000)] = ""
    event_key: EventKey = None


class Validated(Result):
    """What the verdict did."""

    memory_id: str
    was_useful: bool
    repeated: bool = Field(description="It had been recorded before; nothing was counted again.")
    counted: int
    reason: str = Field(description="Why nothing was counted; empty when something was.")
    confidence_before: float
    confidence: float
    validation_count: int
    tier_before: Tier
    tier: Tier
    query_id: str | None
    event_key: str


@RESOURCE.post("/{memory_id}/validate", acts.MEMORY_VALIDATE, 404, 409)
def validate_memory(asked: Asked, memory_id: IdInPath, body: ValidateBody) -> Validated:
    """Tell whether a memory was useful. It moves how much the memory is trusted and where it ranks."""
    done = asked.engine.validate(
        asked.scope,
        memory_id,
        body.was_useful,
        session_id=body.session_id,
        query_id=body.query_id,
        event_key=body.event_key,
        note=body.note,
    )
    return verdict(done)


def verdict(done: validating.Validated) -> Validated:
    """What a verdict did, as the API gives it."""
    return Validated(**{name: getattr(done, name) for name in Validated.model_fields})


class Event(Body):
    """What was done in a session: exactly one of memory_id, path and wrote."""

    session_id: Annotated[str, Field(min_length=1, max_length=500)]
    memory_id: Annotated[Id | None, Field(description="A memory that was read.")] = None
    path: Annotated[str | None, Field(min_length=1, max_length=4_000, description="A memory's file that was read.")] = (
        None
    )
    wrote: Annotated[
        str | None, Field(min_length=1, max_length=LONGEST_WRITTEN, description="Text that was written.")
    ] = None
    event_key: EventKey = None


class EventsBody(Body):
    """Events in the order they happened."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"events": [{"session_id": "s1", "memory_id": "m_01", "event_key": "e1"}]}]}
    )

    events: Annotated[tuple[Event, ...], Field(min_length=1, max_length=MOST_EVENTS)]


class Recorded(Result):
    """What followed from one event."""

    kind: str
    memory_id: str | None
    query_id: str | None


class EventsDone(Result):
    """What the events came to."""

    recorded: list[list[Recorded]] = Field(description="For each event what followed from it; empty: nothing did.")
    new: int
    repeated: int = Field(description="Counted before under the same event key.")


@RESOURCE.post("/events", acts.MEMORY_VALIDATE, 404)
def record_events(asked: Asked, body: EventsBody) -> EventsDone:
    """Tell what was read or written: what was of use is learnt without anybody being asked.

    Each event is kept on its own. Sent again under the same event key, it counts once.
    """
    # Wrong ones are found before any is kept.
    wanted = [Observation(**{name: getattr(one, name) for name in Event.model_fields}) for one in body.events]
    seen = [asked.engine.observe(asked.scope, one) for one in wanted]
    recorded = [
        [Recorded(kind=one.event_type.value, memory_id=one.memory_id, query_id=one.query_id) for one in of.events]
        for of in seen
    ]
    return EventsDone(recorded=recorded, new=sum(one.new for one in seen), repeated=sum(one.repeated for one in seen))
