"""`assay token create|list|revoke|sessions|end`: who may reach a server from elsewhere, and who is signed in."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.formats.grid import grid
from assay.records.access import Access, SignInLine, TokenLine
from assay.verbs import access

ScopeOption = Annotated[Access, typer.Option("--scope", help="How far it reaches; each includes the ones before it.")]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="Who or what it is for; the audit log has it.")]
DaysOption = Annotated[int | None, typer.Option("--days", metavar="N", help="It opens nothing after so many days.")]
PersonOption = Annotated[
    bool,
    typer.Option("--person", help="A person uses it: notes saved with it count as written by hand, not by a program."),
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `assay token list` has it.")]

SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The session's id, as `assay token sessions` has it.")
]


def register(app: typer.Typer) -> None:
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
    def list_all(surface: Surface) -> None:
        """List the tenant's tokens; never their text."""
        found = surface.call(access.LIST_TOKENS, create=True)
        rows = [("id", "name", "scope", "used by", "made", "by", "state"), *map(_row, found.tokens)]
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
