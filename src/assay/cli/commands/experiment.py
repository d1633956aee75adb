"""Commands that try a change: experiment and simulate.

- `assay experiment run|list|show`: one change against what is in force, and the book of all that were tried.
- `assay simulate feedback`: what learning from use would do over many rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay import wiring
from assay.cli.colours import colour_verdicts
from assay.cli.plain import plain
from assay.cli.progress import Show, count_as, count_cases, show_progress
from assay.cli.runs import RunsOption
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor
from assay.clock import SystemClock
from assay.errors import BadValue
from assay.evaluation.comparison import number
from assay.evaluation.datasets import for_scoring, load_dataset
from assay.evaluation.experiments import EXIT_CODES, Book, Experiment, ExperimentPlan, Try, count_tries, perform
from assay.evaluation.gating import GateOptions
from assay.evaluation.running.files import DEFAULT_RUNS
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.extras import need_extra
from assay.formats.grid import grid
from assay.metrics.spec import MetricSpec, parse_specs
from assay.records.datasets import Dataset
from assay.systems.protocol import System

if TYPE_CHECKING:
    from assay.evaluation.simulation import Drift, RoundNumbers, Simulated, SimulationJudgment, Trend


# --- `assay experiment run|list|show`: one change against what is in force, and the book of all that were tried ---

ExperimentDatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A dataset's name or path, such as hotel.")
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="An experiment's id, or latest.")]
SetOption = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="What to change: a setting, mode, channels or flags.NAME."),
]
BaseOption = Annotated[str, typer.Option("--base", metavar="SPEC", help="What is changed: assay[:key=value,...].")]
DescriptionOption = Annotated[str, typer.Option("--description", "-d", help="Why this is tried, in a sentence.")]
MetricsOption = Annotated[list[str], typer.Option("--metrics", "-m", metavar="LIST", help="Such as ndcg@10,mrr.")]
MetricOption = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="The one that has to gain; default: the first nDCG.")
]
SampleOption = Annotated[float | None, typer.Option("--sample", metavar="SHARE", help="A share of the cases.")]
FileOption = Annotated[Path, typer.Option("--file", metavar="FILE", help="Where experiments are written down.")]
_FILE = Path("experiments.json")


def register_experiment(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Try a change against what is in force, and keep what came of it.", no_args_is_help=True)
    app.add_typer(group, name="experiment")
    _register_run(group)

    @command(group, "list")
    def list_all(surface: Surface, file: FileOption = _FILE) -> None:
        """List what was tried, oldest first."""
        known = _book(file).all()
        tries = count_tries(known)
        shown = "\n".join(_listing(known, tries)) if known else f"{file} has no experiments yet."
        surface.result([_as_json(experiment, tries[experiment.id]) for experiment in known], shown)

    @command(group, "show")
    def show(surface: Surface, wanted: IdArgument = "latest", file: FileOption = _FILE) -> None:
        """Show one experiment with its numbers."""
        book = _book(file)
        found = book.get(wanted)
        tried = book.tries()[found.id]
        surface.result(_as_json(found, tried), colour_verdicts("\n".join(_format_experiment(found, tried))))


def _register_run(group: typer.Typer) -> None:
    @command(group, "run")
    def run(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: ExperimentDatasetArgument,
        changes: SetOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        base: BaseOption = "assay",
        description: DescriptionOption = "",
        metrics: MetricsOption = [],  # noqa: B006 - the same
        metric: MetricOption = None,
        sample: SampleOption = None,
        file: FileOption = _FILE,
        runs: RunsOption = None,
    ) -> None:
        """Run a dataset with and without a change; exit 0: accepted, 1: rejected, 2: undecided with these cases."""
        scored = for_scoring(load_dataset(dataset, registry=wiring.registry_of(surface.settings)))
        plan = ExperimentPlan(
            dataset=scored.dataset,
            changes=dict(_pair(change) for change in changes),
            description=description,
            base=base,
            metric=None if metric is None else str(MetricSpec.parse(metric)),
            options=RunOptions(
                metrics=parse_specs(metrics) if metrics else None,
                sample=sample,
                instrument=scored.instrument,
            ),
            gate=GateOptions(floors=surface.settings.floors),
        )
        book = _book(file)
        book.all()  # a file that cannot be read is told before the runs, not after them
        found = _perform(surface, plan, runs, book.earlier(plan.series))
        book.add(found)
        tried = book.tries()[found.id]
        surface.result(_as_json(found, tried), colour_verdicts("\n".join(_format_experiment(found, tried))))
        surface.note(f"Written to {file}")
        raise typer.Exit(EXIT_CODES[found.verdict])


def _perform(surface: Surface, plan: ExperimentPlan, runs: Path | None, earlier: int) -> Experiment:
    place = runs or surface.settings.runs_folder or DEFAULT_RUNS
    with show_progress(surface, "documents") as show:
        running = Running(runs=place, clock=SystemClock(), on_case=count_cases(show, "cases"))

        def open_system(spec: str, dataset: Dataset) -> System:
            if show is None:
                surface.progress(f"Running {spec} over {dataset.name}: {len(dataset.cases)} cases ...")
            return wiring.open_system(spec, dataset, on_document=count_as(show, f"{spec}: documents"))

        return perform(plan, open_system, running, earlier=earlier).experiment


def _book(file: Path) -> Book:
    return Book(file)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise BadValue(f"--set {text!r} is not a key and a value", remedy="Give it as --set chunking.max_tokens=128.")
    return key.strip(), value.strip()


def _as_json(experiment: Experiment, tried: Try) -> dict[str, object]:
    return {**experiment.as_json(), "tries": tried._asdict()}


def _listing(known: list[Experiment], tries: Mapping[str, Try]) -> Iterator[str]:
    yield from grid(list(_rows(known, tries)))
    yield ""
    for dataset, version, control in dict.fromkeys(experiment.series for experiment in known):
        last = next(experiment for experiment in reversed(known) if experiment.series == (dataset, version, control))
        tried = tries[last.id]
        yield f"{dataset} {version} against {control}: {tried.of} tries, {tried.accepted} accepted."


def _rows(known: list[Experiment], tries: Mapping[str, Try]) -> Iterator[tuple[str, ...]]:
    yield ("id", "date", "dataset", "try", "change", "metric", "before", "after", "alpha", "verdict")
    for experiment in known:
        counted = experiment.results.get(experiment.metric, {})
        yield (
            experiment.id,
            f"{experiment.date:%Y-%m-%d %H:%M}",
            experiment.dataset,
            f"{tries[experiment.id].number} of {tries[experiment.id].of}",
            experiment.description,
            experiment.metric,
            number(counted.get("before")),
            number(counted.get("after")),
            f"{experiment.alpha:.2g}",
            experiment.verdict.value,
        )


def _format_experiment(one: Experiment, tried: Try) -> Iterator[str]:
    yield f"{one.verdict.value}  {one.reason}"
    yield f"{tried.sentence.capitalize()}, over {one.dataset} with this control. It was held to p <= {one.alpha:.2g}."
    yield ""
    yield f"{one.id}, {one.date:%Y-%m-%d %H:%M}: {one.description}"
    yield f"on {one.dataset} {one.dataset_version}; gate: {one.gate}"
    yield from grid([("control", *_side(one.control)), ("treatment", *_side(one.treatment))], indent="  ")
    yield ""
    yield from grid(
        [("metric", "before", "after", "difference [95 %]", "p (Holm)", "wins/ties/losses"), *_numbers(one)]
    )


def _side(side: object) -> tuple[str, str]:
    return (side["system"], side["run_id"]) if isinstance(side, dict) else ("", "")


def _numbers(one: Experiment) -> Iterator[tuple[str, ...]]:
    for name, found in one.results.items():
        limits = found.get("interval")
        inner = f" [{number(limits[0])}, {number(limits[1])}]" if limits else ""
        delta = "-" if found.get("delta") is None else f"{found['delta']:+.3f}{inner}"
        score = f"{found.get('wins')}/{found.get('ties')}/{found.get('losses')}"
        yield (
            name,
            number(found.get("before")),
            number(found.get("after")),
            delta,
            number(found.get("p_adjusted")),
            score,
        )


# --- `assay simulate feedback`: what learning from use would do over many rounds ---

EXITS = {"held": 0, "grown": 1, "unclear": 2}
EVERY = 5
"""Rounds between two that are shown."""

SimulateDatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A name or path, such as agent-memory.")
]
RoundsOption = Annotated[int, typer.Option("--rounds", min=5, max=1_000, help="Days that are simulated.")]
SearchesOption = Annotated[int, typer.Option("--searches", min=1, max=10_000, help="Searches on each of them.")]
RepeatsOption = Annotated[
    int, typer.Option("--repeats", min=1, max=100, help="Simulations, each from a seed of its own, judged together.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Where chance begins.")]
VotesOption = Annotated[float, typer.Option("--votes", min=0.0, max=1.0, help="Of what is read, the share voted on.")]
UnsafeOption = Annotated[bool, typer.Option("--unsafe", help="Without safeguards, to see what they are for.")]


def register_simulate(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Try a policy on simulated users.", no_args_is_help=True)
    app.add_typer(group, name="simulate")

    @command(group, "feedback")
    def feedback(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: SimulateDatasetArgument,
        rounds: RoundsOption = 50,
        searches: SearchesOption = 40,
        repeats: RepeatsOption = 1,
        seed: SeedOption = 1,
        votes: VotesOption = 0.05,
        unsafe: UnsafeOption = False,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Let simulated users search a dataset's memory while it learns; exit 1 if that goes wrong, 2 if unclear."""
        need_extra("memory")
        from assay.evaluation.simulation import Habits, SimulationOptions, Trend, judge, simulate  # noqa: PLC0415 - the extra "memory"

        found = load_dataset(dataset, registry=wiring.registry_of(surface.settings))
        options = SimulationOptions(rounds=rounds, searches=searches, seed=seed, habits=Habits(votes=votes))
        seeds = range(seed, seed + repeats)
        with open_executor(surface, processes, cluster) as executor:
            done = (
                [] if executor is None else wiring.simulate_on_workers(found, options, seeds, executor, unsafe=unsafe)
            )
        for own in seeds[len(done) :]:
            with (
                show_progress(surface, "documents") as show,
                wiring.open_simulation(found, unsafe=unsafe, on_document=count_as(show, "documents")) as place,
            ):
                on_round = partial(_show, surface, show, rounds)
                if show is None:
                    surface.note(f"seed {own}\n{_HEAD}")
                done.append(simulate(place, found, replace(options, seed=own), on_round=on_round))
        judged = judge(done)
        said = {str(verdict): judged.those(verdict) for verdict in Trend}
        told = {**plain(judged), **said, "verdict": str(judged.verdict), "unsafe": unsafe}
        surface.result(told, "\n".join(_format_simulate(judged, unsafe=unsafe)))
        raise typer.Exit(EXITS[judged.verdict])


