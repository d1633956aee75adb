"""`assay list`: the memories there are, newest first, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import MemoryPage, MemoryStatus, Tier
from assay.verbs import reading
from assay.verbs.paging import LARGEST

TITLE_WIDTH = 60

FolderOption = Annotated[
    str | None, typer.Option("--folder", metavar="FOLDER", help="Only this folder and the folders below it.")
]
TagOption = Annotated[list[str], typer.Option("--tag", help="Only memories with this tag; may repeat.")]
TierOption = Annotated[Tier | None, typer.Option("--tier", help="Only this tier.")]
StatusOption = Annotated[MemoryStatus | None, typer.Option("--status", help="Only memories with this status.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only memories changed at this time (UTC) or later.")
]
LimitOption = Annotated[int, typer.Option("--limit", help=f"Memories on one page, 1 to {LARGEST}.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="Go on where the page before ended: its next_cursor.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "list")
    def list_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        folder: FolderOption = None,
        tag: TagOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        tier: TierOption = None,
        status: StatusOption = None,
        since: SinceOption = None,
        limit: LimitOption = 50,
        cursor: CursorOption = None,
    ) -> None:
        """List memories, newest first: id, status, tier, folder, date and title."""
        page = surface.call(
            reading.LIST_MEMORIES,
            folder=folder,
            tags=tag,
            tier=tier,
            status=status,
            since=since,
            limit=limit,
            cursor=cursor,
        )
        surface.show(reading.LIST_MEMORIES, page, "\n".join(_lines(page)))


def _lines(page: MemoryPage) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {status}" for status, count in page.by_status.items())
    yield f"{page.total:,} memories" + (f": {counts}" if counts else "")
    rows = [
        (
            memory.memory_id,
            memory.status.value,
            memory.tier.value,
            memory.folder or "-",
            f"{memory.updated_at:%Y-%m-%d}",
            memory.title[:TITLE_WIDTH],
        )
        for memory in page.memories
    ]
    yield from grid(rows, indent="  ")
    if page.next_cursor is not None:
        yield f"{len(page.memories):,} shown; next page: --cursor {page.next_cursor}"
