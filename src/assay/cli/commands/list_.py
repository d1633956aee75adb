"""`assay list`: the memories there are, newest first, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records import MemoryFilter, MemoryList, MemoryRecord, MemoryStatus, Tier

MOST = 500
TITLE_WIDTH = 60

FolderOption = Annotated[
    str | None, typer.Option("--folder", metavar="FOLDER", help="Only this folder and the folders below it.")
]
TagOption = Annotated[list[str], typer.Option("--tag", help="Only memories with this tag; may repeat.")]
TierOption = Annotated[Tier | None, typer.Option("--tier", help="Only this tier.")]
StatusOption = Annotated[MemoryStatus | None, typer.Option("--status", help="Only memories with this status.")]
SinceOption = Annotated[
    datetime | None, typer.Option("--since", metavar="TIME", help="Only memories changed at this time (UTC) or later.")
]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=MOST, help="Memories on one page.")]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="ID", help="Continue after this memory: the last id of a page.")
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
        after: AfterOption = None,
    ) -> None:
        """List memories, newest first: id, status, tier, folder, date and title."""
        wanted = MemoryFilter(
            folder=folder,
            tags=tuple(tag),
            tier=tier,
            status=status,
            since=None if since is None else since.replace(tzinfo=since.tzinfo or UTC),
        )
        with wiring.open_engine(surface.settings, create=False) as engine:
            page = engine.list_memories(surface.scope, wanted, after=after, limit=limit)
        surface.result(as_json(page), "\n".join(_lines(page)))


def as_json(page: MemoryList) -> dict[str, Any]:
    """A page for machines: every field of a memory but its text."""
    return {
        "memories": [_line(memory) for memory in page.memories],
        "total": page.total,
        "by_status": plain(page.by_status),
        "next_after": page.next_after,
    }


def _line(memory: MemoryRecord) -> dict[str, Any]:
    shown: dict[str, Any] = plain(memory)
    for hidden in ("body", "metadata"):
        del shown[hidden]
    return {"status": memory.status.value, **shown}


def _lines(page: MemoryList) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {status}" for status, count in page.by_status.items())
    yield f"{page.total:,} memories" + (f": {counts}" if counts else "")
    rows = [
        (
            memory.id,
            memory.status.value,
            memory.tier.value,
            memory.folder or "-",
            f"{memory.updated_at:%Y-%m-%d}",
            memory.title[:TITLE_WIDTH],
        )
        for memory in page.memories
    ]
    yield from grid(rows, indent="  ")
    if page.next_after is not None:
        yield f"{len(page.memories):,} shown; next page: --after {page.next_after}"
