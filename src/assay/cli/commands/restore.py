"""`assay restore`: undo the forgetting, quarantine, supersede or merge of one memory."""

from __future__ import annotations

import typer

from assay.cli.commands.show import IdArgument
from assay.cli.surface import Surface, command
from assay.records import SaveOutcome
from assay.verbs import memory as memory_verbs


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "restore")
    def restore(surface: Surface, memory_id: IdArgument) -> None:
        """Bring back a forgotten, quarantined or superseded memory, or take a merge apart; later saves stay."""
        done = surface.call(memory_verbs.RESTORE, memory_id=memory_id)
        surface.show(memory_verbs.RESTORE, done, restored(done))


def restored(done: SaveOutcome) -> str:
    """What was undone, and what now speaks against it."""
    lines = [f"restored {done.memory_id}: {'; '.join(step.detail for step in done.steps)}"]
    lines += [f"  contradicts {other}; both stay" for other in done.contradicts]
    return "\n".join(lines)