_HEAD = "round    gini (change)   entrenchment (change)   stale (change)   ndcg@10 change   terms"


def _show(surface: Surface, show: Show | None, rounds: int, one: RoundNumbers) -> None:
    """Move the bar, or print the numbers of every fifth round where there is none."""
    if show is not None:
        show(one.number, rounds, f"rounds, ndcg@10 {one.ndcg_change:+.3f}, gini {one.gini_change:+.3f}")
    elif one.number % EVERY == 0:
        surface.note(
            f"{one.number:>5}   {one.gini:.3f} ({one.gini_change:+.3f})          {one.entrenchment:.3f} "
            f"({one.entrenchment_change:+.3f})   {one.stale_served:.3f} ({one.stale_change:+.3f})"
            f"           {one.ndcg_change:+.3f}   {one.terms:>5}"
        )


def _format_simulate(judged: SimulationJudgment, *, unsafe: bool) -> Iterator[str]:
    for simulation in judged.simulations:
        yield from _simulation_lines(simulation, unsafe=unsafe)
    last = max(1, len(judged.simulations[0].rounds) // 5)
    of = "" if len(judged.simulations) == 1 else f" of each of {len(judged.simulations)} simulations"
    yield f"the last {last} rounds{of} against a memory that learned nothing"
    head = ("number", "control", "now", "change", "at least", "at most", "")
    yield from grid([head, *(_drift(drift, judged.verdict_of(drift)) for drift in judged.drifts)], indent="  ")
    yield f"{judged.changed:,} of {judged.searches:,} searches there gave another list than without learning"
    if not any(simulated.moved for simulated in judged.simulations):
        yield "Nothing was learned that could move a result, so this says nothing about learning."
        yield "Give more --rounds, --searches or --votes."


def _simulation_lines(one: Simulated, *, unsafe: bool) -> Iterator[str]:
    votes = f"{one.votes:,} votes ({one.counted:,} counted)"
    yield f"seed {one.seed}: {one.reads:,} reads, {votes}, {one.learned:,} terms learned"
    noise = "not known" if one.noise is None else f"{one.noise:.1%}"
    wrong = f"{one.applied} applied, {one.misleading} of them misleading by the dataset's grades"
    yield f"  noise by users' choices {noise}; {wrong}"
    begun = "never applied" if one.applied_from is None else f"applied from round {one.applied_from} on"
    yield f"  learned triggers were {begun}{'; no safeguard was on' if unsafe else ''}"
    if one.stopped:
        yield f"  the kill switch stopped learning: {one.stopped}"


def _drift(one: Drift, verdict: Trend) -> tuple[str, ...]:
    numbers = (f"{one.control:.3f}", f"{one.now:.3f}", f"{one.change:+.3f}", f"{one.low:+.3f}", f"{one.high:+.3f}")
    return one.name, *numbers, verdict


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    register_experiment(app)
    register_simulate(app)
