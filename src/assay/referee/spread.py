"""A benchmark on workers: each fills and asks all systems for one user after the other; the caller keeps the journal.

A user is the smallest part that can be given away: systems keep users apart, and the texts of a user are embedded once
for all systems. A worker takes part only if its benchmark has the plan of the caller's, so that no two kinds of numbers
are joined. Records do not depend on which worker asked what, or on the order. Times do: workers of one machine share
its cores.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from assay.errors import ClusterFailed, NotReady
from assay.hashing import content_hash
from assay.referee.contenders.contract import Contender
from assay.referee.journal import Journal
from assay.referee.records import BenchRecords, Line
from assay.referee.running import Benchmark, BenchPlace, find_asked, note_store
from assay.referee.watching import NetworkWatch, folder_size
from assay.work.jobs import Executor, Job

OpenBench = Callable[[], Benchmark]
"""Opens the benchmark inside a worker; can be pickled."""


class UserTask(NamedTuple):
    """What is to be asked for one user."""

    set: str
    user: str
    missing: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """By system, in order: ids of questions with their repeats."""


class StoreUse(NamedTuple):
    """What one instance of a system has used so far."""

    set: str
    system: str
    instance: str
    size: int
    """Bytes."""
    model_calls: int
    hosts: tuple[str, ...]


class UserOutcome(NamedTuple):
    """Everything that came of one user, or why there is nothing."""

    task: UserTask
    lines: tuple[Line, ...] = ()
    costs: tuple[Line, ...] = ()
    stores: tuple[StoreUse, ...] = ()
    problem: str = ""


# --- Inside a worker ---


@dataclass(slots=True)
class _Lines:
    """Notes on their way to the journal."""

    lines: list[Line] = field(default_factory=list)
    costs: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Keep a result."""
        self.lines.append(line)

    def add_cost(self, line: Line) -> None:
        """Keep a measurement."""
        self.costs.append(line)


