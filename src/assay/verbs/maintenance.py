"""Verbs that look after the whole store: checkpoints, retention, and secrets that an older version stored in clear.

A checkpoint is a copy of the rows of every tenant: everything about checkpoints needs an operator, and no route offers
it. Retention and rescans name files of the machine that the store is on: the command line and Python have them.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from assay.access import acts
from assay.records.maintenance import (
    BroughtBack,
    CheckpointLine,
    CheckpointPage,
    RescanReport,
    RestoredCheckpoint,
    RetentionReport,
)
from assay.verbs.fields import YesNo
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor, row_id
from assay.verbs.verb import Caller, Family, McpTool, Request, Verb

if TYPE_CHECKING:
    from assay.storage import Checkpoint

CHECKPOINTS = "checkpoints"
BY_HAND = "by hand"
BY_AN_AGENT = "by an agent"

Wanted = Annotated[
    str, Field(min_length=1, max_length=500, description="The checkpoint's id, or its name if it is the only one.")
]


class CreateCheckpointRequest(Request):
    """What to call it."""

    name: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description=f"A name to find it by, up to 200 characters. Left out: `{BY_HAND}` or `{BY_AN_AGENT}`.",
        ),
    ] = None


class ListCheckpointsRequest(Request):
    """Which page of checkpoints."""

    cursor: PageCursor = None
    limit: PageLimit = 100


class ChooseCheckpointRequest(Request):
    """Which checkpoint."""

    checkpoint: Wanted


class RunRetentionRequest(Request):
    """Whether to do it, or only to say what would be done."""

    dry_run: Annotated[YesNo, Field(description="Say what would go, and touch nothing.")] = False


class RestoreArchiveRequest(Request):
    """Which archive."""

    path: Annotated[str, Field(min_length=1, max_length=4_000, description="An archive, as retention.run named it.")]


class RescanRequest(Request):
    """Whether to mask what is found, or only to look."""

    apply: Annotated[YesNo, Field(description="Mask the secrets in place, and erase the old bytes.")] = False


def create_checkpoint(caller: Caller, request: CreateCheckpointRequest) -> CheckpointLine:
    """Copy the store as it is now."""
    name = request.name or (BY_AN_AGENT if caller.is_program else BY_HAND)
    return _line(caller.engine.store.checkpoints.create(name))


def list_checkpoints(caller: Caller, request: ListCheckpointsRequest) -> CheckpointPage:
    """Read the descriptions of the copies; without an opened store, from its folder of checkpoints alone."""
    from assay import wiring  # noqa: PLC0415 - needs the store

    after = read_cursor(CHECKPOINTS, request.cursor, row_id, "")
    opened = caller.opened
    found = wiring.list_checkpoints(caller.settings) if opened is None else opened.store.checkpoints.list()
    # Ids grow with time.
    behind = [checkpoint for checkpoint in reversed(found) if not after or checkpoint.id < after]
    shown, following = cut_page(CHECKPOINTS, behind, request.limit, lambda checkpoint: checkpoint.id)
    return CheckpointPage(checkpoints=tuple(map(_line, shown)), total=len(found), next_cursor=following)


def restore_checkpoint(caller: Caller, request: ChooseCheckpointRequest) -> RestoredCheckpoint:
    """Bring the store back to a copy; a store that is not opened may be damaged or gone."""
    from assay import wiring  # noqa: PLC0415 - needs the store

    if caller.opened is None:
        done = wiring.restore_checkpoint(caller.settings, request.checkpoint)
    else:
        done = caller.opened.store.checkpoints.restore(request.checkpoint, caller.scope)
    return RestoredCheckpoint(restored=_line(done.checkpoint), kept_aside=done.kept_aside, note=done.note)


def delete_checkpoint(caller: Caller, request: ChooseCheckpointRequest) -> CheckpointLine:
    """Delete one copy for good."""
    return _line(caller.engine.store.checkpoints.delete(request.checkpoint))


def _line(checkpoint: Checkpoint) -> CheckpointLine:
    """Return a copy as surfaces show it: without the place of the store and the ends of other tenants' logs."""
    return CheckpointLine(**{field.name: getattr(checkpoint, field.name) for field in fields(CheckpointLine)})


def run_retention(caller: Caller, request: RunRetentionRequest) -> RetentionReport:
    """Archive and remove what is older than the settings allow."""
    from assay import wiring  # noqa: PLC0415 - needs the store

    engine = caller.engine
    return wiring.run_retention(caller.settings, engine.store, caller.scope, engine.clock, dry_run=request.dry_run)


