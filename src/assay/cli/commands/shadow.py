"""`assay shadow status|replay`: treatments that run unseen beside what is shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.surface import Surface, command
from assay.errors import NothingMeasured
from assay.formats.grid import grid
from assay.records import Scope
from assay.records.flags import ShadowSummary

if TYPE_CHECKING:
    from assay.memory.engine import Engine

FlagArgument = Annotated[str, typer.Argument(metavar="FLAG", help="A flag; `assay flag list` has them all.")]
LastOption = Annotated[int, typer.Option("--last", metavar="N", min=1, max=10_000, help="Of the newest searches.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="See what a flag would change, without showing it to anybody.", no_args_is_help=True)
    app.add_typer(group, name="shadow")

    @command(group, "status")
    def status(surface: Surface) -> None:
        """List the flags that run in the shadow, and what their runs came to."""
        from assay.online.ladder import SHADOWED, summarise_shadows  # noqa: PLC0415 - the extra "memory"

        with wiring.open_engine(surface.settings) as engine:
            states = engine.flag_states(surface.scope)
            with engine.store.reading(surface.scope) as work:
                found = {name: summarise_shadows(work.shadow_runs.of(name, limit=SHADOWED)) for name in states}
        shown = {
            name: summary for name, summary in found.items() if summary.runs or summary.dropped or states[name].shadow
        }
        rows = [_HEAD, *(_row(name, summary) for name, summary in shown.items())]
        empty = "No flag runs in the shadow. Try `assay flag set NAME off --shadow`, or `assay shadow replay NAME`."
        surface.result(
            {name: asdict(summary) for name, summary in shown.items()}, "\n".join(grid(rows)) if shown else empty
        )

    @command(group, "replay")
    def replay(surface: Surface, flag: FlagArgument, last: LastOption = 200) -> None:
        """Ask the newest searches of use again, with a flag as it is and as it is not, and compare."""
        with wiring.open_engine(surface.settings) as engine:
            summary = _replay(engine, surface.scope, flag, last)
        surface.result(asdict(summary), "\n".join(grid([_HEAD, _row(flag, summary)])))


def _replay(engine: Engine, scope: Scope, flag: str, last: int) -> ShadowSummary:
    from assay.online.ladder import summarise_shadows  # noqa: PLC0415 - the extra "memory"
    from assay.online.shadow import replay  # noqa: PLC0415 - the extra "memory"

    on = engine.flag_states(scope)[flag].on
    control, treatment = (wiring.treatment_of(engine, flag, on=side) for side in (on, not on))
    runs = replay(engine.store, scope, flag, control, treatment, last=last, clock=engine.clock)
    if not runs:
        raise NothingMeasured("no search of use is logged yet", remedy="Search first, then replay.")
    return summarise_shadows(runs)


_HEAD = ("flag", "runs", "identical", "minor", "major", "incompatible", "failed", "dropped", "mrr@5", "p95 ms")


def _row(name: str, one: ShadowSummary) -> tuple[str, ...]:
    classes = [str(one.classes.get(kind, 0)) for kind in ("identical", "minor", "major", "incompatible")]
    gained = "-" if one.mean_mrr_delta is None else f"{one.mean_mrr_delta:+.3f} ({one.judged})"
    times = one.latency_p95_ms
    shown = "-" if times is None else f"{times.control:.1f} -> {times.treatment:.1f}"
    return (name, str(one.runs), *classes, str(one.problems), str(one.dropped), gained, shown)