@dataclass(slots=True)
class _Instance:
    """A system that is open for one set."""

    contender: Contender
    folder: Path
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    hosts: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)

    def close(self) -> None:
        """Close the system and remove what it kept."""
        self.contender.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class OpenedBench:
    """A benchmark inside a worker; one user at a time, since systems need not bear several threads."""

    def __init__(self, bench: Benchmark) -> None:
        self._bench = bench
        self._sets = {memory_set.name: memory_set for memory_set in bench.sets}
        self._open: dict[tuple[str, str], _Instance] = {}
        self._lock = threading.Lock()
        # Threads that were there before the first system: the worker's own way to its scheduler is among them.
        self._others = frozenset(thread.ident for thread in threading.enumerate() if thread.ident is not None)

    def perform(self, task: UserTask) -> UserOutcome:
        """Fill and ask every system for one user."""
        with self._lock:
            self._close_all_but(task.set)
            notes = _Lines()
            stores = [self._run_system(task, system, asked, notes) for system, asked in task.missing]
            return UserOutcome(task, tuple(notes.lines), tuple(notes.costs), tuple(stores))

    def _run_system(self, task: UserTask, system: str, asked: Sequence[tuple[str, int]], notes: _Lines) -> StoreUse:
        memory_set = self._sets[task.set]
        instance = self._instance(task.set, system, task.user)
        place = BenchPlace(self._bench, system, memory_set, instance.contender, notes)
        missing = [(memory_set.by_question[question], repeat) for question, repeat in asked]
        with NetworkWatch(ignored=self._ignored()) as watch:
            place.run_user(memory_set.by_user[task.user], missing, lambda: None)
        instance.hosts |= watch.hosts
        size, calls = folder_size(instance.folder), instance.contender.model_calls()
        return StoreUse(task.set, system, instance.name, size, calls, tuple(sorted(instance.hosts)))

    def _ignored(self) -> frozenset[int]:
        return self._others - {threading.get_ident()}

    def _instance(self, name: str, system: str, user: str) -> _Instance:
        if (name, system) in self._open and user in self._open[name, system].users:
            # The outcome was lost on its way: filled twice, the user's memory would not be the same.
            self._open.pop((name, system)).close()
        if (name, system) not in self._open:
            folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
            try:
                self._open[name, system] = _Instance(self._bench.open_system(system, folder), folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        self._open[name, system].users.add(user)
        return self._open[name, system]

    def _close_all_but(self, name: str) -> None:
        for key in [key for key in self._open if key[0] != name]:
            self._open.pop(key).close()

    def close(self) -> None:
        """Close every system."""
        with self._lock:
            self._close_all_but("")


@dataclass(frozen=True, kw_only=True)
class RemoteBench:
    """What a worker needs to take part in a benchmark."""

    open_bench: OpenBench
    plan: Line
    """The plan of the caller's benchmark."""

    def open(self) -> OpenedBench:
        """Open the benchmark, and refuse one with another plan."""
        bench = self.open_bench()
        here = bench.plan()
        differing = [name for name in self.plan if content_hash([here.get(name)]) != content_hash([self.plan[name]])]
        if differing:
            raise NotReady(
                f"the benchmark differs on this worker in: {', '.join(differing)}",
                remedy="Install the same models and packages on every worker.",
            )
        return OpenedBench(bench)


# --- At the caller ---


def run_on_workers(
    bench: Benchmark, journal: Journal, executor: Executor, open_bench: OpenBench | None
) -> BenchRecords:
    """Do what `Benchmark.run` does, with users given to the workers of an executor."""
    for system in bench.options.systems:
        bench.probe(system, journal)
    here = OpenedBench(bench)
    job: Job[UserTask, UserOutcome] = Job(
        perform=here.perform,
        lost=lambda task, why: UserOutcome(task, problem=why),
        remote=None if open_bench is None else lambda: RemoteBench(open_bench=open_bench, plan=bench.plan()),
        what="users",
    )
    tally = _Tally(bench, journal)
    tasks = list(_plan_tasks(bench, journal))
    with closing(here), closing(executor.run(iter(tasks), job)) as outcomes:
        for outcome in outcomes:
            tally.take(outcome)
    tally.note_stores()
    return bench.collect(journal)


def _plan_tasks(bench: Benchmark, journal: Journal) -> Iterator[UserTask]:
    for memory_set in bench.sets:
        done = {system: find_asked(journal, system, memory_set) for system in bench.options.systems}
        for user in memory_set.asked:
            missing = tuple(
                (system, tuple((question.id, repeat) for question, repeat in left))
                for system in bench.options.systems
                if (left := bench.find_missing(memory_set, user, done[system]))
            )
            if missing:
                yield UserTask(memory_set.name, user, missing)


class _Tally:
    """Takes outcomes into the journal, and adds up what the instances of each system used."""

    def __init__(self, bench: Benchmark, journal: Journal) -> None:
        self._bench = bench
        self._journal = journal
        self._stores: dict[str, StoreUse] = {}
        self._wanted = {entry.name: len(entry.questions) * bench.options.repeats for entry in bench.sets}
        self._done = Counter(
            {
                (entry.name, system): len(find_asked(journal, system, entry))
                for entry in bench.sets
                for system in bench.options.systems
            }
        )

    def take(self, outcome: UserOutcome) -> None:
        """Keep everything of one user at once."""
        if outcome.problem:
            raise ClusterFailed(
                f"no worker could finish the user {outcome.task.user} of {outcome.task.set}: {outcome.problem}",
                remedy="Go on with --resume, with or without workers: answered questions are kept.",
            )
        for line in outcome.lines:
            self._journal.add(line)
        for line in outcome.costs:
            self._journal.add_cost(line)
        self._stores |= {store.instance: store for store in outcome.stores}
        for system, asked in outcome.task.missing:
            key = (outcome.task.set, system)
            self._done[key] += len(asked)
            self._bench.listen(*key, self._done[key], self._wanted[outcome.task.set])

    def note_stores(self) -> None:
        """Keep what each system used on each set, over all workers."""
        for memory_set in self._bench.sets:
            for system in self._bench.options.systems:
                own = [use for use in self._stores.values() if (use.set, use.system) == (memory_set.name, system)]
                if own:
                    hosts = sorted({host for use in own for host in use.hosts})
                    size, calls = sum(use.size for use in own), sum(use.model_calls for use in own)
                    note_store(self._journal, memory_set.name, system, size, calls, hosts)
