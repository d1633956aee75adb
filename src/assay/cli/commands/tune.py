"""`assay tune`: measure what a setting should be.

- `assay tune fusion`: other weights and methods, tried on logged channel lists, confirmed by a run.
- `assay tune thresholds`: where an embedder's similarities begin to mean something. `fusion` is in `tune_fusion`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from assay import wiring
from assay.cli.plain import plain
from assay.cli.progress import Show, count_as, count_cases, show_progress
from assay.cli.runs import RunsOption
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, open_executor, worker_lines
from assay.clock import SystemClock
from assay.errors import BadValue, MalformedFile
from assay.evaluation.datasets import ForScoring, for_scoring, load_dataset
from assay.evaluation.datasets.bundled import load_scenarios
from assay.evaluation.experiments import ExperimentPlan, Performed, perform
from assay.evaluation.gating import GateOptions
from assay.evaluation.run_metrics import default_metrics
from assay.evaluation.running.files import DEFAULT_RUNS
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.extras import need_extra
from assay.formats.grid import grid
from assay.metrics.spec import MetricSpec
from assay.records import Channel, FusionMethod
from assay.records.fields import one_of
from assay.regular_files import read_regular_text

if TYPE_CHECKING:
    from assay.evaluation.tuning import FusionChoice, LoggedCase, Replay, Space, Tuned
    from assay.memory.saving.thresholds import Cut, LabelledPair, ThresholdReport
    from assay.systems.assay_engine import AssaySystem
    from assay.work.jobs import Executor


# --- `assay tune fusion`: other weights and methods, tried on logged channel lists, confirmed by a run ---

DatasetArgument = Annotated[
    str, typer.Argument(metavar="DATASET", help="A dataset with grades, such as hotel or agent-memory.")
]
SystemOption = Annotated[str, typer.Option("--system", "-s", metavar="SPEC", help="What is tuned: assay[:...].")]
MetricOption = Annotated[str, typer.Option("--metric", "-m", metavar="NAME", help="What has to gain, with a cutoff.")]
CountOption = Annotated[int, typer.Option("--configurations", "-n", metavar="N", help="How many are tried.")]
MethodOption = Annotated[
    list[str], typer.Option("--method", metavar="NAME", help="convex or rrf; default: both. May be given twice.")
]
RangeOption = Annotated[
    list[str],
    typer.Option("--range", metavar="CHANNEL=LOW:HIGH", help="From where to where a weight is tried."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of what is drawn, and of the folds.")]
LostOption = Annotated[int, typer.Option("--allow-lost", metavar="N", min=0, help="Cases that may be lost.")]
ReplayOption = Annotated[bool, typer.Option("--replay-only", help="Do not confirm the choice by a run.")]
ACCEPTED, KEEP = 0, 2
CHOICES_AT_A_TIME = 50
FINDING = "recall@5"
"""By which the gate tells whether a case is found."""


def register_fusion(group: typer.Typer) -> None:
    """Add the command to its group."""

    @command(group, "fusion")
    def fusion(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: DatasetArgument,
        system: SystemOption = "assay",
        metric: MetricOption = "ndcg@10",
        configurations: CountOption = 2_000,
        method: MethodOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        ranges: RangeOption = [],  # noqa: B006 - the same
        allow_lost: LostOption = 0,
        seed: SeedOption = 0,
        replay_only: ReplayOption = False,
        runs: RunsOption = None,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Find better fusion weights from logged searches; exit 0 a better one was confirmed, 2 keep what you have."""
        scored = for_scoring(load_dataset(dataset, registry=wiring.registry_of(surface.settings)))
        asked = _Asked(scored=scored, system=system, metric=metric, lost=allow_lost, seed=seed)
        space = _space(configurations, method, ranges)
        with open_executor(surface, processes, cluster) as executor, show_progress(surface, "documents") as show:
            asked = replace(asked, show=show)
            tuned = _tuned(surface, asked, space, executor)
            skip = tuned.keep or replay_only
            confirmed = None if skip else _confirmed(surface, asked, tuned, runs, executor)
        told = {**tuned.as_json(), "confirmed": None if confirmed is None else confirmed.experiment.as_json()}
        surface.result(told, "\n".join(_format_fusion(tuned, confirmed, replay_only=replay_only)))
        accepted = confirmed is not None and confirmed.experiment.verdict == "ACCEPTED"
        raise typer.Exit(ACCEPTED if accepted or (replay_only and not tuned.keep) else KEEP)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    scored: ForScoring
    system: str
    metric: str
    lost: int
    seed: int
    show: Show | None = None
    """Shows how far it is; None: nobody watches."""


