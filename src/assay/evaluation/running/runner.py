"""Run a system over a dataset, store the result, and say how small a difference it can show.

- The loop over cases.
- The row a store keeps of a run.
- The use-case behind every surface.
- The smallest difference a run can show.

The loop over cases:

    result = run(dataset, system, RunOptions(), runs=Path(".assay/runs"))

A run that was stopped, by a kill, a full disk, a budget or Ctrl-C, goes on where it stopped with `resume`: what is
written down is never repeated, and the result has the same hash as if nothing had happened.

The use-case behind every surface:

    result = run_dataset(dataset, open_system, RunOptions(metrics=...), Running(runs=folder))
    refuse_unmeasured(result)

`assay run`, `assay.evaluate`, the HTTP API and MCP differ only in where dataset and options come from and in how they
show the result. Which cases may be scored, what of that is part of the instrument, and when a run counts as having
measured nothing is decided here, so that runs of one surface can be compared with runs of another.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.clock import Clock, SystemClock
from assay.errors import AssayError, BadValue, InputError, NothingMeasured, RunFailed
from assay.evaluation.caveats import idle_budget_caveat
from assay.evaluation.datasets.validation import ForScoring, for_scoring
from assay.evaluation.readings import differing
from assay.evaluation.result_rows import INTERVAL_OF, RANKING_COLUMNS, Writing, further_columns
from assay.evaluation.results import ByRepeat, RunResult, put_in_order, sort_by_repeat
from assay.evaluation.running.asking import CaseAsking, CaseTask, OpenRemoteSystem, RemoteCases, lost_case
from assay.evaluation.running.early_stopping import SureWatch
from assay.evaluation.running.files import Journal, RunFolder, naming_the_file
from assay.evaluation.running.own_memory import evidence_of_run
from assay.evaluation.running.planning import (
    NO_LIMIT,
    Budget,
    RunOptions,
    RunSpending,
    guard_coverage,
    plan_run,
    tasks_of,
)
from assay.evaluation.running.progress import ProgressFile
from assay.evaluation.scoring import score_metric, score_run
from assay.private_files import make_private_folder
from assay.records.access import FileKind
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseResult, RunManifest
from assay.records.evidence import EvalResult, RunType
from assay.records.learning import CycleEvidence, evidence_to_json
from assay.records.scope import IdFactory
from assay.statistics import minimum_detectable_effect
from assay.systems.boundary import Terms
from assay.systems.protocol import System
from assay.work.jobs import Executor, Hold, Job, LocalExecutor

if TYPE_CHECKING:
    from assay.metrics.spec import MetricSpec


# --- The loop over cases ---

OnCase = Callable[[int, int, CaseResult], None]
"""Called for each case with the number done, the total and the outcome."""
UNREACHABLE_IN_A_ROW = 5
"""Cases in which a system cannot be reached before a run ends: each has been tried several times by then, and the next
thousand would only cost time."""
OnStart = Callable[[RunManifest, Path | None], None]


@dataclass(frozen=True, kw_only=True)
class Running:
    """Everything a run needs besides what it measures."""

    runs: Path | None = None
    """Where runs are kept; None: nothing is written."""
    resume: Path | None = None
    """The folder of a run to go on with."""
    budget: Budget = NO_LIMIT
    executor: Executor = field(default_factory=LocalExecutor)
    open_remote: OpenRemoteSystem | None = None
    """Opens the system inside a worker of the executor; None: only this process can ask it."""
    clock: Clock = field(default_factory=SystemClock)
    run_id: str = ""
    """The id of the new run; empty: one is made."""
    order_seed: int | None = None
    """Ask the cases in a random order of this seed; None: in that of the dataset. The result is the same."""
    on_start: OnStart | None = None
    on_case: OnCase | None = None


def run(
    dataset: Dataset, system: System, options: RunOptions | None = None, running: Running | None = None
) -> RunResult:
    """Run a system over a dataset and score it. The system stays open; the caller closes it."""
    options, running = options or RunOptions(), running or Running()
    manifest, folder = _begin_run(dataset, system, options, running)
    guard_coverage(dataset, system, manifest.case_ids)
    if running.on_start is not None:
        running.on_start(manifest, folder)
    terms = Terms(k=manifest.k, timeout_s=options.timeout_s, known=dataset.by_id.keys(), asking=options.asking)
    begun = running.clock.monotonic()
    done = _Loop(dataset, manifest, _job(dataset, system, terms, running), running).results(folder)
    elapsed = None if running.resume is not None else running.clock.monotonic() - begun
    cases = put_in_order(manifest, done)
    del done  # the tables of millions of cases would stay while they are scored
    scored = score_run(dataset, manifest, cases, elapsed_s=elapsed)
    result = _with_budget_caveat(scored, running.budget)
    return result if folder is None else result.save_result(folder)


def _job(dataset: Dataset, system: System, terms: Terms, running: Running) -> _CaseJob:
    """The job of a run, for this process and for workers."""
    asking = CaseAsking(dataset, system, terms)
    open_remote = running.open_remote

    def describe() -> RemoteCases:
        assert open_remote is not None  # noqa: S101 - for the type checker; it is not called otherwise
        sent = replace(terms, known=frozenset(terms.known))
        return RemoteCases(open_system=open_remote, dataset=dataset, terms=sent, subject=dict(system.subject()))

    job = Job(
        perform=asking.perform,
        lost=lost_case,
        remote=None if open_remote is None else describe,
        limit_s=terms.timeout_s,
        what="cases",
    )
    return _CaseJob(job, asking.close, system.name)


def _with_budget_caveat(result: RunResult, budget: Budget) -> RunResult:
    idle = None if budget.money is None else idle_budget_caveat(budget.money, result.cases)
    return result if idle is None else replace(result, caveats=(*result.caveats, idle))


def _begin_run(
    dataset: Dataset, system: System, options: RunOptions, running: Running
) -> tuple[RunManifest, Path | None]:
    """The manifest, and where it is: of the run to go on with, or of a new one."""
    clock = running.clock
    run_id = running.run_id or IdFactory(clock).new("run")
    planned = plan_run(dataset, system, options, run_id=run_id, at=clock.now(), host=platform.node())
    if running.resume is not None:
        return _check_resumable(running.resume, planned), running.resume
    if running.runs is None:
        return planned, None
    folder = running.runs / run_id
    with naming_the_file(folder):
        make_private_folder(folder, exist_ok=bool(running.run_id))
    RunFolder(folder).write_manifest(planned)
    return planned, folder


def _check_resumable(folder: Path, planned: RunManifest) -> RunManifest:
    """The manifest of a run that was begun, if what it measured is what would be measured now."""
    there = RunFolder(folder).read_manifest()
    changed = [
        *_changes(there, planned, "dataset", "k", "repeats"),
        *(["cases"] if there.case_ids != planned.case_ids else []),
        *(f"instrument {difference}" for difference in differing(there.instrument, planned.instrument)),
        *(f"subject {difference}" for difference in differing(there.subject, planned.subject)),
        *(f"test {difference}" for difference in differing(there.until_sure, planned.until_sure)),
    ]
    if changed:
        raise InputError(
            f"the run {there.run_id} was begun with another {'; '.join(changed)}",
            remedy="One mean over two systems says nothing of either. Begin a new run without --resume, or give the "
            "same dataset, system and options.",
        )
    return there


def _changes(there: RunManifest, planned: RunManifest, *fields: str) -> Iterator[str]:
    for field_name in fields:
        before, after = getattr(there, field_name), getattr(planned, field_name)
        if before != after:
            yield f"{field_name}: {before} -> {after}"


class _CaseJob(NamedTuple):
    job: Job[CaseTask, CaseResult]
    close: Callable[[], None]
    system: str


def shuffle_tasks(tasks: Sequence[CaseTask], seed: int) -> list[CaseTask]:
    """Return the cases in a random order that is the same on every machine."""
    return sorted(tasks, key=lambda task: hashlib.sha256(f"order\x00{seed}\x00{tuple(task)}".encode()).digest())


class _Loop:
    """Runs the cases that have no result yet."""

    def __init__(self, dataset: Dataset, manifest: RunManifest, work: _CaseJob, running: Running) -> None:
        self._manifest = manifest
        self._total = len(manifest.case_ids) * manifest.repeats
        self._work = work
        self._running = running
        self._spending = RunSpending(running.budget)
        self._out = 0
        """Cases that were handed out and have not come back."""
        self._watch = SureWatch(manifest, partial(score_metric, dataset, manifest)) if manifest.until_sure else None

    def results(self, folder: Path | None) -> ByRepeat:
        """Every case that has a result, old and new."""
        clock = self._running.clock
        with nullcontext() if folder is None else Journal(folder, clock=clock) as journal:
            earlier = () if journal is None else self._load_earlier(journal)
            done, before = sort_by_repeat(earlier), len(earlier)
            if folder is not None and any(self._left(done)):
                # What was computed from fewer cases is no longer this run's result.
                RunFolder(folder).result.unlink(missing_ok=True)
            executor = self._running.executor
            progress = None if folder is None else ProgressFile(folder, before=before, total=self._total, clock=clock)
            try:
                with closing(executor.run(self._within_budget(self._left(done)), self._work.job)) as given:
                    for count, result in enumerate(self._until_away(self._count(given)), start=before + 1):
                        if journal is not None:
                            journal.add(result)
                        done[result.repeat][result.case_id] = result
                        if progress is not None:
                            progress.note(count, executor.workers())
                        self._note(count, result)
            finally:
                self._work.close()
                if progress is not None:
                    progress.remove()
        return done

    def _load_earlier(self, journal: Journal) -> Collection[CaseResult]:
        """Count what an earlier part of the run has done; the first line of each case counts."""
        earlier = {(result.case_id, result.repeat): result for result in reversed(journal.load_cases())}.values()
        for result in earlier:
            self._spending.add(result)
        if self._watch is not None:
            self._watch.add(earlier)
        return earlier

    def _left(self, done: ByRepeat) -> Iterator[CaseTask]:
        """The cases without a result, one by one: millions of them are never in memory together."""
        seed = self._running.order_seed
        tasks = starmap(CaseTask, tasks_of(self._manifest))
        for task in tasks if seed is None else shuffle_tasks(list(tasks), seed):
            if task.case_id not in done[task.repeat]:
                yield task

    def _until_away(self, results: Iterator[CaseResult]) -> Iterator[CaseResult]:
        """Pass results on until the system is away.

        Failures to reach it are held back until it answers again, and dropped when it does not: a run that goes on
        later repeats those cases.
        """
        held: list[CaseResult] = []
        for result in results:
            held.append(result)
            if not result.unreachable:
                yield from held
                held.clear()
            elif len(held) >= UNREACHABLE_IN_A_ROW:
                raise RunFailed(
                    f"{self._work.system} could not be reached in {len(held)} cases one after the other; the last "
                    f"said: {result.error}",
                    remedy="Start it again, then go on with --resume; those cases will be asked again.",
                )
        yield from held

    def _within_budget(self, tasks: Iterator[CaseTask]) -> Iterator[CaseTask | Hold]:
        """Hand out cases as the budget allows, counting those that are still at work as dear as the dearest."""
        begun = self._running.clock.monotonic()
        for task in tasks:
            while not self._spending.allows_another(self._running.clock.monotonic() - begun, at_work=self._out):
                if self._out == 0:
                    return
                yield Hold.UNTIL_A_RESULT
            if self._watch is not None and self._watch.decided:
                return
            self._out += 1
            yield task

    def _count(self, results: Iterator[CaseResult]) -> Iterator[CaseResult]:
        """Book what each case cost when it comes back, before anybody holds it."""
        for result in results:
            self._out -= 1
            self._spending.add(result)
            yield result

    def _note(self, done: int, result: CaseResult) -> None:
        if self._watch is not None:
            self._watch.add([result])
        if self._running.on_case is not None:
            self._running.on_case(done, self._total, result)


# --- The row a store keeps of a run ---

COLUMNS = {
    **RANKING_COLUMNS,
    "constitutional_surfacing_rate": "constitutional_surfacing@5",
    "importance_weighted_recall": "importance_weighted_recall@10",
    "cold_start_mrr": "cold_start_mrr@10",
    "session_personalization_lift": "personalisation_lift@10",
    "causal_chain_completeness": "causal_chain_completeness@10",
}
"""The columns that have a metric of their own."""


def as_row(
    result: RunResult,
    evidence: CycleEvidence | None = None,
    *,
    dataset: Dataset | None = None,
    feature_id: str | None = None,
) -> EvalResult:
    """Fixed columns where their metric is known; everything else under `metrics_json`.

    `evidence` states what the run measured of the memory that keeps the row; without it the run counts for no cycle.
    With the `dataset`, columns are filled that nobody asked for: ranking metrics, channels, diversity. `feature_id` is
    the flag of which this run is one side.
    """
    measured = {str(spec): aggregate for spec, aggregate in result.aggregates.items()}
    known: dict[str, Any] = {column: measured[name].value for column, name in COLUMNS.items() if name in measured}
    interval = measured[INTERVAL_OF].interval if INTERVAL_OF in measured else None
    known |= {
        "confidence_interval_lower": None if interval is None else interval.low,
        "confidence_interval_upper": None if interval is None else interval.high,
        **({} if dataset is None else further_columns(result, dataset)),
    }
    return EvalResult(
        run_id=result.run_id,
        run_type=RunType.FULL,
        query_count=len(result.manifest.case_ids),
        created_at=result.manifest.started_at,
        feature_id=feature_id,
        **known,
        avg_latency_ms=result.latency["total"].mean,
        per_query_results={str(spec): _values(result, spec) for spec in result.scores},
        metrics_json={**_rest(result), **({} if evidence is None else evidence_to_json(evidence))},
    )


def _values(result: RunResult, spec: MetricSpec) -> dict[str, Any]:
    return {
        case: outcome.kind.value if outcome.value is None else outcome.value
        for case, outcome in result.scores[spec].items()
    }


def _rest(result: RunResult) -> dict[str, Any]:
    whole = result.as_json()
    wanted = ("name", "metrics", "run_metrics", "latency", "rates", "counts", "caveats", "result_hash")
    manifest = {name: of for name, of in whole["manifest"].items() if name != "case_ids"}
    return {**{name: whole[name] for name in wanted}, "manifest": manifest}


# --- The use-case behind every surface ---

OpenSystem = Callable[[Dataset], AbstractContextManager[System]]
"""Opens the system over the dataset as it is scored, and closes it if it was opened for the run."""
StartRunning = Callable[[], Running]
UNMEASURED = "Mend the system, or choose other metrics or another dataset."


def run_dataset(
    dataset: Dataset | ForScoring,
    open_system: OpenSystem,
    options: RunOptions | None = None,
    running: Running | StartRunning | None = None,
    *,
    max_cases: int | None = None,
) -> RunResult:
    """Run a system over what may be scored of a dataset; cases that are left out become part of the instrument.

    With `max_cases` a sample of at most that many cases is taken, the same ones every time. `running` may be a
    function: it is called when the system is open, so that a time limit or a progress bar does not count the opening.
    """
    scored = dataset if isinstance(dataset, ForScoring) else for_scoring(dataset)
    chosen = options or RunOptions()
    chosen = replace(chosen, instrument={**chosen.instrument, **scored.instrument})
    if max_cases is not None:
        _check_max_cases(max_cases, chosen)
    if max_cases is not None and len(scored.dataset.cases) > max_cases:
        chosen = replace(chosen, sample=max_cases / len(scored.dataset.cases))
    with open_system(scored.dataset) as system:
        return run(scored.dataset, system, chosen, running() if callable(running) else running)


def _check_max_cases(max_cases: int, options: RunOptions) -> None:
    if max_cases < 1:
        raise BadValue(f"max_cases {max_cases} is below 1", remedy="Give 1 or more.")
    if options.sample is not None:
        raise BadValue(
            f"there are both a sample of {options.sample} and at most {max_cases} cases",
            remedy="Give one of the two; a run that goes on keeps its sample.",
        )


def keep_row(result: RunResult, dataset: Dataset, writing: Writing) -> str:
    """Write a row of the run to a store, and whose it is.

    A store that cannot take it costs the note that is returned, not the run. A run that was stopped early has no row:
    rows are read side by side as those of whole runs.
    """
    if result.is_stopped_early:
        return "The store has no row of this run: it was stopped early."
    try:
        with writing() as work:
            work.owned_files.claim(FileKind.RUN, result.run_id)
            work.results.add(as_row(result, evidence_of_run(work, result, dataset), dataset=dataset))
    except AssayError as problem:
        return f"The store has no row of this run: {problem.message}."
    return ""


def refuse_unmeasured(result: RunResult, *, remedy: str = UNMEASURED) -> None:
    """Raise `NothingMeasured` when no metric has a value for any case."""
    if not result.aggregates or any(aggregate.scored for aggregate in result.aggregates.values()):
        return
    failed = next((case for case in result.cases if case.error), None)
    why = f"; the first said: {failed.error}" if failed else ""
    message = f"no case of {result.manifest.dataset} could be scored for {result.name}{why}"
    raise NothingMeasured(message, remedy=remedy)


# --- The smallest difference a run can show ---
#
# With two runs the answer comes from how much they differ case by case. With one it is an estimate: two systems are
# taken to differ from case to case as much as the cases do, which is what happens when their values correlate by one
# half.

FEWEST = 2
_ROUNDING = 1e-9
"""Values that differ by no more than this are equal: what a sum of decimals leaves over is not a difference."""


def detectable(runs: Sequence[RunResult], spec: MetricSpec) -> float | None:
    """The smallest difference detectable with 80 % power; None where cases are too few or too equal."""
    columns = [run.per_case(spec) for run in runs[:2]]
    cases = [
        case for case in columns[0] if all(case in column and column[case].value is not None for column in columns)
    ]
    if len(cases) < FEWEST:
        return None
    values = np.array([[column[case].value for case in cases] for column in columns], dtype=np.float64)
    spread = float(np.std(values[0] - values[1] if len(columns) > 1 else values[0], ddof=1))
    return minimum_detectable_effect(len(cases), spread) if spread > _ROUNDING else None


def sentence(runs: Sequence[RunResult], spec: MetricSpec) -> str:
    """The same for people."""
    effect = detectable(runs, spec)
    if effect is None:
        why = "the runs differ in no case" if len(runs) > 1 else "its cases do not differ in it"
        return f"What differences in {spec} this set can see cannot be estimated: {why}."
    if effect > 1.0:
        return f"This set cannot see differences in {spec}: it has too few cases."
    return f"This set can see differences of {effect:.3f} or more in {spec} (80 % power)."
