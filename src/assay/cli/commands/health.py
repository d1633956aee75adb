"""`assay health`: whether the memory works, channel by channel."""

from __future__ import annotations

import typer
from rich.text import Text

from assay.cli.surface import Surface, command
from assay.errors import StorageError
from assay.records.memory_list import HealthReport
from assay.verbs import health as verb

_STYLES = {"ok": "green", "empty": "dim", "degraded": "yellow", "silent": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "health")
    def health(surface: Surface) -> None:
        """Ask every channel for something it must find, and show indexes, gate, learning, tests and drift."""
        found = surface.call(verb.HEALTH)
        surface.show(verb.HEALTH, found, _shown(found))
        if any(one.state == "silent" for one in found.parts):
            raise typer.Exit(StorageError.exit_code)


def _shown(found: HealthReport) -> Text:
    width = max(len(one.name) for one in found.parts)
    lines = [
        Text.assemble((f"{one.state:<9}", _STYLES.get(one.state, "")), f"{one.name:<{width}}  {one.reason}")
        for one in found.parts
    ]
    return Text("\n").join(lines)
