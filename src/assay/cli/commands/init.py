"""`assay init`: make the store and a settings file to go with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.surface import Surface, command
from assay.errors import CheckpointFailed
from assay.settings import FILE_NAME, KNOWN, fit_to_show

if TYPE_CHECKING:
    from assay.storage import Store


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "init")
    def init(
        surface: Surface,
        settings_file: Annotated[
            bool, typer.Option("--settings-file", help=f"Also write a commented {FILE_NAME} in this folder.")
        ] = False,
    ) -> None:
        """Make the store (or bring an older one up to date) and say where it is."""
        with wiring.open_store(surface.settings) as store:
            with store.reading(surface.scope) as work:
                memories = work.memories.count()
            place, backend = store.place, store.backend_name
            _prepare(surface, store)
        written = _write_settings(Path.cwd() / FILE_NAME) if settings_file else None
        surface.result(
            {"store": place, "backend": backend, "memories": memories, "settings_file": written},
            f"Store ready: {place}  ({memories} memories)" + (f"\nSettings:    {written}" if written else ""),
        )


def _prepare(surface: Surface, store: Store) -> None:
    """Take the checkpoint that reconsolidation needs before it may change what is stored."""
    from assay.flags import explain_hold  # noqa: PLC0415 - the extra "memory"

    try:
        wiring.flags_of(surface.settings).activate(store, surface.scope, "reconsolidation")
    except CheckpointFailed as problem:
        surface.note(f"reconsolidation is held off: {explain_hold(problem)}")


def _write_settings(path: Path) -> str | None:
    """A file in which every setting stands as a comment with its default; one that exists is left alone."""
    if path.exists():
        return None
    lines = [
        "# Settings of Assay. Remove the # of what you change. Order: options, environment, this file.",
        "# Addresses, key variables and programs that this file names count once you approve it: assay trust",
    ]
    section = ""
    for one in sorted(KNOWN, key=lambda known: ("." in known.key, known.key)):
        before, _, name = one.key.rpartition(".")
        if before != section:
            section = before
            lines += ["", f"[{section}]"]
        default = "" if one.default is None else list(one.default) if isinstance(one.default, tuple) else one.default
        shown = f'"{default}"' if isinstance(default, str) else fit_to_show(default)
        lines += [f"# {one.meaning}", f"# {name} = {shown}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
