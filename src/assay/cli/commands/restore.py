"""`assay restore`: undo the forgetting, quarantine, supersede or merge of one memory."""

from __future__ import annotations

import typer

from assay import wiring
from assay.cli.commands.show import IdArgument
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.records import SaveOutcome


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "restore")
    def restore(surface: Surface, memory_id: IdArgument) -> None:
        """Bring back a forgotten, quarantined or superseded memory, or take a merge apart; later saves stay."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            done = engine.saver.restore(surface.scope, memory_id)
        surface.result(plain(done), restored(done))


def restored(done: SaveOutcome) -> str:
    """What was undone, and what now speaks against it."""
    lines = [f"restored {done.memory_id}: {'; '.join(step.detail for step in done.steps)}"]
    lines += [f"  contradicts {other}; both stay" for other in done.contradicts]
    return "\n".join(lines)
