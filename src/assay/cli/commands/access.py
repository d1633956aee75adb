"""Commands for access: tenant, token and audit-log.

- `assay tenant list`: which tenants the store has, and what each holds.
- `assay token create|list|revoke|sessions|end`: who may reach a server from elsewhere, and who is signed in.
- `assay audit-log`: who did what to which thing, when and from where, and whether the log is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import StorageError
from assay.formats.grid import grid
from assay.hashing import canonical_json
from assay.records.access import Access, SignInLine, TenantLine, TokenLine
from assay.records.maintenance import AuditChain, AuditChains, AuditPage
from assay.verbs import access, auditing

# --- `assay tenant list`: which tenants the store has, and what each holds ---

TenantLimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Tenants on one page, 1 to 200.")]
TenantCursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Continue behind a page: what it ends with.")
]


def register_tenant(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="See which tenants the store has.", no_args_is_help=True)
    app.add_typer(group, name="tenant")

    @command(group, "list")
    def list_all(surface: Surface, limit: TenantLimitOption = 100, cursor: TenantCursorOption = None) -> None:
        """List the tenants of the store with their memories and tokens, by name."""
        page = surface.call(access.LIST_TENANTS, limit=limit, cursor=cursor)
        rows = [("tenant", "memories", "with versions", "tokens", "ever made"), *map(_tenant_row, page.tenants)]
        surface.show(access.LIST_TENANTS, page, "\n".join(grid(rows)))
        if page.next_cursor is not None:
            surface.note(f"More: add --cursor {page.next_cursor}")


def _tenant_row(line: TenantLine) -> tuple[str, ...]:
    counts = (line.memories, line.stored_memories, line.tokens, line.made_tokens)
    return (line.tenant, *(f"{count:,}" for count in counts))


# --- `assay token create|list|revoke|sessions|end`: who may reach a server from elsewhere, and who is signed in ---

ScopeOption = Annotated[Access, typer.Option("--scope", help="How far it reaches; each includes the ones before it.")]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Who or what it is for; the audit log has it.")]
DaysOption = Annotated[int | None, typer.Option("--days", metavar="N", help="The token expires after N days.")]
PersonOption = Annotated[
    bool,
    typer.Option("--person", help="A person uses it: notes saved with it count as written by hand, not by a program."),
]
EveryTenantOption = Annotated[bool, typer.Option("--all-tenants", help="Of every tenant, not of one (--tenant).")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `assay token list` has it.")]

SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The session's id, as `assay token sessions` has it.")
]


def register_token(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        help="Let others reach `assay serve` and `assay mcp --http`, and stop letting them.", no_args_is_help=True
    )
    app.add_typer(group, name="token")

    @command(group, "create")
    def create(
        surface: Surface,
        scope: ScopeOption = Access.READ,
        name: NameOption = "unnamed",
        days: DaysOption = None,
        person: PersonOption = False,
    ) -> None:
        """Make a token for a tenant (--tenant); it is shown once."""
        made = surface.call(access.CREATE_TOKEN, create=True, name=name, access=scope, days=days, person=person)
        opens = f"Opens {scope} access to tenant {surface.scope.tenant} for a {_kind(made)}."
        lines = [
            made.token or "",
            f"{opens} It is not shown again: keep it now.",
            "Send it as: Authorization: Bearer TOKEN",
        ]
        surface.show(access.CREATE_TOKEN, made, "\n".join(lines))

    @command(group, "list")
    def list_all(surface: Surface, all_tenants: EveryTenantOption = False) -> None:
        """List the tenant's tokens, or those of every tenant; never their text."""
        found = surface.call(access.LIST_TOKENS, create=True, all_tenants=all_tenants)
        heads = ("id", "name", "scope", "used by", "made", "by", "state")
        rows = [heads, *map(_row, found.tokens)]
        if all_tenants:
            rows = [("tenant", *heads), *((token.tenant, *_row(token)) for token in found.tokens)]
        empty = "No tokens yet. Make one: assay token create --scope read --name ci"
        surface.show(access.LIST_TOKENS, found, "\n".join(grid(rows)) if found.tokens else empty)

    @command(group, "revoke")
    def revoke(surface: Surface, token_id: IdArgument) -> None:
        """Let a token open nothing from now on; a running server notices within two seconds."""
        gone = surface.call(access.REVOKE_TOKEN, create=True, token_id=token_id)
        surface.show(access.REVOKE_TOKEN, gone, f"Token {gone.token_id} ({gone.name}) opens nothing any more.")

    @command(group, "sessions")
    def sessions(surface: Surface) -> None:
        """List the browsers that signed in with a token of the tenant."""
        found = surface.call(access.LIST_SIGN_INS, create=True)
        rows = [("id", "token", "from", "signed in", "last used", "state"), *map(_sign_in_row, found.sign_ins)]
        empty = "Nobody has signed in."
        surface.show(access.LIST_SIGN_INS, found, "\n".join(grid(rows)) if found.sign_ins else empty)

    @command(group, "end")
    def end(surface: Surface, session_id: SessionArgument) -> None:
        """Sign a browser out: its session opens nothing from now on."""
        ended = surface.call(access.END_SIGN_IN, create=True, session_id=session_id)
        surface.show(access.END_SIGN_IN, ended, f"Session {session_id} is ended.")


