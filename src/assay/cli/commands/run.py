"""`assay run`: a system over a dataset, each case written down as it ends, then one table with intervals and floors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from assay import wiring
from assay.cli.progress import show_progress
from assay.cli.run_table import channel_table, describe_endings, table
from assay.cli.runs import RunsOption, has_store, lookup, writing_rows
from assay.cli.surface import Surface, command
from assay.cli.work import ClusterOption, ProcessesOption, describe_rates, worker_lines
from assay.errors import AssayError, InputError
from assay.evaluation.ci import find_commit
from assay.evaluation.datasets import ForScoring, for_scoring, load_dataset
from assay.evaluation.results import RunResult
from assay.evaluation.run_metrics import name_floors
from assay.evaluation.running.early_stopping import SureAgainst
from assay.evaluation.running.files import DEFAULT_RUNS, RunFolder, find_run
from assay.evaluation.running.planning import NO_LIMIT, Budget, RunOptions, options_of
from assay.evaluation.running.runner import Running, keep_row, refuse_unmeasured, run_dataset, sentence
from assay.formats.files import writing
from assay.metrics.spec import parse_specs
from assay.records.datasets import Asking, Dataset
from assay.records.evaluations import CaseResult, RunManifest
from assay.records.fields import one_of
from assay.systems.protocol import System
from assay.verbs.runs import START
from assay.wiring import WorkOptions
from assay.work.jobs import Executor

T = TypeVar("T")

DEFAULT_SYSTEM = "assay"

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset's name or path, such as hotel.")]
SystemOption = Annotated[
    list[str],
    typer.Option(
        "--system",
        "-s",
        metavar="SPEC",
        help="assay[:...], python:MODULE:NAME, http:FILE, mcp:FILE, run:FILE, langchain:MODULE:NAME, chroma:PATH#NAME "
        "and other frameworks and vector stores: docs/guides/integrations.md.",
    ),
]
MetricsOption = Annotated[
    list[str], typer.Option("--metrics", "-m", metavar="LIST", help="Such as ndcg@10,mrr; see `assay metrics`.")
]
KOption = Annotated[int | None, typer.Option("-k", help="Results to ask for; at least what the metrics look at.")]
RepeatOption = Annotated[int | None, typer.Option("--repeat", metavar="N", help="Run every case N times.")]
SampleOption = Annotated[
    float | None, typer.Option("--sample", metavar="SHARE", help="A share of the cases, the same ones every time.")
]
MaxCasesOption = Annotated[
    int | None,
    typer.Option("--max-cases", metavar="N", help="At most N cases: a sample, the same ones every time."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Of the sample, and of the order with --until-sure.")]
ResumeOption = Annotated[
    str | None, typer.Option("--resume", metavar="RUN|latest", help="Go on with a run that was stopped.")
]
BudgetOption = Annotated[
    str | None, typer.Option("--budget", metavar="1.50|10m", help="Stop before more money or time is spent.")
]
TimeoutOption = Annotated[float | None, typer.Option("--timeout", metavar="S", help="Seconds for one case; 60.")]
ThreadsOption = Annotated[int, typer.Option("--threads", help="Cases asked at once; more than 1 distorts latency.")]
NameOption = Annotated[str, typer.Option("--name", help="What to call the run.")]
TagOption = Annotated[
    list[str], typer.Option("--tag", metavar="WORD", help="A word to find the run by; may be given several times.")
]
AskingOption = Annotated[
    str | None,
    typer.Option("--asking", metavar="WHAT", help="Of a conversation: last (the default), user or conversation."),
]
UntilSureOption = Annotated[
    bool, typer.Option("--until-sure", help="Stop when it is decided whether the system is better than --against.")
]
AgainstOption = Annotated[
    str | None,
    typer.Option("--against", metavar="FILE|RUN", help="With --until-sure: the baseline, as `assay gate` takes it."),
]
TrecOption = Annotated[Path | None, typer.Option("--trec", metavar="FILE", help="Also write the rankings as a run.")]
ExcludeOption = Annotated[
    bool, typer.Option("--exclude-unresolved", help="Leave out cases whose anchors lead nowhere.")
]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Given:
    """Options of the command line; None where an option was not given."""

    metrics: list[str]
    k: int | None
    repeat: int | None
    sample: float | None
    seed: int | None
    timeout: float | None
    name: str
    tags: tuple[str, ...]
    work: WorkOptions
    budget: str | None
    asking: str | None
    max_cases: int | None
    until_sure: bool
    against: str | None

    def __post_init__(self) -> None:
        if self.until_sure != (self.against is not None):
            missing = "--against" if self.until_sure else "--until-sure"
            raise InputError(
                f"{missing} is missing: --until-sure and --against BASELINE belong together",
                remedy="Give both, or neither.",
            )


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "run")
    def run(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        dataset: DatasetArgument,
        system: SystemOption = [],  # noqa: B006 - typer reads the default, nobody changes it
        metrics: MetricsOption = [],  # noqa: B006 - the same
        k: KOption = None,
        repeat: RepeatOption = None,
        sample: SampleOption = None,
        max_cases: MaxCasesOption = None,
        seed: SeedOption = None,
        resume: ResumeOption = None,
        budget: BudgetOption = None,
        timeout: TimeoutOption = None,
        threads: ThreadsOption = 1,
        processes: ProcessesOption = None,
        cluster: ClusterOption = None,
        name: NameOption = "",
        tag: TagOption = [],  # noqa: B006 - the same
        runs: RunsOption = None,
        trec: TrecOption = None,
        exclude_unresolved: ExcludeOption = False,
        asking: AskingOption = None,
        until_sure: UntilSureOption = False,
        against: AgainstOption = None,
    ) -> None:
        """Run systems over a dataset and measure them; every case is kept, so a stopped run can go on."""
        _remove_earlier(trec, system)
        name_floors(surface.settings.floors)  # one that cannot be asked is refused before anything is paid for
        found = load_dataset(dataset, registry=wiring.registry_of(surface.settings))
        given = _Given(
            metrics=metrics,
            k=k,
            repeat=repeat,
            sample=sample,
            seed=seed,
            timeout=timeout,
            name=name,
            tags=tuple(tag),
            work=WorkOptions(threads=threads, processes=processes, cluster=cluster),
            budget=budget,
            asking=asking,
            max_cases=max_cases,
            until_sure=until_sure,
            against=against,
        )
        place = runs or surface.settings.runs_folder or DEFAULT_RUNS
        scored = for_scoring(found, exclude_unresolved=exclude_unresolved)
        if resume is not None and len(system) > 1:
            raise InputError("--resume goes on with one run, and there are several --system", remedy="Name one.")
        with closing(wiring.open_executor(surface.settings, given.work)) as executor:
            doing = _Doing(surface, dataset, scored, given, place, executor)
            if resume is not None:
                results = [doing.resume(resume, system)]
            else:
                results = [doing.begin(name) for name in dict.fromkeys(system or [DEFAULT_SYSTEM])]
        _finish(surface, results, trec, scored.dataset)


class _Doing(NamedTuple):
    """One command at work."""

    surface: Surface
    asked: str
    """The dataset as it was named."""
    scored: ForScoring
    given: _Given
    runs: Path
    executor: Executor

    def begin(self, spec: str) -> RunResult:
        """A new run."""
        return self._run(spec, self._options(spec, None), None)

    def resume(self, wanted: str, systems: list[str]) -> RunResult:
        """Continue a run; options that are not given keep their first values."""
        if self.given.against is not None:
            raise InputError(
                "--until-sure and --against are fixed when a run begins",
                remedy="Leave both out with --resume: the run keeps its test.",
            )
        folder = find_run(wanted, self.runs)
        there = RunFolder(folder).read_manifest()
        spec = systems[0] if systems else there.system
        return self._run(spec, self._options(spec, there), folder)

    def _options(self, spec: str, there: RunManifest | None) -> RunOptions:
        given, before = self.given, RunOptions() if there is None else options_of(there)
        return RunOptions(
            metrics=parse_specs(given.metrics) if given.metrics else before.metrics,
            k=_first(given.k, before.k),
            repeats=before.repeats if given.repeat is None else given.repeat,
            sample=_first(given.sample, before.sample),
            seed=before.seed if given.seed is None else given.seed,
            timeout_s=_first(given.timeout, before.timeout_s),
            asking=before.asking if given.asking is None else one_of(Asking)(given.asking, "--asking"),
            name=given.name,
            spec=spec,
            against=self._against(),
            until_sure=before.until_sure,
            commit=find_commit(Path.cwd()),
            tags=given.tags,
        )

    def _against(self) -> SureAgainst | None:
        if self.given.against is None:
            return None
        control = lookup(self.surface, self.runs).baseline(self.given.against)
        return SureAgainst(control=control, metric=self.surface.settings.gate_metric or None)

    def _run(self, spec: str, options: RunOptions, resume: Path | None) -> RunResult:
        begun: list[RunManifest] = []
        try:
            with ExitStack() as shown:

                def start() -> Running:
                    on_case = shown.enter_context(_bar(self.surface, "cases", self.executor))
                    return Running(
                        runs=self.runs,
                        resume=resume,
                        budget=Budget.parse(self.given.budget) if self.given.budget else NO_LIMIT,
                        executor=self.executor,
                        open_remote=wiring.remote_system(self.surface.settings, spec),
                        on_start=lambda manifest, _: begun.append(manifest),
                        on_case=None if on_case is None else _counting(on_case),
                    )

                result = run_dataset(
                    self.scored,
                    lambda scored: self._open(spec, scored),
                    options,
                    start,
                    max_cases=self.given.max_cases,
                )
        except (KeyboardInterrupt, AssayError) as problem:
            if begun and (isinstance(problem, KeyboardInterrupt) or problem.exit_code == AssayError.exit_code):
                sys.stderr.write(f"Cases that ended are kept. Go on with: {self._command(begun[0].run_id)}\n")
            raise
        for line in worker_lines(self.executor.workers(), "cases"):
            self.surface.note(line)
        return result

    @contextmanager
    def _open(self, spec: str, scored: Dataset) -> Iterator[System]:
        with _bar(self.surface, "documents") as on_document:
            system = wiring.open_system(spec, scored, on_document=on_document)
        with closing(system):
            yield system

    def _command(self, run_id: str) -> str:
        runs = "" if self.runs == DEFAULT_RUNS else f" --runs {self.runs}"
        return f"assay run {self.asked} --resume {run_id}{runs}"


def _first(given: T | None, before: T | None) -> T | None:
    return before if given is None else given


def _counting(on_case: Callable[[int, int], None]) -> Callable[[int, int, CaseResult], None]:
    return lambda done, of, _: on_case(done, of)


def _finish(surface: Surface, results: list[RunResult], trec: Path | None, dataset: Dataset) -> None:
    for result in results:
        _write_trec(result, trec, several=len(results) > 1)
    notes = [_store_run(surface, result, dataset) for result in results]
    floors = {**results[0].floors, **name_floors(surface.settings.floors)}
    first = next(iter(results[0].aggregates), None)
    said = [*map(describe_endings, results), sentence(results, first) if first else ""]
    said += [f"Written to {result.folder}" for result in results]
    channels = channel_table(results)
    shown = "\n".join([table(results, floors), "", *([channels, ""] if channels else []), *filter(None, said)])
    told = {"runs": [_as_json(result, note) for result, note in zip(results, notes, strict=True)]}
    surface.result(told, shown)
    for result in results:
        surface.caveats(result.caveats, about=result.name if len(results) > 1 else "")
    for note in filter(None, notes):
        surface.note(note)
    for result in results:
        refuse_unmeasured(result, remedy=f"What there is stands in {result.folder}.")


def _remove_earlier(trec: Path | None, systems: list[str]) -> None:
    """Remove the rankings of an earlier run: a run that fails must not leave them to be measured as its own."""
    # A run file may be replayed and written anew under its own name.
    if trec is not None and trec.is_file() and not any(system.startswith("run:") for system in systems):
        with writing(trec):
            trec.unlink()


def _write_trec(result: RunResult, trec: Path | None, *, several: bool) -> None:
    if trec is not None:
        result.write_trec(trec.with_name(f"{result.run_id}-{trec.name}") if several else trec)


def _as_json(result: RunResult, note: str | None) -> dict[str, Any]:
    """Return what every surface reports of a run, and where its files are."""
    return {**START.to_json(result.summary([note] if note else [])), "folder": str(result.folder)}


def _store_run(surface: Surface, result: RunResult, dataset: Dataset) -> str | None:
    """Also keep a row in the store, if there is one. If the store refuses it, the run only gets a note."""
    if not has_store(surface):
        return None
    return keep_row(result, dataset, partial(writing_rows, surface)) or None


@contextmanager
def _bar(surface: Surface, what: str, executor: Executor | None = None) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with the time left, and what each worker does, on a terminal; silence elsewhere."""
    with show_progress(surface, what) as show:
        if show is None:
            yield None
            return

        def count(done: int, of: int) -> None:
            show(done, of, what + describe_rates(() if executor is None else executor.workers()))

        yield count