def _space(count: int, methods: list[str], ranges: list[str]) -> Space:
    from assay.evaluation.tuning import Space  # noqa: PLC0415 - the extra "memory"

    given: dict[str, Any] = (
        {} if not methods else {"methods": tuple(one_of(FusionMethod)(m, "method") for m in methods)}
    )
    return Space(count=count, ranges=dict(map(_range, ranges)), **given)


def _range(text: str) -> tuple[Channel, tuple[float, float]]:
    name, _, limits = text.partition("=")
    low, _, high = limits.partition(":")
    channel = one_of(Channel)(name.strip(), "range")
    try:
        return channel, (float(low), float(high or low))
    except ValueError as problem:
        raise BadValue(f"--range {text!r} cannot be read", remedy="Give it as --range bm25=0.1:0.6.") from problem


def _tuned(surface: Surface, asked: _Asked, space: Space, executor: Executor | None) -> Tuned:
    from assay.evaluation.tuning import Replay, measure_on_workers, space_of, tune  # noqa: PLC0415 - the extra "memory"

    spec, dataset, rng = MetricSpec.parse(asked.metric), asked.scored.dataset, np.random.default_rng(asked.seed)
    tunable = wiring.open_tunable(asked.system, dataset, on_document=count_as(asked.show, "documents"))
    with closing(tunable.system) as system:
        logged = _gather(surface, asked, system, max(10, spec.cutoff or 0), executor)
    replay, finding = (
        Replay(logged, one, level=dataset.relevance_level, aggregated=tunable.aggregated)
        for one in (spec, MetricSpec.parse(FINDING))
    )
    choices = space_of(tunable.incumbent, space, rng)
    measure = partial(_measure_here, asked.show) if executor is None else partial(measure_on_workers, executor)
    return tune(replay, choices, rng, finding=finding, may_lose=asked.lost, measure=measure)


def _measure_here(show: Show | None, replay: Replay, choices: Sequence[FusionChoice]) -> NDArray[np.float64]:
    """Replay the choices some at a time, so that the bar moves."""
    found: list[NDArray[np.float64]] = []
    for begin in range(0, len(choices), CHOICES_AT_A_TIME):
        found.append(replay.measure(choices[begin : begin + CHOICES_AT_A_TIME]))
        if show is not None:
            done = min(begin + CHOICES_AT_A_TIME, len(choices))
            show(done, len(choices), f"configurations, {replay.metric}")
    return np.concatenate(found)


def _gather(
    surface: Surface, asked: _Asked, system: AssaySystem, k: int, executor: Executor | None
) -> list[LoggedCase]:
    """Search every case, here or on workers."""
    from assay.evaluation.tuning import gather, gather_on_workers  # noqa: PLC0415 - the extra "memory"

    dataset, open_remote = asked.scored.dataset, wiring.remote_system(surface.settings, asked.system)
    if executor is None or open_remote is None:
        return gather(system, dataset.cases, k=k, on_case=count_as(asked.show, "searches"))
    found = gather_on_workers(system, dataset, k=k, executor=executor, open_remote=open_remote)
    for line in worker_lines(executor.workers(), "cases"):
        surface.note(line)
    return found


def _confirmed(
    surface: Surface, asked: _Asked, tuned: Tuned, runs: Path | None, executor: Executor | None
) -> Performed:
    """The engine itself with and without the choice, before the gate."""
    dataset, spec = asked.scored.dataset, MetricSpec.parse(asked.metric)
    plan = ExperimentPlan(
        dataset=dataset,
        changes=tuned.chosen.settings(tuned.incumbent),
        description=f"tune fusion by {spec}",
        base=asked.system,
        metric=str(spec),
        options=RunOptions(
            metrics=tuple(dict.fromkeys([*default_metrics(dataset), spec])),
            instrument=asked.scored.instrument,
        ),
        # Weights cost no time: what the clock says of two runs of the same work is noise.
        gate=GateOptions(floors=surface.settings.floors, lost=asked.lost, latency_rise=math.inf),
    )
    place = runs or surface.settings.runs_folder or DEFAULT_RUNS
    running = Running(runs=place, clock=SystemClock(), on_case=count_cases(asked.show, "cases of the confirming runs"))
    if executor is None:
        return perform(plan, wiring.open_system, running)
    remote = partial(wiring.remote_system, surface.settings)
    return perform(plan, wiring.open_system, replace(running, executor=executor), remote=remote)


