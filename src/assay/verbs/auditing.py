"""Verbs on the audit log: list who did what, and check that no entry was changed or removed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.access import acts
from assay.records.access import Access
from assay.records.maintenance import AuditChains, AuditPage
from assay.verbs.fields import Moment
from assay.verbs.paging import PageCursor, PageLimit, read_cursor, row_number, write_cursor
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

AUDIT = "audit"
# Not strict: in an address everything is text.
AllTenants = Annotated[bool, Field(description="Of every tenant; for operators.")]


class ListAuditRequest(Request):
    """Which entries of the audit log."""

    action: Annotated[
        str | None, Field(min_length=1, max_length=500, description="Only this action; `token.` means all of tokens.")
    ] = None
    actor: Annotated[str | None, Field(min_length=1, max_length=500, description="Only what this principal did.")] = (
        None
    )
    target: Annotated[str | None, Field(min_length=1, max_length=500, description="Only what was done to this.")] = None
    since: Annotated[Moment | None, Field(description="Only at this time or later.")] = None
    until: Annotated[Moment | None, Field(description="Only before this time.")] = None
    all_tenants: AllTenants = False
    cursor: PageCursor = None
    limit: PageLimit = 50


class CheckAuditRequest(Request):
    """Whose logs to check."""

    all_tenants: AllTenants = False


def list_audit(caller: Caller, request: ListAuditRequest) -> AuditPage:
    """Read one page of the audit log."""
    from assay.access import auditing  # noqa: PLC0415 - needs the store

    _check_reach(caller, all_tenants=request.all_tenants)
    wanted = auditing.AuditFilter(
        action=request.action, actor=request.actor, target=request.target, since=request.since, until=request.until
    )
    rows = auditing.list_entries(
        caller.engine.store,
        caller.scope,
        wanted,
        before=read_cursor(AUDIT, request.cursor, row_number, 0),
        limit=request.limit,
        all_tenants=request.all_tenants,
    )
    following = None if rows.next_before is None else write_cursor(AUDIT, rows.next_before)
    return AuditPage(entries=tuple(rows.entries), next_cursor=following)


def check_audit(caller: Caller, request: CheckAuditRequest) -> AuditChains:
    """Check the chains of the audit log from their first entries."""
    from assay.access import auditing  # noqa: PLC0415 - needs the store

    _check_reach(caller, all_tenants=request.all_tenants)
    return auditing.check_chains(caller.engine.store, caller.scope, all_tenants=request.all_tenants)


def _check_reach(caller: Caller, *, all_tenants: bool) -> None:
    if all_tenants:
        caller.require(
            Access.OPERATOR,
            person=False,
            what=f"logs of every tenant need operator access, and the caller has {caller.grant.access}",
            remedy="Leave all_tenants out, or use an operator's token.",
        )


LIST = Verb(
    name="audit.list",
    summary="List who did what to which thing, when and from where; newest first, page by page.",
    act=acts.AUDIT_READ,
    request=ListAuditRequest,
    result=AuditPage,
    call=list_audit,
    http=HttpRoute("GET", "/api/audit"),
    command="audit-log",
    client="audit",
    python="Memory.audit",
)
CHECK = Verb(
    name="audit.check",
    summary="Check that no entry of the audit log was changed, removed or slipped in since it was written.",
    act=acts.AUDIT_READ,
    request=CheckAuditRequest,
    result=AuditChains,
    call=check_audit,
    http=HttpRoute("GET", "/api/audit/chain"),
    command="audit-log",
    client="check_audit",
    python="Memory.check_audit",
)

FAMILY = Family(name="auditing", verbs=(LIST, CHECK))
