"""Memories after they were saved: update, forget reversibly, restore.

A program changes what its own principal wrote; a person (a token made with `--person`) changes any memory of the
tenant. Erasing one for good is `DELETE /api/memory/{memory_id}`, in `memory`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.records import Format, Tier
from assay.server.fields import LONGEST_TEXT, IdInPath
from assay.server.routers.memory import Labels, SaveDone, check_tier, saved
from assay.server.routing import Asked, Asking, Body, Resource, Result

RESOURCE = Resource("/api/memory", "memory")


class UpdateBody(Body):
    """What to change; a field that is left out stays as it was."""

    title: Annotated[str | None, Field(min_length=1, max_length=1_000)] = None
    body: Annotated[str | None, Field(min_length=1, max_length=LONGEST_TEXT)] = None
    tier: Annotated[Tier | None, Field(description="Constitutional needs admin access and a person.")] = None
    format: Format | None = None
    triggers: Annotated[Labels | None, Field(description="Instead of all old ones; an empty list removes them.")] = None
    tags: Annotated[Labels | None, Field(description="Instead of all old ones; an empty list removes them.")] = None
    folder: Annotated[str | None, Field(max_length=500)] = None
    context_type: Annotated[str | None, Field(max_length=500)] = None
    metadata: Annotated[dict[str, Any] | None, Field(description="Instead of all old metadata.")] = None


@RESOURCE.post("/{memory_id}/update", acts.MEMORY_CHANGE, 404, 409, 507)
def update_memory(asked: Asked, memory_id: IdInPath, body: UpdateBody) -> SaveDone:
    """Save a new version of a memory that takes its place; fields that are not given stay."""
    changes = {name: getattr(body, name) for name in UpdateBody.model_fields}
    changes = {name: value for name, value in changes.items() if value is not None}
    check_tier(asked, body.tier)
    outcome = asked.engine.saver.update(
        asked.scope, memory_id, changes, automated=is_program(asked), tool="http update"
    )
    asked.engine.keep_up(asked.scope)
    return saved(outcome)


class ForgetBody(Body):
    """Why, if anybody should know later."""

    reason: Annotated[str, Field(max_length=500, description="For the audit log.")] = ""


class HiddenMemory(Result):
    """What was forgotten."""

    memory_id: str
    title: str
    forgotten_at: datetime
    forgotten_by: str
    unchanged: bool = Field(description="It was forgotten already; nothing was written.")


@RESOURCE.post("/{memory_id}/forget", acts.MEMORY_FORGET, 404, 409)
def hide_memory(asked: Asked, memory_id: IdInPath, body: ForgetBody) -> HiddenMemory:
    """Hide a memory from every search until it is restored; DELETE erases it for good."""
    done = asked.engine.saver.forget(asked.scope, memory_id, automated=is_program(asked), reason=body.reason)
    return HiddenMemory(**{name: getattr(done, name) for name in HiddenMemory.model_fields})


class RestoreBody(Body):
    """Nothing to say."""


@RESOURCE.post("/{memory_id}/restore", acts.MEMORY_BRING_BACK, 404)
def restore_memory(asked: Asked, memory_id: IdInPath, body: RestoreBody) -> SaveDone:  # noqa: ARG001 - a write has a body
    """Bring back a forgotten memory; a person also a quarantined, superseded or merged one."""
    return saved(asked.engine.saver.restore(asked.scope, memory_id, automated=is_program(asked)))


def is_program(asked: Asking) -> bool:
    """Whether the caller counts as a program: whoever does not show a token made for a person."""
    return not asked.grant.person
