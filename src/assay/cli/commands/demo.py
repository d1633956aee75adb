"""`assay demo`: the store at work on a few notes, from nothing, in a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from assay import wiring
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.records import Edge, EdgeKind, MemoryRecord, Scope
from assay.settings import Settings
from assay.testing import NOTES

if TYPE_CHECKING:
    from assay.storage import Store


DEFAULT_FOLDER = Path("build/demo")
STORE = "demo.db"
QUESTION = "cookie"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "demo")
    def demo(
        surface: Surface,
        folder: Annotated[
            Path, typer.Option(help="Where the demo keeps its files, made anew each time.")
        ] = DEFAULT_FOLDER,
    ) -> None:
        """Save notes, find them again, take a checkpoint, lose a note and bring it back."""
        _clear(folder)
        with wiring.open_store(Settings(db=str(folder / STORE))) as store:
            told = _tell_the_story(surface, store, surface.scope)
        surface.result(told, f"\nNext: assay doctor, assay config, and docs/get-started. The store: {store.place}")


def _clear(folder: Path) -> None:
    """Remove what an earlier demo left. Anybody else's folder is left alone."""
    if not folder.exists():
        return
    ours = folder.is_dir() and all(one.name.startswith(STORE) for one in folder.iterdir())
    if not ours:
        raise InputError(
            f"{folder} holds something that no demo made", remedy="Name an empty or new folder with --folder."
        )
    shutil.rmtree(folder)


def _tell_the_story(surface: Surface, store: Store, scope: Scope) -> dict[str, object]:
    _save(store, scope)
    surface.note(f"Saved {len(NOTES)} notes and an edge between two of them, in one durable transaction.")
    with store.reading(scope) as work:
        found = work.memories.mentioning(QUESTION)
    surface.note(f"\nNotes that mention {QUESTION!r}:")
    if not surface.common.json:
        surface.console.print(_table(found))
    checkpoint = store.checkpoints.create("demo")
    with store.writing(scope) as work:
        work.memories.remove(found[0].id)
        left = work.memories.count()
    surface.note(f"\nCheckpoint {checkpoint.id} taken, then {found[0].id} was removed: {left} notes left.")
    done = store.checkpoints.restore(checkpoint.id, scope)
    with store.reading(scope) as work:
        back = work.memories.count()
    surface.note(f"Checkpoint restored: {back} notes again. The state from before is kept as {done.kept_aside}.")
    broken = store.problems()
    surface.note("Every table agrees with every other." if not broken else f"Problems: {broken}")
    return {
        "store": store.place,
        "saved": len(NOTES),
        "found": [one.id for one in found],
        "checkpoint": checkpoint.id,
        "left_after_removal": left,
        "after_restore": back,
        "problems": broken,
    }


def _save(store: Store, scope: Scope) -> None:
    pkce, cookies, _ = NOTES
    with store.writing(scope) as work:
        for one in NOTES:
            work.memories.add(one)
        work.edges.put(
            Edge(source_id=pkce.id, target_id=cookies.id, kind=EdgeKind.SUPPORTS, created_at=pkce.created_at)
        )
        work.audit.append("demo.saved", "notes", {"count": len(NOTES)})


def _table(found: list[MemoryRecord]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "title", "folder", "tier", "says"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(one.id, one.title, one.folder, one.tier, one.body)
    return table
