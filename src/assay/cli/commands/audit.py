"""`assay audit`: who did what to which thing, when and from where, and whether the log is whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.errors import StorageError
from assay.formats.grid import grid
from assay.hashing import canonical_json
from assay.records.audit_log import AuditChain, AuditChains, AuditPage
from assay.verbs import auditing

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


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "audit")
    def audit(  # noqa: PLR0917 - one parameter an option, all given by name
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
