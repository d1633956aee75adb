"""Audit memory stores of other tools, repair a copy, import the good memories: verbs on files of this machine.

The audit log of Assay's own store is another thing: `auditing`. No server and no agent may have a file opened by
naming its path, so these verbs have no route and no tool.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.clock import SystemClock
from assay.records.store_audits import ImportedStore, RepairedStore, StoreAudit, StoreKind
from assay.verbs.fields import Moment, YesNo
from assay.verbs.verb import Caller, Family, Request, Verb

StorePath = Annotated[Path, Field(description="The file or folder in which another tool keeps memories.")]
KindField = Annotated[StoreKind, Field(description="Which tool wrote it; auto finds out.")]
AsOfField = Annotated[Moment | None, Field(description="Days before this time have passed; now if left out.")]


class AuditStoreRequest(Request):
    """Which store to audit, and what to write about it."""

    path: StorePath
    kind: KindField = StoreKind.AUTO
    as_of: AsOfField = None
    plan: Annotated[Path | None, Field(description="Write the repair plan to this file, as JSON.")] = None
    report: Annotated[Path | None, Field(description="Write the report to this file: .md or .html.")] = None


class RepairStoreRequest(Request):
    """Which plan to apply, and where the copy goes."""

    plan: Annotated[Path, Field(description="The repair plan.")]
    to: Annotated[Path, Field(description="The copy that is made and repaired; must not exist yet.")]
    store: Annotated[Path | None, Field(description="Where the store is now, if it has moved since.")] = None


class ImportStoreRequest(Request):
    """Which store to import the good memories of."""

    path: StorePath
    kind: KindField = StoreKind.AUTO
    as_of: AsOfField = None
    dry_run: Annotated[YesNo, Field(description="Say what would be done, and write nothing.")] = False


def audit_store(caller: Caller, request: AuditStoreRequest) -> StoreAudit:
    """Audit a store; the plan and the report are written where the request names files for them."""
    # All of this needs the memory, which a client of another machine's server does without.
    from assay.store_audit.auditor import audit_items, read_store  # noqa: PLC0415
    from assay.store_audit.planning import make_plan, write_plan  # noqa: PLC0415
    from assay.store_audit.reporting import write_report  # noqa: PLC0415

    store = read_store(request.path, request.kind)
    audit = audit_items(store, request.path, as_of=_as_of(request.as_of), tell=caller.progress)
    if request.plan is not None:
        write_plan(make_plan(audit, store.items), request.plan)
    if request.report is not None:
        write_report(audit, request.report)
    return replace(audit, files=tuple(str(file) for file in (request.plan, request.report) if file is not None))


def repair_store(_: Caller, request: RepairStoreRequest) -> RepairedStore:
    """Apply a plan to a copy of its store and audit the copy; the original stays as it is."""
    from assay.store_audit.planning import read_plan  # noqa: PLC0415 - needs the memory, as above
    from assay.store_audit.repairing import repair_store as repair  # noqa: PLC0415 - the same

    return repair(read_plan(request.plan), request.to, store=request.store)


def import_store(caller: Caller, request: ImportStoreRequest) -> ImportedStore:
    """Audit a store and save its good memories, gate included."""
    from assay.store_audit.auditor import audit_items, read_store  # noqa: PLC0415 - needs the memory, as above
    from assay.store_audit.importing import import_good  # noqa: PLC0415 - the same

    store = read_store(request.path, request.kind)
    audit = audit_items(store, request.path, as_of=_as_of(request.as_of), tell=caller.progress)
    return import_good(
        caller.engine,
        caller.scope,
        store,
        audit,
        dry_run=request.dry_run,
        on_progress=lambda done, total: caller.progress(done, total, "importing"),
    )


def _as_of(given: datetime | None) -> datetime:
    return SystemClock().now() if given is None else given


AUDIT = Verb(
    name="memory_store.audit",
    summary="Audit a memory store of another tool: duplicates, contradictions, stale facts, junk, secrets, orders.",
    act=acts.FILE_WRITE,
    request=AuditStoreRequest,
    result=StoreAudit,
    call=audit_store,
    command="audit",
    python="Memory.audit_store",
)
REPAIR = Verb(
    name="memory_store.repair",
    summary="Apply a repair plan to a copy of the audited store, and audit the copy.",
    act=acts.FILE_WRITE,
    request=RepairStoreRequest,
    result=RepairedStore,
    call=repair_store,
    command="repair",
    python="Memory.repair_store",
)
IMPORT = Verb(
    name="memory_store.import",
    summary="Audit a memory store of another tool, and save its good memories.",
    act=acts.MEMORY_TAKE_IN,
    request=ImportStoreRequest,
    result=ImportedStore,
    call=import_store,
    command="audit",
    python="Memory.import_store",
)

FAMILY = Family(name="store_audits", verbs=(AUDIT, REPAIR, IMPORT))
