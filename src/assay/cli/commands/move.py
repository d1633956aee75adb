"""`assay move`: the whole store to another database, from SQLite to PostgreSQL or back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.progress import show_progress
from assay.cli.surface import Surface, command
from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.storage import StoreMove

ToOption = Annotated[
    str,
    typer.Option("--to", metavar="PATH|ADDRESS", help="Where to: a file, or postgresql://user@host:5432/name."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Count what would be moved, and write nothing.")]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace what the target holds, after a checkpoint of it.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "move")
    def move(surface: Surface, to: ToOption, dry_run: DryRunOption = False, replace: ReplaceOption = False) -> None:
        """Move the whole store to PostgreSQL, or back to a file: every row, verified; the store is only read.

        All or nothing: the target holds everything or is as it was. Rows that others write meanwhile are not moved.
        """
        with show_progress(surface, "moving") as show:
            moved = wiring.move_store(surface.settings, to, replace_rows=replace, dry_run=dry_run, on_rows=show)
        surface.result(_as_json(moved), "\n".join(_lines(moved)))


def _as_json(moved: StoreMove) -> dict[str, Any]:
    return {**plain(moved), "rows": moved.rows}


def _lines(moved: StoreMove) -> Iterator[str]:
    yield f"{'Would move' if moved.dry_run else 'Moved'} {moved.rows:,} rows"
    yield from grid([("from", moved.source), ("to", moved.target)], indent="  ")
    filled = [table for table in moved.tables if table.rows]
    yield from grid([(table.name, f"{table.rows:,}") for table in filled], indent="  ")
    if moved.dry_run:
        return
    yield "Every table has the same rows and the same content hash in both stores."
    broken = [tenant for tenant, whole in moved.audit_chains.items() if not whole]
    if broken:
        yield f"The audit log of {', '.join(broken)} was broken before, and is in the target as it was."
    else:
        count = len(moved.audit_chains)
        yield f"The audit log of {count} {'tenant' if count == 1 else 'tenants'} verifies."
    if moved.checkpoint:
        yield f"What the target held before: checkpoint {moved.checkpoint}"
    if moved.changed_meanwhile:
        yield (
            f"Others wrote to the source meanwhile ({', '.join(moved.changed_meanwhile)}): that is not in the "
            "target. Stop them and move again with --replace."
        )
    yield f"Use it from now on: set ASSAY_DB, or db in assay.toml, to the new place. {moved.source} is unchanged."
