"""`assay experiment run|list|show`: one change against what is in force, and the book of all that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from assay import wiring
from assay.cli.runs import RunsOption
from assay.cli.surface import Surface, command
from assay.clock import SystemClock
from assay.errors import BadValue
from assay.evaluation.comparison import number
from assay.evaluation.datasets import for_scoring, load_dataset
from assay.evaluation.experiments import EXIT_CODES, Book, Experiment, Plan, Try, count_tries, perform
from assay.evaluation.gating import GateOptions
from assay.evaluation.running.files import DEFAULT_RUNS
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.formats.grid import grid
from assay.metrics.spec import MetricSpec, parse_specs
from assay.records.datasets import Dataset
from assay.systems.protocol import System

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset's name or path, such as hotel.")]
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


def register(app: typer.Typer) -> None:
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
        surface.result(_as_json(found, tried), "\n".join(_lines(found, tried)))


def _register_run(group: typer.Typer) -> None:
    @command(group, "run")
    def run(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: DatasetArgument,
        changes: SetOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        base: BaseOption = "assay",
        description: DescriptionOption = "",
        metrics: MetricsOption = [],  # noqa: B006 - the same
        metric: MetricOption = None,
        sample: SampleOption = None,
        file: FileOption = _FILE,
        runs: RunsOption = None,
    ) -> None:
        """Run a dataset with and without a change; exit 0 accepted, 1 rejected, 2 these cases cannot tell."""
        scored = for_scoring(load_dataset(dataset, registry=wiring.registry_of(surface.settings)))
        plan = Plan(
            dataset=scored.dataset,
            changes=dict(_pair(one) for one in changes),
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
        found = _performed(surface, plan, runs, book.earlier(plan.series))
        book.add(found)
        tried = book.tries()[found.id]
        surface.result(_as_json(found, tried), "\n".join(_lines(found, tried)))
        surface.note(f"Written to {file}")
        raise typer.Exit(EXIT_CODES[found.verdict])


def _performed(surface: Surface, plan: Plan, runs: Path | None, earlier: int) -> Experiment:
    place = runs or surface.settings.runs_folder or DEFAULT_RUNS
    running = Running(runs=place, clock=SystemClock())

    def open_system(spec: str, dataset: Dataset) -> System:
        surface.progress(f"Running {spec} over {dataset.name}: {len(dataset.cases)} cases ...")
        return wiring.open_system(spec, dataset)

    return perform(plan, open_system, running, earlier=earlier).experiment


def _book(file: Path) -> Book:
    return Book(file)


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.strip():
        raise BadValue(f"--set {text!r} is no key and value", remedy="Give it as --set chunking.max_tokens=128.")
    return key.strip(), value.strip()


def _as_json(experiment: Experiment, tried: Try) -> dict[str, object]:
    return {**experiment.as_json(), "tries": tried._asdict()}


def _listing(known: list[Experiment], tries: Mapping[str, Try]) -> Iterator[str]:
    yield from grid(list(_rows(known, tries)))
    yield ""
    for dataset, version, control in dict.fromkeys(experiment.series for experiment in known):
        last = next(one for one in reversed(known) if one.series == (dataset, version, control))
        tried = tries[last.id]
        yield f"{dataset} {version} against {control}: {tried.of} tries, {tried.accepted} accepted."


def _rows(known: list[Experiment], tries: Mapping[str, Try]) -> Iterator[tuple[str, ...]]:
    yield ("id", "date", "dataset", "try", "change", "metric", "before", "after", "alpha", "verdict")
    for one in known:
        counted = one.results.get(one.metric, {})
        yield (
            one.id,
            f"{one.date:%Y-%m-%d %H:%M}",
            one.dataset,
            f"{tries[one.id].number} of {tries[one.id].of}",
            one.description,
            one.metric,
            number(counted.get("before")),
            number(counted.get("after")),
            f"{one.alpha:.2g}",
            one.verdict.value,
        )


def _lines(one: Experiment, tried: Try) -> Iterator[str]:
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
