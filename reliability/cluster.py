"""Evaluation runs on a Dask cluster whose workers and scheduler are killed at random moments.

Runs follow each other on one cluster until all kills are done. A run that lost its scheduler ends with an error and is
resumed. Each must end with the result hash of a run in one thread, with one line for every case. Workers and scheduler
are real Dask processes, forked from a server that has loaded Dask, so that a new one is there in a moment.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import socket
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from assay.errors import ClusterFailed
from assay.evaluation.running.files import RunFolder, list_runs
from assay.evaluation.running.planning import RunOptions
from assay.evaluation.running.runner import Running
from assay.evaluation.running.runner import run as run_system
from assay.records.evaluations import CaseStatus
from assay.wiring.executors import open_worker_system
from assay.work.dask_cluster import open_cluster
from assay.work.dispatch import DispatchRules
from reliability.crew import Crew, wait_until
from reliability.dask_processes import ROOT
from reliability.outcome import Check, at_least, none_of
from reliability.runs import dataset

CASES, REPEATS, CALL_S = 300, 2, 0.004
WORKERS = 3
SCHEDULER_SHARE = 0.1
"""How often it is the scheduler that is killed."""
WAIT_S = 300.0
SPEC = "python:reliability.cluster:answer"
RULES = DispatchRules(silence_s=10.0, patience_s=WAIT_S, tries=12)
"""More tries than a user has: here workers die for no fault of the case, many times a minute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterOutcome:
    """What was seen over all kills."""

    workers_killed: int
    schedulers_killed: int
    runs: int
    resumed: int
    cases: int
    taken_back: int
    """Cases that were at a worker when it was lost, and were given to another."""
    given_up: tuple[str, ...]
    repeated: tuple[str, ...]
    missing: tuple[str, ...]
    other_hashes: int
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{self.workers_killed} workers and {self.schedulers_killed} schedulers killed during {self.runs} runs of "
            f"{self.cases} cases: {self.taken_back} cases given to another worker, {self.resumed} runs resumed; "
            f"{self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        return (
            none_of("cases without a line", self.missing),
            none_of("cases with two lines", self.repeated),
            none_of("cases given up", self.given_up),
            none_of("runs with another result hash than in one thread", self.other_hashes),
            at_least("kills", self.workers_killed + self.schedulers_killed, 1),
            at_least("cases taken back from a worker that died, or runs resumed", self.taken_back + self.resumed, 1),
        )


def answer(query: str, k: int) -> list[str]:
    """A list that only depends on the question."""
    time.sleep(CALL_S)
    number = int(query.rsplit(maxsplit=1)[-1])
    return [f"d{(number * step) % 11}" for step in range(1, min(k, 9))]


def serve_scheduler(port: int, folder: str) -> None:
    """What the process of the scheduler does."""
    _write_to(folder)
    from distributed.cli.dask_scheduler import main  # noqa: PLC0415 - loaded by the server that forks it

    with suppress(SystemExit):
        main(["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"])


def serve_worker(port: int, folder: str) -> None:
    """What the process of a worker does."""
    _write_to(folder)
    from distributed.cli.dask_worker import main  # noqa: PLC0415 - as above

    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--memory-limit", "0"]
    with suppress(SystemExit):
        main([f"tcp://127.0.0.1:{port}", *options, "--local-directory", folder, "--death-timeout", "60"])


def _write_to(folder: str) -> None:
    """Send what Dask prints into a file."""
    log = os.open(Path(folder) / "dask.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)


@dataclass
class _Scene:
    """The cluster, as the program keeps it alive."""

    crew: Crew
    folder: Path
    port: int
    scheduler: ForkServerProcess | None = None
    workers: list[ForkServerProcess] = field(default_factory=list)

    def keep_alive(self) -> None:
        """Start what is not there. Workers end by themselves when their scheduler is gone."""
        if self.scheduler is None or not self.scheduler.is_alive():
            self.scheduler = self.crew.start(serve_scheduler, self.port, str(self.folder))
            wait_until(self._listens, WAIT_S, "the scheduler")
        self.workers = [worker for worker in self.workers if worker.is_alive()]
        while len(self.workers) < WORKERS:
            self.workers.append(self.crew.start(serve_worker, self.port, str(self.folder)))

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 0.5):
            return True
        return False

    def kill_worker(self, place: int) -> None:
        self.crew.kill(self.workers.pop(place))

    def kill_scheduler(self) -> None:
        if self.scheduler is not None:
            self.crew.kill(self.scheduler)
            self.scheduler = None