def _sign_in_row(sign_in: SignInLine) -> tuple[str, ...]:
    times = (f"{sign_in.created_at:%Y-%m-%d %H:%M}", f"{sign_in.last_seen_at:%Y-%m-%d %H:%M}")
    state = f"open until {sign_in.expires_at:%Y-%m-%d %H:%M}" if sign_in.is_open else "over"
    if sign_in.ended_at is not None:
        state = f"ended {sign_in.ended_at:%Y-%m-%d %H:%M}"
    return sign_in.session_id, sign_in.token_name, sign_in.via, *times, state


def _row(token: TokenLine) -> tuple[str, ...]:
    made = f"{token.created_at:%Y-%m-%d %H:%M}"
    kind = f"a {_kind(token)}"
    return token.token_id, token.name, str(token.access), kind, made, token.created_by, _state(token)


def _kind(token: TokenLine) -> str:
    return "person" if token.person else "program"


def _state(token: TokenLine) -> str:
    if token.revoked_at is not None:
        return f"revoked {token.revoked_at:%Y-%m-%d %H:%M}"
    if token.expires_at is None:
        return "good"
    state = "good until" if token.is_good(SystemClock().now()) else "expired"
    return f"{state} {token.expires_at:%Y-%m-%d %H:%M}"


# --- `assay audit-log`: who did what to which thing, when and from where, and whether the log is whole ---

DETAIL_WIDTH = 60

ActionOption = Annotated[
    str | None,
    typer.Option("--action", metavar="NAME", help="Only this action; `token.` means every action about tokens."),
]
ActorOption = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Only what this principal did.")]
TargetOption = Annotated[str | None, typer.Option("--target", metavar="ID", help="Only what was done to this.")]
SinceOption = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only at this time (UTC) or later.")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only before this time (UTC).")]
AllOption = Annotated[bool, typer.Option("--all-tenants", help="Of every tenant, not of one (--tenant).")]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Entries on one page, 1 to 200.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Continue behind a page: what it ends with.")
]


def register_audit_log(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "audit-log")
    def audit_log(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        action: ActionOption = None,
        actor: ActorOption = None,
        target: TargetOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        all_tenants: AllOption = False,
        limit: LimitOption = 50,
        cursor: CursorOption = None,
    ) -> None:
        """List the audit log, newest first, and check that no entry was changed or removed.

        Ends with exit code 4 when an entry does not fit the one before it.
        """
        page = surface.call(
            auditing.LIST,
            action=action,
            actor=actor,
            target=target,
            since=since,
            until=until,
            all_tenants=all_tenants,
            limit=limit,
            cursor=cursor,
        )
        checked = surface.call(auditing.CHECK, all_tenants=all_tenants)
        document = {**auditing.LIST.to_json(page), **auditing.CHECK.to_json(checked)} if surface.common.json else None
        surface.result(document, "\n".join(_lines(page, checked, all_tenants=all_tenants)))
        if not checked.are_whole:
            raise typer.Exit(StorageError.exit_code)


def _lines(page: AuditPage, checked: AuditChains, *, all_tenants: bool) -> Iterator[str]:
    rows = []
    for entry in page.entries:
        said = canonical_json(entry.detail) if entry.detail else ""
        cells = (f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.actor, entry.via, entry.action, entry.target, _cut(said))
        rows.append((entry.tenant, *cells) if all_tenants else cells)
    heads = ("when (UTC)", "who", "from", "what", "to", "detail")
    if rows:
        yield from grid([("tenant", *heads) if all_tenants else heads, *rows])
    else:
        yield "No entry fits."
    if page.next_cursor is not None:
        yield f"More: add --cursor {page.next_cursor}"
    yield from (chain_sentence(chain) for chain in checked.chains)


def chain_sentence(chain: AuditChain) -> str:
    """Say whether the chain of a tenant is whole, or where it breaks."""
    if chain.is_whole:
        erased = f", {chain.erased} of them without their words, which were erased" if chain.erased else ""
        head = f" Head: {chain.head}" if chain.head else ""
        return f"The chain of tenant {chain.tenant} is whole: {chain.entries} entries{erased}.{head}"
    return f"The chain of tenant {chain.tenant} is broken at entry {chain.broken_at}: {chain.problem}."


def _cut(said: str) -> str:
    return said if len(said) <= DETAIL_WIDTH else said[: DETAIL_WIDTH - 3] + "..."


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_tenant(app)
    register_token(app)
    register_audit_log(app)
