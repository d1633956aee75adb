"""`assay learn status|run|terms|changes|approve|rollback`: what was learned from use, and what is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.errors import InputError
from assay.formats.grid import grid
from assay.records.learning import LearnedTerm, LearningChange

if TYPE_CHECKING:
    from assay.memory.learning import RolledBack, Standing

MemoryOption = Annotated[str | None, typer.Option("--memory", metavar="ID", help="Of this memory.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="From this moment on, such as 2026-01-31T09:30 (UTC).")
]
WriterOption = Annotated[str | None, typer.Option("--writer", metavar="NAME", help="By this principal.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="See, approve and take back what was learned from use.", no_args_is_help=True)
    app.add_typer(group, name="learn")

    @command(group, "status")
    def status(surface: Surface) -> None:
        """Show how learning stands: what is on, what was learned, and what keeps it from being applied."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            stands = engine.learning.standing(surface.scope)
        _tell(surface, stands)

    @command(group, "run")
    def run(surface: Surface) -> None:
        """Learn from what was recorded since the last time; the program does so by itself while it runs."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            done = engine.learning.catch_up(surface.scope)
        lines = [
            f"{done.events} events read, {done.learned} terms learned, {done.applied} applied, {done.expired} ended"
        ]
        if done.stopped:
            lines.append(f"learning was stopped: {done.stopped}")
        surface.result(plain(done), "\n".join(lines))

    @command(group, "terms")
    def terms(surface: Surface, memory: MemoryOption = None) -> None:
        """List learned terms with their state."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            found = engine.learning.terms(surface.scope, memory)
        rows = [("term", "memory", "state", "learned", "by"), *map(_term, found)]
        surface.result(plain(found), "\n".join(grid(rows)) if found else "nothing was learned")

    @command(group, "changes")
    def changes(
        surface: Surface, memory: MemoryOption = None, since: SinceOption = None, limit: LimitOption = 100
    ) -> None:
        """List what learning did to memories, oldest first."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            found = engine.learning.changes(surface.scope, memory_id=memory, since=_moment(since), limit=limit)
        rows = [("when", "memory", "what", "before", "after", "by"), *map(_change, found)]
        surface.result(plain(found), "\n".join(grid(rows)) if found else "nothing was changed")

    @command(group, "approve")
    def approve(surface: Surface) -> None:
        """Let learned terms into memories; refused (exit 2) while anything else is missing."""
        with wiring.open_engine(surface.settings, create=False) as engine:
            stands = engine.learning.approve(surface.scope)
        _tell(surface, stands)

    @command(group, "rollback")
    def rollback(
        surface: Surface, memory: MemoryOption = None, since: SinceOption = None, writer: WriterOption = None
    ) -> None:
        """Take back votes, promotions and learned terms: of a memory, from a moment on, by a writer."""
        from assay.memory.learning import Which  # noqa: PLC0415 - the extra "memory"

        which = Which(memory_id=memory, since=_moment(since), writer=writer)
        with wiring.open_engine(surface.settings, create=False) as engine:
            done = engine.learning.roll_back(surface.scope, which)
        surface.result(plain(done), _taken_back(done))


def _moment(said: str | None) -> datetime | None:
    if said is None:
        return None
    try:
        found = datetime.fromisoformat(said)
    except ValueError as problem:
        raise InputError(f"{said!r} is not a time", remedy="Write it as 2026-01-31T09:30.") from problem
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _tell(surface: Surface, stands: Standing) -> None:
    told: dict[str, Any] = {**plain(stands), "applying": stands.applying}
    told["noise"] = {**told["noise"], "rate": stands.noise.rate}
    surface.result(told, "\n".join(_lines(stands)))


def _lines(stands: Standing) -> Iterator[str]:
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
    if not stands.on:
        yield "  To begin: assay flag on learn_from_selection"
    yield from (f"  missing ({one.safeguard.value}): {one.said}" for one in stands.closed if stands.on)


def _term(one: LearnedTerm) -> tuple[str, ...]:
    return one.term, one.memory_id, one.state.value, _day(one.learned_at), one.writer


def _change(one: LearningChange) -> tuple[str, ...]:
    kind = one.kind.value if one.undone_at is None else f"{one.kind.value} (taken back)"
    return _day(one.at), one.memory_id, kind, _values(one.before), _values(one.after), one.writer


def _values(state: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(state.items()))


def _taken_back(done: RolledBack) -> str:
    if not done.memories:
        return "nothing to take back"
    counts = f"{done.votes} votes, {done.promotions} promotions, {done.terms} terms"
    return f"taken back: {counts}, of {len(done.memories)} {'memory' if len(done.memories) == 1 else 'memories'}"


def _day(moment: datetime | None) -> str:
    return "-" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
