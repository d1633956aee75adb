"""`assay validate`: say that a memory was useful, or was not."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.commands.show import IdArgument
from assay.cli.surface import Surface, command
from assay.records.learning import Validated
from assay.verbs import usage

UsefulOption = Annotated[bool, typer.Option("--useful/--not-useful", help="What it was worth.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session; its newest query that returned it is meant.")
]
QueryOption = Annotated[str | None, typer.Option("--query", metavar="ID", help="The query that returned it.")]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]
NoteOption = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, in a sentence.")]


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "validate")
    def validate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        memory_id: IdArgument,
        useful: UsefulOption = True,
        session: SessionOption = None,
        query: QueryOption = None,
        key: KeyOption = None,
        note: NoteOption = "",
    ) -> None:
        """Say that a memory was useful (+0.10 confidence) or was not (-0.05); often enough, it rises a tier."""
        done = surface.call(
            usage.VALIDATE,
            run_once=True,
            memory_id=memory_id,
            was_useful=useful,
            session_id=session,
            query_id=query,
            event_key=key,
            note=note,
        )
        surface.show(usage.VALIDATE, done, told(done))


def told(done: Validated) -> str:
    """What a verdict did, in a few lines."""
    if not done.counted:
        return f"{done.memory_id}: nothing changed, {done.reason}; confidence {done.confidence:.2f}"
    moved = f"{done.confidence_before:.2f} -> {done.confidence:.2f}"
    after = "1 validation" if done.validation_count == 1 else f"{done.validation_count} validations"
    lines = [f"{done.memory_id}: confidence {moved} after {after}"]
    if done.promoted:
        lines.append(f"  promoted: {done.tier_before.value} -> {done.tier.value}")
    if done.query_id is not None:
        place = "" if done.rank is None else f", at rank {done.rank}"
        lines.append(f"  for the query {done.query_id}{place}")
    return "\n".join(lines)
