"""Commands for feedback on results: validate, rate, observe.

- `assay validate`: say that a memory was useful, or was not.
- `assay rate`: say that an answer was useful, or was not.
- `assay observe`: record what an agent read or wrote, as evidence of which results were useful.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from assay.cli.commands.memories import IdArgument
from assay.cli.surface import Surface, command
from assay.records.learning import Observed, Validated
from assay.verbs import research, usage

# --- `assay validate`: say that a memory was useful, or was not ---

UsefulOption = Annotated[bool, typer.Option("--useful/--not-useful", help="What it was worth.")]
ValidateSessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="The session; its newest query that returned it is meant.")
]
QueryOption = Annotated[str | None, typer.Option("--query", metavar="ID", help="The query that returned it.")]
ValidateKeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]
NoteOption = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, in a sentence.")]


def register_validate(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "validate")
    def validate(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        memory_id: IdArgument,
        useful: UsefulOption = True,
        session: ValidateSessionOption = None,
        query: QueryOption = None,
        key: ValidateKeyOption = None,
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
        surface.show(usage.VALIDATE, done, describe_validation(done))


def describe_validation(done: Validated) -> str:
    """Describe what a validation changed."""
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


# --- `assay rate`: say that an answer was useful, or was not ---

AnswerArgument = Annotated[str, typer.Argument(metavar="ID", help="The log id of an answer, as `assay ask` tells it.")]


def register_rate(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "rate")
    def rate(surface: Surface, log_id: AnswerArgument, useful: UsefulOption = True) -> None:
        """Say that an answer was useful or was not: it counts for the memories that it cites."""
        rating = surface.call(research.RATE, run_once=True, log_id=log_id, was_useful=useful)
        surface.show(research.RATE, rating, "\n".join(map(describe_validation, rating.memories)))


# --- `assay observe`: record what an agent read or wrote, as evidence of which results were useful ---

ObserveSessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="The session that was observed.")]
MemoryOption = Annotated[str | None, typer.Option("--memory", metavar="ID", help="A memory that was read.")]
PathOption = Annotated[str | None, typer.Option("--path", metavar="PATH", help="The path of a file that was read.")]
WroteOption = Annotated[
    str | None, typer.Option("--wrote", metavar="TEXT", help="A text that was written; - reads standard input.")
]
ObserveKeyOption = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="Sent twice under one key, it counts once.")
]


def register_observe(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "observe")
    def observe(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        session: ObserveSessionOption,
        memory: MemoryOption = None,
        path: PathOption = None,
        wrote: WroteOption = None,
        key: ObserveKeyOption = None,
    ) -> None:
        """Record what an agent read or wrote in a session, as feedback on its searches."""
        text = sys.stdin.read() if wrote == "-" else wrote
        given = {"session_id": session, "memory_id": memory, "path": path, "wrote": text, "event_key": key}
        event = {name: value for name, value in given.items() if value is not None}
        done = surface.call(usage.RECORD, run_once=True, events=[event])
        surface.show(usage.RECORD, done, _describe_events(done.recorded[0], session))


def _describe_events(done: Observed, session: str) -> str:
    if not done.events:
        return f"nothing recorded: no search of the session {session} returned it"
    lines = [f"{done.new} new, {done.repeated} recorded before"]
    for event in done.events:
        place = "" if event.rank_in_results is None else f" at rank {event.rank_in_results}"
        lines.append(f"  {event.event_type.value:<18} {event.memory_id or ''}{place} of {event.query_id}")
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_validate(app)
    register_rate(app)
    register_observe(app)