def restore_archive(caller: Caller, request: RestoreArchiveRequest) -> BroughtBack:
    """Bring the rows of an archive back: all of them, or none when anything is wrong with it."""
    from assay.memory.retention import bring_back  # noqa: PLC0415 - needs the store

    return bring_back(caller.engine.store, caller.scope, Path(request.path))


def rescan(caller: Caller, request: RescanRequest) -> RescanReport:
    """Look for secrets in everything that is stored, and mask them where that is asked for."""
    rescanning = caller.engine.rescanning
    found = rescanning.find(caller.scope)
    return rescanning.mask(caller.scope) if request.apply and not found.clean else found


CREATE_CHECKPOINT = Verb(
    name="checkpoint.create",
    summary="Copy the whole store as it is now; others may go on writing.",
    act=acts.CHECKPOINT_CREATE,
    request=CreateCheckpointRequest,
    result=CheckpointLine,
    call=create_checkpoint,
    tool=McpTool(
        name="checkpoint_create",
        title="Make a checkpoint",
        description="Copy the whole store as it is now; everything goes on meanwhile. Do it before a large change.",
    ),
    command="checkpoint create",
    python="Memory.create_checkpoint",
)
LIST_CHECKPOINTS = Verb(
    name="checkpoint.list",
    summary="List the copies of the whole store, newest first, page by page; also of a store that cannot be opened.",
    act=acts.CHECKPOINT_READ,
    request=ListCheckpointsRequest,
    result=CheckpointPage,
    call=list_checkpoints,
    tool=McpTool(
        name="checkpoint_list",
        title="List checkpoints",
        description="The copies of the store there are, newest first.",
    ),
    command="checkpoint list",
    python="Memory.checkpoints",
)
RESTORE_CHECKPOINT = Verb(
    name="checkpoint.restore",
    summary="Bring the whole store back to a checkpoint; what is there now is kept aside, and tokens stay.",
    act=acts.CHECKPOINT_RESTORE,
    request=ChooseCheckpointRequest,
    result=RestoredCheckpoint,
    call=restore_checkpoint,
    tool=McpTool(
        name="checkpoint_restore",
        title="Restore a checkpoint",
        description="Bring the whole store back to a checkpoint; what is there now is kept aside. Ask the user first.",
    ),
    command="checkpoint restore",
    python="Memory.restore_checkpoint",
)
DELETE_CHECKPOINT = Verb(
    name="checkpoint.delete",
    summary="Delete one copy of the whole store for good.",
    act=acts.CHECKPOINT_DELETE,
    request=ChooseCheckpointRequest,
    result=CheckpointLine,
    call=delete_checkpoint,
    tool=McpTool(
        name="checkpoint_delete",
        title="Delete a checkpoint",
        description="Delete one copy of the store for good. Ask the user first.",
    ),
    command="checkpoint delete",
    python="Memory.delete_checkpoint",
)
RUN_RETENTION = Verb(
    name="retention.run",
    summary="Archive old searches and feedback, and delete old comparisons and log lines; evidence stays.",
    act=acts.RETENTION_RUN,
    request=RunRetentionRequest,
    result=RetentionReport,
    call=run_retention,
    command="retention run",
    python="Memory.run_retention",
)
RESTORE_ARCHIVE = Verb(
    name="retention.restore",
    summary="Bring the rows of an archive back: all of them, or none when anything is wrong with it.",
    act=acts.RETENTION_RESTORE,
    request=RestoreArchiveRequest,
    result=BroughtBack,
    call=restore_archive,
    command="retention restore",
    python="Memory.restore_archive",
)
RESCAN = Verb(
    name="store.rescan",
    summary="Look for secrets in everything that is stored, by the rules of this version, and mask them if asked.",
    act=acts.STORE_RESCAN,
    request=RescanRequest,
    result=RescanReport,
    call=rescan,
    command="rescan",
    python="Memory.rescan",
)

FAMILY = Family(
    name="maintenance",
    verbs=(
        CREATE_CHECKPOINT,
        LIST_CHECKPOINTS,
        RESTORE_CHECKPOINT,
        DELETE_CHECKPOINT,
        RUN_RETENTION,
        RESTORE_ARCHIVE,
        RESCAN,
    ),
)
