"""`assay checkpoint create|list|restore|delete`: whole copies of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from assay.cli.surface import Surface, command
from assay.presentation.wording import count_of
from assay.records.maintenance import CheckpointLine
from assay.verbs import maintenance

Wanted = Annotated[
    str, typer.Argument(metavar="ID|NAME", help="The checkpoint's id, or its name if it is the only one.")
]


LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Checkpoints on a page, 1 to 200.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Continue behind a page: what it ends with.")
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Copy the whole store, and bring it back.", no_args_is_help=True)
    app.add_typer(group, name="checkpoint")

    @command(group, "create")
    def create(
        surface: Surface,
        name: Annotated[str, typer.Argument(help="A name to find it by.")] = maintenance.BY_HAND,
    ) -> None:
        """Copy the store as it is now; others may go on writing."""
        made = surface.call(maintenance.CREATE_CHECKPOINT, name=name)
        text = f"Checkpoint {made.id}  {_size(made.size_bytes)}, {count_of(made.memories, 'memory')}"
        surface.show(maintenance.CREATE_CHECKPOINT, made, text)

    @command(group, "list")
    def list_all(surface: Surface, limit: LimitOption = 100, cursor: CursorOption = None) -> None:
        """List the checkpoints, newest first, also of a store that cannot be opened."""
        page = surface.call_unopened(maintenance.LIST_CHECKPOINTS, limit=limit, cursor=cursor)
        empty = "No checkpoints yet. Make one: assay checkpoint create NAME"
        surface.show(maintenance.LIST_CHECKPOINTS, page, _table(page.checkpoints) if page.checkpoints else empty)
        if page.next_cursor is not None:
            surface.note(f"{page.total} in all. More: add --cursor {page.next_cursor}")

    @command(group, "restore")
    def restore(surface: Surface, wanted: Wanted) -> None:
        """Bring the store back to a checkpoint; what is there now is kept aside, and tokens stay as they are."""
        done = surface.call_unopened(maintenance.RESTORE_CHECKPOINT, checkpoint=wanted)
        lines = [f"Restored {done.restored.id} ({done.restored.name}). The state from before: {done.kept_aside}"]
        surface.show(maintenance.RESTORE_CHECKPOINT, done, "\n".join([*lines, done.note] if done.note else lines))

    @command(group, "delete")
    def delete(surface: Surface, wanted: Wanted) -> None:
        """Delete a checkpoint."""
        gone = surface.call(maintenance.DELETE_CHECKPOINT, checkpoint=wanted)
        surface.show(maintenance.DELETE_CHECKPOINT, gone, f"Deleted checkpoint {gone.id} ({gone.name})")


def _table(checkpoints: Sequence[CheckpointLine]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "made"):
        table.add_column(column, no_wrap=column != "name", overflow="fold")
    table.add_column("memories", justify="right")
    table.add_column("size", justify="right")
    for checkpoint in checkpoints:
        made = f"{checkpoint.created_at:%Y-%m-%d %H:%M}"
        size = _size(checkpoint.size_bytes)
        table.add_row(checkpoint.id, checkpoint.name, made, f"{checkpoint.memories:,}", size)
    return table


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"
