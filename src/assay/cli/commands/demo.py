"""`assay demo`: the memory at work on a few notes, from nothing, in a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.commands.restore import restored
from assay.cli.commands.save import told
from assay.cli.hits import shown
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.records import Draft, EdgeKind, MemoryRecord, SaveOutcome, Scope, SearchRequest, SearchResult
from assay.settings import Settings
from assay.testing import NOTES

if TYPE_CHECKING:
    from assay.memory.engine import Engine

DEFAULT_FOLDER = Path("build/demo")
STORE = "demo.db"
QUESTION = "how long does a session last"
CHANGE = "The session cookie is HttpOnly and SameSite=Strict and lives for eight hours."
"""What the note on cookies says later."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "demo")
    def demo(
        surface: Surface,
        folder: Annotated[
            Path, typer.Option(help="Where the demo keeps its files, made anew each time.")
        ] = DEFAULT_FOLDER,
    ) -> None:
        """Save notes, find one and see why, replace it, and bring it back."""
        _clear(folder)
        with wiring.open_engine(Settings(db=str(folder / STORE))) as engine:
            done = _tell_the_story(surface, engine, surface.scope)
        surface.result(done, f"\nNext: assay save, assay search, and docs/get-started. The store: {engine.store.place}")


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


def _tell_the_story(surface: Surface, engine: Engine, scope: Scope) -> dict[str, object]:
    pkce, cookies, deploys = (_save(surface, engine, scope, _draft(one)) for one in NOTES)
    engine.link(scope, str(pkce.memory_id), EdgeKind.SUPPORTS, str(cookies.memory_id), evidence="both guard the login")
    before = _search(surface, engine, scope)
    surface.note("\nThe note changes. Numbers disagree and the title is the same, so the old one is replaced:\n")
    changed = _save(surface, engine, scope, Draft(title=NOTES[1].title, body=CHANGE, folder=NOTES[1].folder))
    after = _search(surface, engine, scope)
    surface.note("\nThat was a mistake. Bring the old one back:\n")
    back = engine.saver.restore(scope, str(cookies.memory_id))
    surface.note(restored(back))
    broken = engine.store.problems()
    surface.note("\nEvery table agrees with every other." if not broken else f"Problems: {broken}")
    return {
        "store": engine.store.place,
        "saved": [one.memory_id for one in (pkce, cookies, deploys)],
        "found": before.ids,
        "superseded": changed.superseded,
        "found_after_the_change": after.ids,
        "restored": back.memory_id,
        "problems": broken,
    }


def _draft(note: MemoryRecord) -> Draft:
    return Draft(
        title=note.title, body=note.body, folder=note.folder, tier=note.tier, triggers=note.triggers, tags=note.tags
    )


def _save(surface: Surface, engine: Engine, scope: Scope, draft: Draft) -> SaveOutcome:
    surface.note(f"$ assay save --title {draft.title!r} --text {draft.body!r}")
    outcome = engine.saver.save(scope, draft)
    surface.note("\n".join(told(outcome)))
    return outcome


def _search(surface: Surface, engine: Engine, scope: Scope) -> SearchResult:
    request = SearchRequest(query=QUESTION, k=1, explain=True, tool_name="assay demo")
    found = engine.searcher.search(scope, request)
    surface.note(f"\n$ assay search {QUESTION!r} -k 1 --explain")
    if not surface.common.json and not surface.common.quiet:
        surface.console.print(shown(found, request), soft_wrap=True)
    return found
