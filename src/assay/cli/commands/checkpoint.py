"""`assay checkpoint create|list|restore|delete`: whole copies of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from assay import wiring
from assay.cli.surface import Surface, command

if TYPE_CHECKING:
    from assay.storage import Checkpoint

Wanted = Annotated[
    str, typer.Argument(metavar="ID|NAME", help="The checkpoint's id, or its name if it is the only one.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Copy the whole store, and bring it back.", no_args_is_help=True)
    app.add_typer(group, name="checkpoint")

    @command(group, "create")
    def create(
        surface: Surface,
        name: Annotated[str, typer.Argument(help="A name to find it by.")] = "by hand",
    ) -> None:
        """Copy the store as it is now; others may go on writing."""
        with wiring.open_store(surface.settings, create=False) as store:
            made = store.checkpoints.create(name)
        surface.result(made.as_json(), f"Checkpoint {made.id}  {_size(made.size_bytes)}, {made.memories} memories")

    @command(group, "list")
    def list_all(surface: Surface) -> None:
        """List the checkpoints, also of a store that cannot be opened."""
        found = wiring.list_checkpoints(surface.settings)
        empty = "No checkpoints yet. Make one: assay checkpoint create NAME"
        surface.result([one.as_json() for one in found], _table(found) if found else empty)

    @command(group, "restore")
    def restore(surface: Surface, wanted: Wanted) -> None:
        """Bring the store back to a checkpoint; what is there now is kept aside, and tokens stay as they are."""
        done = wiring.restore_checkpoint(surface.settings, wanted)
        told = [f"Restored {done.checkpoint.id} ({done.checkpoint.name}). The state from before: {done.kept_aside}"]
        surface.result(
            {"restored": done.checkpoint.as_json(), "kept_aside": done.kept_aside, "note": done.note},
            "\n".join([*told, done.note] if done.note else told),
        )

    @command(group, "delete")
    def delete(surface: Surface, wanted: Wanted) -> None:
        """Delete a checkpoint."""
        with wiring.open_store(surface.settings, create=False) as store:
            gone = store.checkpoints.delete(wanted)
        surface.result(gone.as_json(), f"Deleted checkpoint {gone.id} ({gone.name})")


def _table(found: list[Checkpoint]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "made"):
        table.add_column(column, no_wrap=column != "name", overflow="fold")
    table.add_column("memories", justify="right")
    table.add_column("size", justify="right")
    for one in found:
        made = f"{one.created_at:%Y-%m-%d %H:%M}"
        table.add_row(one.id, one.name, made, f"{one.memories:,}", _size(one.size_bytes))
    return table


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"
