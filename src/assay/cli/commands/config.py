"""`assay config`: every setting, its value, and where the value came from."""

from __future__ import annotations

import typer
from rich.table import Table

from assay.cli.surface import Surface, command
from assay.settings import LoadedSettings


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "config")
    def config(surface: Surface) -> None:
        """Show every setting with its value and its origin."""
        surface.result(_as_json(surface.loaded), _table(surface.loaded))


def _as_json(loaded: LoadedSettings) -> dict[str, object]:
    return {
        "file": str(loaded.file) if loaded.file else None,
        "settings": {
            one.key: {"value": one.value or None, "layer": one.origin.layer, "place": one.origin.place or None}
            for one in loaded.shown()
        },
    }


def _table(loaded: LoadedSettings) -> Table:
    table = Table(box=None, pad_edge=False, caption_justify="left")
    table.add_column("setting", style="bold", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for one in loaded.shown():
        style = "" if one.origin.layer != "default" else "dim"
        table.add_row(one.key, one.value or "-", f"{one.origin.layer} {one.origin.place}".strip(), style=style)
    table.caption = f"Settings file: {loaded.file or 'none found'}"
    return table
