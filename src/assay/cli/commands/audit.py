"""`assay audit`: who did what to which thing, when and from where, and whether the log is whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.surface import Surface, command
from assay.errors import StorageError
from assay.formats.grid import grid
from assay.hashing import canonical_json

if TYPE_CHECKING:
    from assay.access.auditing import AuditPage, ChainCheck

MOST = 500
DETAIL_WIDTH = 60

ActionOption = Annotated[
    str | None,
    typer.Option("--action", metavar="NAME", help="Only this action; `token.` means every action about tokens."),
]
ActorOption = Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Only what this principal did.")]
TargetOption = Annotated[str | None, typer.Option("--target", metavar="ID", help="Only what was done to this.")]
SinceOption = Annotated[
    datetime | None, typer.Option("--since", metavar="TIME", help="Only at this time (UTC) or later.")
]
UntilOption = Annotated[datetime | None, typer.Option("--until", metavar="TIME", help="Only before this time (UTC).")]
AllOption = Annotated[bool, typer.Option("--all-tenants", help="Of every tenant, not of one (--tenant).")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=MOST, help="Entries on one page.")]
BeforeOption = Annotated[
    int, typer.Option("--before", min=0, metavar="N", help="Continue behind a page: the number it ends with.")
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
        before: BeforeOption = 0,
    ) -> None:
        """List the audit log, newest first, and check that no entry was changed or removed.

        Ends with exit code 4 when an entry does not fit the one before it.
        """
        with wiring.open_store(surface.settings, create=False) as store:
            from assay.access import auditing  # noqa: PLC0415 - the extra "memory"

            wanted = auditing.AuditFilter(
                action=action, actor=actor, target=target, since=_in_utc(since), until=_in_utc(until)
            )
            page = auditing.list_entries(
                store, surface.scope, wanted, before=before, limit=limit, all_tenants=all_tenants
            )
            chains = auditing.check_chains(store, surface.scope, all_tenants=all_tenants)
            found = {
                "entries": [auditing.entry_as_json(listed) for listed in page.entries],
                "next_before": page.next_before,
                "chains": [_chain_as_json(tenant, check) for tenant, check in chains.items()],
            }
        surface.result(found, "\n".join(_lines(page, chains, all_tenants=all_tenants)))
        if not all(check.is_whole for check in chains.values()):
            raise typer.Exit(StorageError.exit_code)


def _in_utc(given: datetime | None) -> datetime | None:
    return None if given is None else given.replace(tzinfo=given.tzinfo or UTC)


def _chain_as_json(tenant: str, check: ChainCheck) -> dict[str, Any]:
    names = ("is_whole", "entries", "erased", "head", "broken_at", "problem")
    return {"tenant": tenant, **{name: getattr(check, name) for name in names}}


def _lines(page: AuditPage, chains: Mapping[str, ChainCheck], *, all_tenants: bool) -> Iterator[str]:
    rows = []
    for listed in page.entries:
        entry = listed.entry
        said = canonical_json(entry.detail) if entry.detail else ""
        cells = (f"{entry.at:%Y-%m-%d %H:%M:%S}", entry.actor, entry.via, entry.action, entry.target, _cut(said))
        rows.append((listed.tenant, *cells) if all_tenants else cells)
    heads = ("when (UTC)", "who", "from", "what", "to", "detail")
    if rows:
        yield from grid([("tenant", *heads) if all_tenants else heads, *rows])
    else:
        yield "No entry fits."
    if page.next_before is not None:
        yield f"More: add --before {page.next_before}"
    for tenant, check in chains.items():
        yield chain_sentence(tenant, check)


def chain_sentence(tenant: str, check: ChainCheck) -> str:
    """Say whether the chain of a tenant is whole, or where it breaks."""
    if check.is_whole:
        erased = f", {check.erased} of them without their words, which were erased" if check.erased else ""
        head = f" Head: {check.head}" if check.head else ""
        return f"The chain of tenant {tenant} is whole: {check.entries} entries{erased}.{head}"
    return f"The chain of tenant {tenant} is broken at entry {check.broken_at}: {check.problem}."


def _cut(said: str) -> str:
    return said if len(said) <= DETAIL_WIDTH else said[: DETAIL_WIDTH - 3] + "..."
