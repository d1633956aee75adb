"""`assay token create|list|revoke|sessions|end`: who may reach a server from elsewhere, and who is signed in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.formats.grid import grid
from assay.records.access import Access, AccessToken

if TYPE_CHECKING:
    from assay.access import Tokens
    from assay.access.sign_ins import ListedSignIn
    from assay.storage import Store

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
        with _tokens(surface) as tokens:
            made = tokens.create(surface.scope, name, scope, days=days, person=person)
        opens = f"Opens {scope} access to tenant {surface.scope.tenant} for a {_kind(made.kept)}."
        told = [
            made.text,
            f"{opens} It is not shown again: keep it now.",
            "Send it as: Authorization: Bearer TOKEN",
        ]
        surface.result({**_as_json(made.kept), "token": made.text}, "\n".join(told))

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List the tenant's tokens; never their text."""
        with _tokens(surface) as tokens:
            found = tokens.all(surface.scope)
        rows = [("id", "name", "scope", "used by", "made", "by", "state"), *(_row(one) for one in found)]
        empty = "No tokens yet. Make one: assay token create --scope read --name ci"
        surface.result([_as_json(one) for one in found], "\n".join(grid(rows)) if found else empty)

    @command(group, "revoke")
    def revoke(surface: Surface, token_id: IdArgument) -> None:
        """Let a token open nothing from now on; a running server notices within two seconds."""
        with _tokens(surface) as tokens:
            gone = tokens.revoke(surface.scope, token_id)
        surface.result(_as_json(gone), f"Token {gone.token_id} ({gone.name}) opens nothing any more.")

    @command(group, "sessions")
    def sessions(surface: Surface) -> None:
        """List the browsers that signed in with a token of the tenant."""
        with _opened(surface) as store:
            found = wiring.sign_ins_of(surface.settings, store, SystemClock()).all(surface.scope)
        heads = ("id", "token", "from", "signed in", "last used", "state")
        rows = [heads, *(_session_row(listed) for listed in found)]
        empty = "Nobody has signed in."
        surface.result([_session_as_json(listed) for listed in found], "\n".join(grid(rows)) if found else empty)

    @command(group, "end")
    def end(surface: Surface, session_id: SessionArgument) -> None:
        """Sign a browser out: its session opens nothing from now on."""
        with _opened(surface) as store:
            sign_ins = wiring.sign_ins_of(surface.settings, store, SystemClock())
            ended = sign_ins.end(surface.scope, session_id)
            found = next(one for one in sign_ins.all(surface.scope) if one.kept.session_id == ended.session_id)
        surface.result(_session_as_json(found), f"Session {session_id} is ended.")


def _opened(surface: Surface) -> Store:
    return wiring.open_store(surface.settings, clock=SystemClock())


def _session_row(listed: ListedSignIn) -> tuple[str, ...]:
    kept = listed.kept
    times = (f"{kept.created_at:%Y-%m-%d %H:%M}", f"{kept.last_seen_at:%Y-%m-%d %H:%M}")
    state = f"open until {kept.expires_at:%Y-%m-%d %H:%M}" if listed.is_open else "over"
    if kept.ended_at is not None:
        state = f"ended {kept.ended_at:%Y-%m-%d %H:%M}"
    return kept.session_id, listed.token_name, kept.via, *times, state


def _session_as_json(listed: ListedSignIn) -> dict[str, Any]:
    shown: dict[str, Any] = plain(listed.kept)
    del shown["digest"]
    return {**shown, "token_name": listed.token_name, "is_open": listed.is_open}


@contextmanager
def _tokens(surface: Surface) -> Iterator[Tokens]:
    from assay.access import Tokens  # noqa: PLC0415 - the extra "memory"

    clock = SystemClock()
    with wiring.open_store(surface.settings, clock=clock) as store:
        yield Tokens(store, clock)


def _row(one: AccessToken) -> tuple[str, ...]:
    made = f"{one.created_at:%Y-%m-%d %H:%M}"
    return one.token_id, one.name, str(one.access), f"a {_kind(one)}", made, one.created_by, _state(one)


def _kind(token: AccessToken) -> str:
    return "person" if token.person else "program"


def _state(one: AccessToken) -> str:
    if one.revoked_at is not None:
        return f"revoked {one.revoked_at:%Y-%m-%d %H:%M}"
    if one.expires_at is None:
        return "good"
    told = "good until" if one.is_good(SystemClock().now()) else "expired"
    return f"{told} {one.expires_at:%Y-%m-%d %H:%M}"


def _as_json(one: AccessToken) -> dict[str, Any]:
    times = {name: getattr(one, name) for name in ("created_at", "expires_at", "revoked_at")}
    return {
        "token_id": one.token_id,
        "name": one.name,
        "scope": str(one.access),
        "person": one.person,
        "created_by": one.created_by,
        **{name: None if moment is None else moment.isoformat() for name, moment in times.items()},
    }
