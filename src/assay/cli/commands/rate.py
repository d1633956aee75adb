"""`assay rate`: say that an answer was useful, or was not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from assay import wiring
from assay.cli.commands.validate import UsefulOption, told
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.records.learning import Validated

AnswerArgument = Annotated[str, typer.Argument(metavar="ID", help="The log id of an answer, as `assay ask` tells it.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rate")
    def rate(surface: Surface, log_id: AnswerArgument, useful: UsefulOption = True) -> None:
        """Say that an answer was useful or was not: it counts for the memories that it cites."""
        from assay.research.rating import rate as rated  # noqa: PLC0415 - the extra "memory"

        with wiring.open_engine(surface.settings, create=False, run_once=True) as engine:
            done = rated(engine, surface.scope, log_id, useful=useful)
        surface.result({"log_id": log_id, "useful": useful, "memories": [plain(one) for one in done]}, _told(done))


def _told(done: Sequence[Validated]) -> str:
    return "\n".join(told(one) for one in done)
