"""`assay learn status|run|terms|changes|approve|rollback`: what was learned from use, and what is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.learning import CycleRun, LearnedTerm, LearningChange, LearningStatus, RolledBack
from assay.verbs import learning as learning_verbs

MemoryOption = Annotated[str | None, typer.Option("--memory", metavar="ID", help="Of this memory.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From this moment on, such as 2026-01-31T09:30 (UTC).")
]
WriterOption = Annotated[str | None, typer.Option("--writer", metavar="NAME", help="By this principal.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", help="At most this many, 1 to 200.")]
CursorOption = Annotated[str | None, typer.Option("--cursor", help="Where to go on, as the page before said.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="See, approve and take back what was learned from use.", no_args_is_help=True)
    app.add_typer(group, name="learn")

    @command(group, "status")
    def status(surface: Surface) -> None:
        """Show the state of learning: what is on, what was learned, and what keeps it from being applied."""
        found = surface.call(learning_verbs.STATUS)
        surface.show(learning_verbs.STATUS, found, "\n".join(_lines(found)))

    @command(group, "run")
    def run(surface: Surface) -> None:
        """Learn from what was recorded since the last time; the program does so by itself while it runs."""
        done = surface.call(learning_verbs.RUN)
        lines = [
            f"{done.events} events read, {done.learned} terms learned, {done.applied} applied, {done.expired} ended"
        ]
        if done.stopped:
            lines.append(f"learning was stopped: {done.stopped}")
        surface.show(learning_verbs.RUN, done, "\n".join(lines))

    @command(group, "terms")
    def terms(surface: Surface, memory: MemoryOption = None) -> None:
        """List learned terms with their state."""
        found = surface.call(learning_verbs.TERMS, memory_id=memory)
        rows = [("term", "memory", "state", "learned", "by"), *map(_term, found.terms)]
        surface.show(learning_verbs.TERMS, found, "\n".join(grid(rows)) if found.terms else "nothing was learned")

    @command(group, "changes")
    def changes(
        surface: Surface,
        memory: MemoryOption = None,
        since: SinceOption = None,
        limit: LimitOption = 100,
        cursor: CursorOption = None,
    ) -> None:
        """List what learning did to memories, oldest first."""
        found = surface.call(learning_verbs.LIST_CHANGES, memory_id=memory, since=since, limit=limit, cursor=cursor)
        rows = [("when", "memory", "what", "before", "after", "by"), *map(_change, found.changes)]
        text = "\n".join(grid(rows)) if found.changes else "nothing was changed"
        surface.show(learning_verbs.LIST_CHANGES, found, text)
        if found.next_cursor is not None:
            surface.note(f"There are more: assay learn changes --cursor {found.next_cursor}")

    @command(group, "approve")
    def approve(surface: Surface) -> None:
        """Let learned terms into memories; refused (exit 2) while anything else is missing."""
        found = surface.call(learning_verbs.APPROVE)
        surface.show(learning_verbs.APPROVE, found, "\n".join(_lines(found)))

    @command(group, "rollback")
    def rollback(
        surface: Surface, memory: MemoryOption = None, since: SinceOption = None, writer: WriterOption = None
    ) -> None:
        """Take back votes, promotions and learned terms: of a memory, from a moment on, by a writer."""
        done = surface.call(learning_verbs.ROLL_BACK, memory_id=memory, since=since, writer=writer)
        surface.show(learning_verbs.ROLL_BACK, done, _describe_undo(done))


def _lines(stands: LearningStatus) -> Iterator[str]:
    state = "applied" if stands.applying else "in the shadow: written down, not applied" if stands.on else "off"
    yield f"learned triggers are {state}"
    noise = "not known yet" if stands.noise.rate is None else f"{stands.noise.rate:.1%} of {stands.noise.tried} tried"
    facts = [
        ("switched on", _day(stands.activated_at)),
        ("shadow until", _day(stands.shadow_until)),
        ("evaluation cycles", str(stands.cycles)),
        ("measured", f"{stands.questions} of {stands.questions_needed} distinct questions of this memory"),
        ("noise", noise),
        ("approved", _day(stands.approved_at)),
        ("terms", ", ".join(f"{count} {state}" for state, count in stands.terms.items() if count) or "none"),
    ]
    if stands.killed_at is not None:
        facts.append(("stopped", f"{_day(stands.killed_at)}: {stands.killed_because}"))
    yield from grid(facts, indent="  ")
    if stands.runs:
        yield "  runs, newest first:"
        yield from grid(list(map(_run, stands.runs)), indent="    ")
    if not stands.on:
        yield "  To begin: assay flag on learn_from_selection"
    yield from (f"  missing ({refusal.safeguard.value}): {refusal.said}" for refusal in stands.closed if stands.on)


def _run(run: CycleRun) -> tuple[str, ...]:
    added = f"counted: {run.questions} questions" if run.counted else f"not counted: {run.reason}"
    return _day(run.at), run.run_id, run.dataset or "-", run.system or "-", added


def _term(one: LearnedTerm) -> tuple[str, ...]:
    return one.term, one.memory_id, one.state.value, _day(one.learned_at), one.writer


def _change(one: LearningChange) -> tuple[str, ...]:
    kind = one.kind.value if one.undone_at is None else f"{one.kind.value} (taken back)"
    return _day(one.at), one.memory_id, kind, _values(one.before), _values(one.after), one.writer


def _values(state: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(state.items()))


def _describe_undo(done: RolledBack) -> str:
    if not done.memories:
        return "nothing to take back"
    counts = f"{done.votes} votes, {done.promotions} promotions, {done.terms} terms"
    return f"taken back: {counts}, of {len(done.memories)} {'memory' if len(done.memories) == 1 else 'memories'}"


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