def _format_fusion(tuned: Tuned, confirmed: Performed | None, *, replay_only: bool) -> Iterator[str]:
    yield tuned.sentence
    yield ""
    before, after = f"{tuned.before:.4f}", f"{tuned.after:.4f}"
    rows = [("in force", before, str(tuned.incumbent)), ("best", after, str(tuned.chosen))]
    yield f"Replayed over {tuned.cases:,} cases, {tuned.metric}:"
    yield from grid(rows, indent="  ")
    yield ""
    yield "What each channel is worth, as in force (Shapley values; they add up):"
    channels = [(c.channel.value, f"{c.value:.4f}", f"{c.alone:.4f}", f"{c.without:.4f}") for c in tuned.channels]
    yield from grid([("channel", "value", "alone", "without it"), *channels], indent="  ")
    if not tuned.keep:
        yield ""
        yield from _found(tuned, confirmed, replay_only=replay_only)


def _found(tuned: Tuned, confirmed: Performed | None, *, replay_only: bool) -> Iterator[str]:
    if replay_only or confirmed is None:
        yield "Not confirmed by a run yet. In assay.toml:"
    else:
        one = confirmed.experiment
        yield f"Confirmed by runs of the engine: {one.verdict}. {one.reason}"
        if one.verdict != "ACCEPTED":
            yield "Keep what you have: the gate would not accept it."
            return
        yield "In assay.toml:"
    yield ""
    yield from tuned.chosen.toml(tuned.incumbent)


# --- `assay tune thresholds`: where an embedder's similarities begin to mean something. `fusion` is in `tune_fusion`

PairsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="JSONL with first, second and label: same, conflict or different. Default: ours."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Measure what a setting should be.", no_args_is_help=True)
    app.add_typer(group, name="tune")
    register_fusion(group)

    @command(group, "thresholds")
    def thresholds(
        surface: Surface,
        pairs: PairsOption = None,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
    ) -> None:
        """Measure similarities of labelled pairs with the configured embedder, and propose thresholds."""
        need_extra("memory")
        from assay.memory.saving.thresholds import measure_thresholds  # noqa: PLC0415 - the extra "memory"

        with open_executor(surface, processes, cluster) as executor:
            spread = None if executor is None else wiring.spread_embedder(surface.settings, executor)
            found = measure_thresholds(_pairs(pairs), wiring.open_embedder(surface.settings, spread))
        surface.result(plain(found), "\n".join(_format_tune(found)))


def _pairs(file: Path | None) -> list[LabelledPair]:
    from assay.memory.saving.thresholds import pairs_of  # noqa: PLC0415 - the extra "memory"

    return pairs_of(load_scenarios()) if file is None else list(_read(file))


def _read(file: Path) -> Iterator[LabelledPair]:
    from assay.memory.saving.thresholds import LabelledPair, PairLabel  # noqa: PLC0415 - the extra "memory"

    try:
        lines = read_regular_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise MalformedFile(f"cannot read {file}: {problem}", remedy="Name a JSONL file in UTF-8.") from problem
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            yield LabelledPair(str(row["first"]), str(row["second"]), PairLabel(row["label"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise MalformedFile(
                f"line {number} of {file} is not a labelled pair ({problem})",
                remedy='Write {"first": ..., "second": ..., "label": "same", "conflict" or "different"}.',
            ) from problem


def _format_tune(found: ThresholdReport) -> Iterator[str]:
    yield f"{found.model}: similarity of labelled pairs"
    head = ("label", "pairs", "lowest", "quarter", "median", "three quarters", "highest")
    rows = [
        (label, f"{spread.pairs}", *(f"{mark:.3f}" for mark in spread[1:])) for label, spread in found.spreads.items()
    ]
    yield from grid([head, *rows], indent="  ")
    yield "thresholds"
    now = {cut.name: cut for cut in found.current}
    cuts = [(cut.name, *_cut(now[cut.name]), *_cut(cut)) for cut in found.cuts]
    yield from grid([("", "in use", "errors", "proposed", "errors"), *cuts], indent="  ")
    yield "Set what you choose as similarity.duplicate, similarity.merge and similarity.related."


def _cut(cut: Cut) -> tuple[str, str]:
    return f"{cut.value:.2f}", f"{cut.missed} missed, {cut.wrong} wrong of {cut.of}"
