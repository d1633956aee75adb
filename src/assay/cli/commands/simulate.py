"""`assay simulate feedback`: what learning from use would do over many rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.evaluation.datasets import load_dataset
from assay.extras import need_extra
from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.evaluation.simulation import Drift, Judged, RoundNumbers, Simulated, Verdict

EXITS = {"held": 0, "grown": 1, "unclear": 2}
EVERY = 5
"""Rounds between two that are shown."""

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A name or path, such as agent-memory.")]
RoundsOption = Annotated[int, typer.Option("--rounds", min=5, max=1_000, help="Days that are simulated.")]
SearchesOption = Annotated[int, typer.Option("--searches", min=1, max=10_000, help="Searches on each of them.")]
RepeatsOption = Annotated[
    int, typer.Option("--repeats", min=1, max=100, help="Simulations, each from a seed of its own, judged together.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Where chance begins.")]
VotesOption = Annotated[float, typer.Option("--votes", min=0.0, max=1.0, help="Of what is read, the share voted on.")]
UnsafeOption = Annotated[bool, typer.Option("--unsafe", help="Without safeguards, to see what they are for.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Try a policy on simulated users.", no_args_is_help=True)
    app.add_typer(group, name="simulate")

    @command(group, "feedback")
    def feedback(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: DatasetArgument,
        rounds: RoundsOption = 50,
        searches: SearchesOption = 40,
        repeats: RepeatsOption = 1,
        seed: SeedOption = 1,
        votes: VotesOption = 0.05,
        unsafe: UnsafeOption = False,
    ) -> None:
        """Let simulated users search a dataset's memory while it learns; exit 1 if that goes wrong, 2 if unclear."""
        need_extra("memory")
        from assay.evaluation.simulation import Habits, SimulationOptions, Verdict, judge, simulate  # noqa: PLC0415 - the extra "memory"

        found = load_dataset(dataset, registry=wiring.registry_of(surface.settings))
        options = SimulationOptions(rounds=rounds, searches=searches, seed=seed, habits=Habits(votes=votes))
        done = []
        for own in range(seed, seed + repeats):
            with wiring.open_simulation(found, unsafe=unsafe) as place:
                surface.note(f"seed {own}\n{_HEAD}")
                done.append(simulate(place, found, replace(options, seed=own), on_round=partial(_show, surface)))
        judged = judge(done)
        said = {str(verdict): judged.those(verdict) for verdict in Verdict}
        told = {**plain(judged), **said, "verdict": str(judged.verdict), "unsafe": unsafe}
        surface.result(told, "\n".join(_lines(judged, unsafe=unsafe)))
        raise typer.Exit(EXITS[judged.verdict])


_HEAD = "round    gini (change)   entrenchment (change)   stale (change)   ndcg@10 change   terms"


def _show(surface: Surface, one: RoundNumbers) -> None:
    if one.number % EVERY == 0:
        surface.note(
            f"{one.number:>5}   {one.gini:.3f} ({one.gini_change:+.3f})          {one.entrenchment:.3f} "
            f"({one.entrenchment_change:+.3f})   {one.stale_served:.3f} ({one.stale_change:+.3f})"
            f"           {one.ndcg_change:+.3f}   {one.terms:>5}"
        )


def _lines(judged: Judged, *, unsafe: bool) -> Iterator[str]:
    for one in judged.simulations:
        yield from _told(one, unsafe=unsafe)
    last = max(1, len(judged.simulations[0].rounds) // 5)
    of = "" if len(judged.simulations) == 1 else f" of each of {len(judged.simulations)} simulations"
    yield f"the last {last} rounds{of} against a memory that learned nothing"
    head = ("number", "control", "now", "change", "at least", "at most", "")
    yield from grid([head, *(_drift(drift, judged.verdict_of(drift)) for drift in judged.drifts)], indent="  ")
    yield f"{judged.changed:,} of {judged.searches:,} searches there gave another list than without learning"
    if not any(simulated.moved for simulated in judged.simulations):
        yield "Nothing was learned that could move a result, so this says nothing about learning."
        yield "Give more --rounds, --searches or --votes."


def _told(one: Simulated, *, unsafe: bool) -> Iterator[str]:
    votes = f"{one.votes:,} votes ({one.counted:,} counted)"
    yield f"seed {one.seed}: {one.reads:,} reads, {votes}, {one.learned:,} terms learned"
    begun = "never applied" if one.applied_from is None else f"applied from round {one.applied_from} on"
    yield f"  learned triggers were {begun}{'; no safeguard was on' if unsafe else ''}"
    if one.stopped:
        yield f"  the kill switch stopped learning: {one.stopped}"


def _drift(one: Drift, verdict: Verdict) -> tuple[str, ...]:
    numbers = (f"{one.control:.3f}", f"{one.now:.3f}", f"{one.change:+.3f}", f"{one.low:+.3f}", f"{one.high:+.3f}")
    return one.name, *numbers, verdict