class _Driver(threading.Thread):
    """Runs one run after the other, resuming each that lost its cluster."""

    def __init__(self, port: int, runs: Path) -> None:
        super().__init__(daemon=True)
        self._address = f"tcp://127.0.0.1:{port}"
        self._runs = runs
        self._data = dataset(CASES)
        self._opener = partial(open_worker_system, SPEC, str(ROOT))
        self.stop = threading.Event()
        self.done = self.resumed = self.taken_back = 0
        self.problem: BaseException | None = None
        with closing(self._opener(self._data)) as system:
            self.whole = run_system(self._data, system, RunOptions(repeats=REPEATS)).result_hash

    def run(self) -> None:
        """Run until told to stop; the run at hand is finished first."""
        try:
            while not (self.stop.is_set() and self.done):
                self._finish_one()
        except BaseException as problem:  # noqa: BLE001 - the program tells of it
            self.problem = problem

    def _finish_one(self) -> None:
        resume: Path | None = None
        while True:
            known = set(list_runs(self._runs))
            try:
                self._ask(resume)
            except ClusterFailed:
                new = [path for path in list_runs(self._runs) if path not in known]
                resume = resume or (new[0] if new else None)
                self.resumed += resume is not None
                time.sleep(0.2)
            else:
                self.done += 1
                return

    def _ask(self, resume: Path | None) -> None:
        with closing(open_cluster(self._address, rules=RULES)) as executor, closing(self._opener(self._data)) as system:
            running = Running(runs=self._runs, resume=resume, executor=executor, open_remote=self._opener)
            try:
                run_system(self._data, system, RunOptions(repeats=REPEATS), running)
            finally:
                self.taken_back += sum(worker.lost for worker in executor.workers())


def run(*, folder: Path, times: int, seed: int = 1, seconds: float = 3_600.0) -> ClusterOutcome:
    """Kill that many times, or for so many seconds, then let the run at hand end."""
    began = time.monotonic()
    rng = random.Random(seed)
    (folder / "runs").mkdir(parents=True)
    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["reliability.load", "reliability.cluster", "distributed.cli.dask_worker", "distributed.cli.dask_scheduler"]
    )
    killed = Counter[str]()
    with Crew() as crew:
        scene = _Scene(crew, folder, _free_port())
        scene.keep_alive()
        driver = _Driver(scene.port, folder / "runs")
        driver.start()
        while sum(killed.values()) < times and driver.is_alive() and time.monotonic() - began < seconds:
            _wait_for_progress(driver, folder / "runs", rng)
            if rng.random() < SCHEDULER_SHARE:
                scene.kill_scheduler()
                killed["scheduler"] += 1
            elif scene.workers:
                scene.kill_worker(rng.randrange(len(scene.workers)))
                killed["worker"] += 1
            scene.keep_alive()
        driver.stop.set()
        while driver.is_alive():
            scene.keep_alive()
            driver.join(1.0)
    if driver.problem is not None:
        raise driver.problem
    return _outcome(folder / "runs", driver, killed, time.monotonic() - began)


def _wait_for_progress(driver: _Driver, runs: Path, rng: random.Random) -> None:
    """Let a few cases end, so that kills fall into the middle of work, then wait a random moment."""
    before = _size(runs)
    deadline = time.monotonic() + 60.0
    while _size(runs) == before and driver.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 0.4))


def _size(runs: Path) -> int:
    return sum(path.stat().st_size for path in runs.glob("*/cases.jsonl"))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _outcome(runs: Path, driver: _Driver, killed: Counter[str], seconds: float) -> ClusterOutcome:
    wanted = {(f"q{number}", repeat) for number in range(CASES) for repeat in range(REPEATS)}
    repeated, missing, given_up, other = list[str](), list[str](), list[str](), 0
    for path in list_runs(runs):
        files = RunFolder(path)
        cases = files.read_cases()
        lines = Counter((case.case_id, case.repeat) for case in cases)
        repeated += [f"{path.name} {key}" for key, count in lines.items() if count > 1]
        missing += [f"{path.name} {key}" for key in sorted(wanted - lines.keys())]
        given_up += [f"{path.name} {case.case_id}: {case.error}" for case in cases if case.status is CaseStatus.ERROR]
        other += not (files.finished and files.read_result()["result_hash"] == driver.whole)
    return ClusterOutcome(
        workers_killed=killed["worker"],
        schedulers_killed=killed["scheduler"],
        runs=len(list_runs(runs)),
        resumed=driver.resumed,
        cases=CASES * REPEATS,
        taken_back=driver.taken_back,
        given_up=tuple(given_up),
        repeated=tuple(repeated),
        missing=tuple(missing),
        other_hashes=other,
        seconds=seconds,
    )
