"""What was done and who is signed in: the audit log and the sign-ins of browsers. For admins of the tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from assay.access import acts, auditing
from assay.access.auditing import AuditFilter, ChainCheck
from assay.access.sign_ins import ListedSignIn
from assay.records.access import Access
from assay.server import paging
from assay.server.errors import Refused
from assay.server.fields import IdInPath, Moment
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Asking, Resource, Result

RESOURCE = Resource("/api", "auditing")
AUDIT = "audit"
Word = Annotated[str | None, Query(min_length=1, max_length=500)]
AllTenants = Annotated[bool, Query(description="Of every tenant; for operators.")]


class AuditLine(Result):
    """One entry of the audit log."""

    tenant: str
    place: int | None = Field(description="Its number in the chain of the tenant, from 1.")
    at: datetime
    actor: str
    via: str = Field(description="From where, such as `http 10.0.0.7` or `command line`; empty: nobody said.")
    action: str
    target: str
    detail: dict[str, Any]


class AuditPage(Result):
    """The newest entries first."""

    entries: list[AuditLine]
    next_cursor: str | None


class AuditChain(Result):
    """Whether the chain of one tenant's log is whole."""

    tenant: str
    is_whole: bool
    entries: int = Field(description="Entries that fit, from the first.")
    erased: int = Field(description="Entries whose words were erased; the chain holds over them.")
    head: str = Field(description="The hash of the last entry that fits. Note it elsewhere to notice a shortened log.")
    broken_at: int | None = Field(description="The place of the first entry that does not fit.")
    problem: str


class AuditChains(Result):
    """The chains that were checked."""

    chains: list[AuditChain]


@RESOURCE.get("/audit", acts.AUDIT_READ)
def list_audit(  # noqa: PLR0917 - one parameter of the query each, all given by name
    asked: Asked,
    cursor: Cursor = None,
    limit: Limit = 50,
    action: Annotated[
        str | None, Query(min_length=1, max_length=500, description="Only this action; `token.` means all of tokens.")
    ] = None,
    actor: Word = None,
    target: Word = None,
    since: Annotated[Moment | None, Query(description="Only at this time or later.")] = None,
    until: Annotated[Moment | None, Query(description="Only before this time.")] = None,
    all_tenants: AllTenants = False,
) -> AuditPage:
    """Who did what to which thing, when and from where; newest first, page by page."""
    _check_reach(asked, all_tenants=all_tenants)
    before = paging.read(AUDIT, cursor, paging.number, 0)
    wanted = AuditFilter(action=action, actor=actor, target=target, since=since, until=until)
    page = auditing.list_entries(
        asked.engine.store, asked.scope, wanted, before=before, limit=limit, all_tenants=all_tenants
    )
    following = None if page.next_before is None else paging.written(AUDIT, page.next_before)
    entries = [AuditLine.model_validate(auditing.entry_as_json(listed)) for listed in page.entries]
    return AuditPage(entries=entries, next_cursor=following)


@RESOURCE.get("/audit/chain", acts.AUDIT_READ)
def check_audit(asked: Asked, all_tenants: AllTenants = False) -> AuditChains:
    """Check that no entry of the audit log was changed, removed or slipped in since it was written."""
    _check_reach(asked, all_tenants=all_tenants)
    found = auditing.check_chains(asked.engine.store, asked.scope, all_tenants=all_tenants)
    return AuditChains(chains=[_chain(tenant, check) for tenant, check in found.items()])


class SignInFound(Result):
    """A browser that signed in; never the secret of its cookie."""

    session_id: str
    token_id: str
    token_name: str
    via: str = Field(description="From where the browser signed in.")
    created_at: datetime
    last_seen_at: datetime = Field(description="When it was last used, to within a minute.")
    expires_at: datetime
    ended_at: datetime | None
    is_open: bool = Field(description="Whether it still opens anything.")


class SignInsFound(Result):
    """Sign-ins of the tenant, newest first; those that are over stay for a month."""

    sign_ins: list[SignInFound]


@RESOURCE.get("/sign-ins", acts.TOKEN_READ)
def list_sign_ins(asked: Asked) -> SignInsFound:
    """Every browser that signed in with a token of the tenant; those that signed out too."""
    return SignInsFound(sign_ins=[_sign_in(listed) for listed in asked.services.sign_ins.all(asked.scope)])


@RESOURCE.delete("/sign-ins/{session_id}", acts.TOKEN_CHANGE, 404)
def end_sign_in(asked: Asked, session_id: IdInPath) -> SignInFound:
    """Let a browser's sign-in open nothing from now on."""
    ended = asked.services.sign_ins.end(asked.scope, session_id)
    listed = asked.services.sign_ins.all(asked.scope)
    return _sign_in(next(one for one in listed if one.kept.session_id == ended.session_id))


def _check_reach(asked: Asking, *, all_tenants: bool) -> None:
    if all_tenants and not asked.grant.access.includes(Access.OPERATOR):
        raise Refused(
            403, "access_too_low", f"logs of every tenant need operator access, and the token has {asked.grant.access}",
            remedy="Leave all_tenants out, or use an operator's token.",
        )  # fmt: skip


def _chain(tenant: str, check: ChainCheck) -> AuditChain:
    return AuditChain(
        tenant=tenant,
        is_whole=check.is_whole,
        **{name: getattr(check, name) for name in ("entries", "erased", "head", "broken_at", "problem")},
    )


def _sign_in(listed: ListedSignIn) -> SignInFound:
    kept = {name: getattr(listed.kept, name) for name in SignInFound.model_fields if hasattr(listed.kept, name)}
    return SignInFound(**{**kept, "token_name": listed.token_name, "is_open": listed.is_open})
