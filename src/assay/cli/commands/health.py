"""`assay health`: whether the memory works, channel by channel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.text import Text

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import StorageError

if TYPE_CHECKING:
    from assay.memory.health import HealthReport

_STYLES = {"ok": "green", "empty": "dim", "degraded": "yellow", "silent": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "health")
    def health(surface: Surface) -> None:
        """Ask every channel for something it must find, and show indexes, gate, learning, tests and drift."""
        from assay.online.health import online_lines  # noqa: PLC0415 - the extra "memory"

        with wiring.open_engine(surface.settings, create=False) as engine:
            found = engine.health(surface.scope)
            beside = online_lines(engine, surface.scope, rng=np.random.default_rng(0))
        found = replace(found, lines=(*found.lines, *beside))
        surface.result(plain(found), _shown(found))
        if any(one.state == "silent" for one in found.lines):
            raise typer.Exit(StorageError.exit_code)


def _shown(found: HealthReport) -> Text:
    width = max(len(one.name) for one in found.lines)
    lines = [
        Text.assemble((f"{one.state:<9}", _STYLES.get(one.state, "")), f"{one.name:<{width}}  {one.reason}")
        for one in found.lines
    ]
    return Text("\n").join(lines)
