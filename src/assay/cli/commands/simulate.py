"""`assay simulate feedback`: what learning from use would do over many rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.plain import plain
from assay.cli.surface import Surface, command
from assay.formats.grid import grid

if TYPE_CHECKING:
    from assay.evaluation.simulating import Drift, RoundNumbers, Simulated

GROWN = 1
EVERY = 5
"""Rounds between two that are shown."""

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A name or path, such as agent-memory.")]
RoundsOption = Annotated[int, typer.Option("--rounds", min=5, max=1_000, help="Days that are simulated.")]
SearchesOption = Annotated[int, typer.Option("--searches", min=1, max=10_000, help="Searches on each of them.")]
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
        seed: SeedOption = 1,
        votes: VotesOption = 0.05,
        unsafe: UnsafeOption = False,
    ) -> None:
        """Let simulated users search a dataset's memory while it learns; exit 1 if exposure or quality goes wrong."""
        wiring.need_extra("memory", "sqlalchemy", "tantivy")
        from assay.evaluation.datasets import load_dataset  # noqa: PLC0415 - heavy, and only here
        from assay.evaluation.simulating import Habits, SimulationOptions, simulate  # noqa: PLC0415 - the same

        found = load_dataset(dataset, registry=wiring.registry_of(surface.settings))
        options = SimulationOptions(rounds=rounds, searches=searches, seed=seed, habits=Habits(votes=votes))
        with wiring.open_simulation(found, unsafe=unsafe) as place:
            surface.note(_HEAD)
            done = simulate(place, found, options, on_round=lambda one: _show(surface, one))
        told = {**plain(done), "grown": [one.name for one in done.grown], "unsafe": unsafe}
        surface.result(told, "\n".join(_lines(done, unsafe=unsafe)))
        if done.grown:
            raise typer.Exit(GROWN)


_HEAD = "round    gini (change)   entrenchment (change)   stale (change)   ndcg@10 change   terms"


def _show(surface: Surface, one: RoundNumbers) -> None:
    if one.number % EVERY == 0:
        surface.note(
            f"{one.number:>5}   {one.gini:.3f} ({one.gini_change:+.3f})          {one.entrenchment:.3f} "
            f"({one.entrenchment_change:+.3f})   {one.stale_served:.3f} ({one.stale_change:+.3f})"
            f"           {one.ndcg_change:+.3f}   {one.terms:>5}"
        )


def _lines(done: Simulated, *, unsafe: bool) -> Iterator[str]:
    yield f"{done.reads:,} reads, {done.votes:,} votes, {done.learned:,} terms learned"
    begun = "never applied" if done.applied_from is None else f"applied from round {done.applied_from} on"
    yield f"learned triggers were {begun}{'; no safeguard was on' if unsafe else ''}"
    if done.stopped:
        yield f"the kill switch stopped learning: {done.stopped}"
    yield f"the last {max(1, len(done.rounds) // 5)} rounds against a memory that learned nothing"
    yield from grid([("number", "control", "now", "change", "at least", ""), *map(_drift, done.drifts)], indent="  ")


def _drift(one: Drift) -> tuple[str, ...]:
    verdict = "grown" if one.grown else "held"
    return one.name, f"{one.control:.3f}", f"{one.now:.3f}", f"{one.change:+.3f}", f"{one.low:+.3f}", verdict
