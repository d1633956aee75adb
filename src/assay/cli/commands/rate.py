"""`assay rate`: say that an answer was useful, or was not."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.commands.validate import UsefulOption, told
from assay.cli.surface import Surface, command
from assay.verbs import research as research_verbs

AnswerArgument = Annotated[str, typer.Argument(metavar="ID", help="The log id of an answer, as `assay ask` tells it.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rate")
    def rate(surface: Surface, log_id: AnswerArgument, useful: UsefulOption = True) -> None:
        """Say that an answer was useful or was not: it counts for the memories that it cites."""
        rating = surface.call(research_verbs.RATE, run_once=True, log_id=log_id, was_useful=useful)
        surface.show(research_verbs.RATE, rating, "\n".join(map(told, rating.memories)))
