"""The loop: ask every case that has no result yet, write each down at once, score when all are there.

    result = run(dataset, system, RunOptions(), runs=Path(".assay/runs"))

A run that was stopped, by a kill, a full disk, a budget or Ctrl-C, goes on where it stopped with `resume`: what is
written down is never asked again, and the result has the same hash as if nothing had happened.
"""

from __future__ import annotations

import itertools
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.clock import Clock, SystemClock
from assay.errors import InputError, RunFailed
from assay.evaluation.caveats import idle_budget_caveat
from assay.evaluation.readings import differing
from assay.evaluation.results import RunResult, with_skipped
from assay.evaluation.running.budget import NO_LIMIT, Budget, Spending
from assay.evaluation.running.executing import Executor, LocalExecutor, Task
from assay.evaluation.running.folder import RunFolder, naming_the_file
from assay.evaluation.running.journal import Journal
from assay.evaluation.running.planning import RunOptions, guard_coverage, plan_run, tasks_of
from assay.evaluation.scoring import score_run
from assay.private_files import make_private_folder
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseResult, RunManifest
from assay.records.ids import IdFactory
from assay.systems.boundary import Asker, Terms
from assay.systems.protocol import System

OnCase = Callable[[int, int, CaseResult], None]
"""Told of each case: how many are done, of how many, and what became of it."""
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
    clock: Clock = field(default_factory=SystemClock)
    on_start: OnStart | None = None
    on_case: OnCase | None = None


def run(
    dataset: Dataset, system: System, options: RunOptions | None = None, running: Running | None = None
) -> RunResult:
    """Run a system over a dataset and score it. The system stays open: whoever opened it closes it."""
    options, running = options or RunOptions(), running or Running()
    manifest, folder = _begun(dataset, system, options, running)
    guard_coverage(dataset, system, manifest.case_ids)
    if running.on_start is not None:
        running.on_start(manifest, folder)
    terms = Terms(k=manifest.k, timeout_s=options.timeout_s, known=dataset.by_id.keys(), asking=options.asking)
    begun = running.clock.monotonic()
    cases = _Loop(dataset, manifest, system, terms, running).results(folder)
    elapsed = None if running.resume is not None else running.clock.monotonic() - begun
    scored = score_run(dataset, manifest, with_skipped(manifest, cases), elapsed_s=elapsed)
    result = _with_budget_caveat(scored, running.budget)
    return result if folder is None else result.save_result(folder)


def _with_budget_caveat(result: RunResult, budget: Budget) -> RunResult:
    idle = None if budget.money is None else idle_budget_caveat(budget.money, result.cases)
    return result if idle is None else replace(result, caveats=(*result.caveats, idle))


def _begun(dataset: Dataset, system: System, options: RunOptions, running: Running) -> tuple[RunManifest, Path | None]:
    """The manifest, and where it is: of the run to go on with, or of a new one."""
    clock = running.clock
    run_id = IdFactory(clock).new("run")
    planned = plan_run(dataset, system, options, run_id=run_id, at=clock.now(), host=platform.node())
    if running.resume is not None:
        return _resumed(running.resume, planned), running.resume
    if running.runs is None:
        return planned, None
    folder = running.runs / run_id
    with naming_the_file(folder):
        make_private_folder(folder, exist_ok=False)
    RunFolder(folder).write_manifest(planned)
    return planned, folder


def _resumed(folder: Path, planned: RunManifest) -> RunManifest:
    """The manifest of a run that was begun, if what it measured is what would be measured now."""
    there = RunFolder(folder).read_manifest()
    changed = [
        *_changes(there, planned, "dataset", "k", "repeats"),
        *(["cases"] if there.case_ids != planned.case_ids else []),
        *(f"instrument {one}" for one in differing(there.instrument, planned.instrument)),
        *(f"subject {one}" for one in differing(there.subject, planned.subject)),
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


class _Loop:
    """Asks what is left to ask."""

    def __init__(self, dataset: Dataset, manifest: RunManifest, system: System, terms: Terms, running: Running) -> None:
        self._tasks = [Task(case, repeat) for case, repeat in tasks_of(dataset, manifest)]
        self._system = system
        self._terms = terms
        self._running = running
        self._spending = Spending(running.budget)
        self._own = threading.local()
        self._asked = itertools.count()
        self._askers: list[Asker] = []

    def results(self, folder: Path | None) -> tuple[CaseResult, ...]:
        """Every case that has a result, old and new."""
        clock = self._running.clock
        with nullcontext() if folder is None else Journal(folder, clock=clock) as journal:
            done = {} if journal is None else {(one.case_id, one.repeat): one for one in reversed(journal.done())}
            for one in done.values():
                self._spending.add(one)
            left = [task for task in self._tasks if (task.case.id, task.repeat) not in done]
            if left and folder is not None:
                # What was computed from fewer cases is no longer this run's result.
                RunFolder(folder).result.unlink(missing_ok=True)
            try:
                for one in self._until_away(self._running.executor.run(self._within_budget(left), self._perform)):
                    if journal is not None:
                        journal.add(one)
                    done[one.case_id, one.repeat] = one
                    self._note(len(done), one)
            finally:
                for asker in self._askers:
                    asker.close()
        return tuple(done.values())

    def _until_away(self, results: Iterator[CaseResult]) -> Iterator[CaseResult]:
        """Pass results on until the system is away.

        Failures to reach it are held back until it answers again, and dropped when it does not: a run that goes on
        later asks those cases anew.
        """
        held: list[CaseResult] = []
        for one in results:
            held.append(one)
            if not one.unreachable:
                yield from held
                held.clear()
            elif len(held) >= UNREACHABLE_IN_A_ROW:
                raise RunFailed(
                    f"{self._system.name} could not be reached in {len(held)} cases one after the other; the last "
                    f"said: {one.error}",
                    remedy="Start it again, then go on with --resume; those cases will be asked again.",
                )
        yield from held

    def _within_budget(self, tasks: list[Task]) -> Iterator[Task]:
        begun = self._running.clock.monotonic()
        for task in tasks:
            if not self._spending.allows_another(self._running.clock.monotonic() - begun):
                return
            yield task

    def _perform(self, task: Task) -> CaseResult:
        if not hasattr(self._own, "asker"):
            self._own.asker = Asker(self._system, self._terms)
            self._askers.append(self._own.asker)
        asker: Asker = self._own.asker
        first = next(self._asked) == 0
        result = asker.ask(task.case, task.repeat)
        return replace(result, first=True) if first else result

    def _note(self, done: int, one: CaseResult) -> None:
        self._spending.add(one)
        if self._running.on_case is not None:
            self._running.on_case(done, len(self._tasks), one)
