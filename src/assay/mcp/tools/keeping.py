"""Tools that look after the store: `checkpoint_create|list|restore|delete`.

A checkpoint is a copy of the whole store, of every tenant: everything about checkpoints needs an operator.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.mcp.tool import Arguments, Calling, Result, Tool
from assay.storage import Checkpoint

MOST_LISTED = 100


class NoArguments(Arguments):
    """Nothing to say."""


class CreateArguments(Arguments):
    """What to call it."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, description="A name to find it by, up to 200 characters.")
    ] = "by an agent"


class WantedArguments(Arguments):
    """Which checkpoint."""

    checkpoint: Annotated[
        str, Field(min_length=1, max_length=500, description="The checkpoint's id, or its name if it is the only one.")
    ]


class CheckpointFound(Result):
    """One copy of the store."""

    id: str
    name: str
    created_at: datetime
    memories: int
    size_bytes: int


class Checkpoints(Result):
    """The copies there are, oldest first; only the newest 100."""

    checkpoints: list[CheckpointFound]
    total: int


class RestoredTo(Result):
    """What a restore did."""

    restored: CheckpointFound
    kept_aside: str
    """Where the state from before is."""


def _create(calling: Calling, given: CreateArguments) -> CheckpointFound:
    return _checkpoint(calling.engine.store.checkpoints.create(given.name))


def _list(calling: Calling, given: NoArguments) -> Checkpoints:  # noqa: ARG001 - one shape for all tools
    found = calling.engine.store.checkpoints.list()
    return Checkpoints(checkpoints=[_checkpoint(one) for one in found[-MOST_LISTED:]], total=len(found))


def _restore(calling: Calling, given: WantedArguments) -> RestoredTo:
    done = calling.engine.store.checkpoints.restore(given.checkpoint, calling.scope)
    return RestoredTo(restored=_checkpoint(done.checkpoint), kept_aside=done.kept_aside)


def _delete(calling: Calling, given: WantedArguments) -> CheckpointFound:
    return _checkpoint(calling.engine.store.checkpoints.delete(given.checkpoint))


def _checkpoint(one: Checkpoint) -> CheckpointFound:
    return CheckpointFound(
        id=one.id, name=one.name, created_at=one.created_at, memories=one.memories, size_bytes=one.size_bytes
    )


TOOLS: tuple[Tool[Any, Any], ...] = (
    Tool(
        name="checkpoint_create",
        title="Make a checkpoint",
        description="Copy the whole store as it is now; everything goes on meanwhile. Do it before a large change.",
        act=acts.CHECKPOINT_CREATE,
        arguments=CreateArguments,
        result=CheckpointFound,
        call=_create,
    ),
    Tool(
        name="checkpoint_list",
        title="List checkpoints",
        description="The copies of the store there are, the newest last.",
        act=acts.CHECKPOINT_READ,
        arguments=NoArguments,
        result=Checkpoints,
        call=_list,
    ),
    Tool(
        name="checkpoint_restore",
        title="Restore a checkpoint",
        description="Bring the whole store back to a checkpoint; what is there now is kept aside. Ask the user first.",
        act=acts.CHECKPOINT_RESTORE,
        arguments=WantedArguments,
        result=RestoredTo,
        call=_restore,
    ),
    Tool(
        name="checkpoint_delete",
        title="Delete a checkpoint",
        description="Delete one copy of the store for good. Ask the user first.",
        act=acts.CHECKPOINT_DELETE,
        arguments=WantedArguments,
        result=CheckpointFound,
        call=_delete,
    ),
)
