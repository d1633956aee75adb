"""What others see of a run while it goes on: small files beside its journal.

    live.json   the phase, documents taken in, how each case ended, and the running mean at every look
    live.lock   held by the process that works on the run: a phase that nobody holds was interrupted
    stop        whoever writes it asks the run to stop

Any process that can read the folder can show the run, and a server that ends in the middle leaves a run that says so
and can go on. The interval of the running mean is a confidence sequence (`assay.statistics`): it may be looked at after
every case. Cases are asked in a random order, so that those that ended are a fair sample of all.
See `design/live-runs.md`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from assay.clock import Clock
from assay.errors import MalformedFile, NotReady, RunFailed, RunNotFound
from assay.evaluation.comparison import leading
from assay.evaluation.running.files import RunFolder, naming_the_file
from assay.evaluation.scoring import score_metric
from assay.metrics.catalog import find
from assay.metrics.spec import MetricSpec
from assay.private_files import make_private_folder, open_new_private, open_private
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseResult, RunManifest
from assay.statistics import sequence_interval

LOOK_S = 0.5
"""Seconds between two looks at the running mean."""
FEWEST = 2
"""Values from which a running mean has an interval."""


class LivePhase(StrEnum):
    """Where a run stands."""

    WAITING = "waiting"
    PREPARING = "preparing"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def goes_on(self) -> bool:
        """Whether somebody works on it."""
        return self in (LivePhase.WAITING, LivePhase.PREPARING, LivePhase.RUNNING)


class LiveCase(NamedTuple):
    """One case that ended."""

    case_id: str
    status: str
    value: float | None
    """Under the metric that is shown; None: it has none, or was not looked at yet."""


class LiveLook(NamedTuple):
    """The running mean at one look."""

    cases: int
    """Cases that had a value."""
    mean: float
    low: float | None
    """None: the interval cannot be computed."""
    high: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRun:
    """A run as the file beside its journal has it."""

    run_id: str
    dataset: str
    system: str
    name: str
    who: str
    began_at: datetime
    phase: LivePhase
    documents: tuple[int, int] | None = None
    """Documents taken in, of how many; None before the first."""
    total: int = 0
    """Cases that will be asked; 0: not known yet."""
    asked_before: int = 0
    """Cases that had ended before this process went on with the run."""
    asking_since: datetime | None = None
    metric: str = ""
    no_interval: str = ""
    """Why the running mean has no interval; empty: it has one."""
    cases: tuple[LiveCase, ...] = ()
    looks: tuple[LiveLook, ...] = ()
    problem: str = ""
    """Why it failed."""

    def seconds_left(self, now: datetime) -> float | None:
        """Return how long the rest will take at the pace so far; None: not known."""
        done = len(self.cases) - self.asked_before
        if self.phase is not LivePhase.RUNNING or self.asking_since is None or done < FEWEST:
            return None
        return (now - self.asking_since).total_seconds() / done * (self.total - len(self.cases))


class LiveFolder:
    """The files about a run in progress, in the run's own folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = path / "live.json"
        self._lock = path / "live.lock"
        self._stop = path / "stop"

    def write(self, state: LiveRun) -> None:
        """Replace the file as a whole, so that readers never see half of it."""
        plain = asdict(state) | {name: _moment(getattr(state, name)) for name in ("began_at", "asking_since")}
        beside = self._state.with_name(f".{self._state.name}.{os.getpid()}")
        with naming_the_file(self._state):
            make_private_folder(self.path)
            with open_new_private(beside) as file:
                json.dump(plain, file, allow_nan=False)
            beside.replace(self._state)

    def read(self) -> LiveRun:
        """Return what is written; a phase that nobody works on any more is `interrupted`."""
        if not self._state.is_file():
            raise RunNotFound(
                f"nothing is known of how the run {self.path.name} goes on", remedy="Start a run on the page of runs."
            )
        try:
            found = _read(json.loads(self._state.read_bytes()))
        except (ValueError, TypeError, KeyError) as problem:
            raise MalformedFile(f"cannot read {self._state}: {problem}", remedy="Remove the file.") from problem
        if found.phase.goes_on and not self.is_held:
            return replace(found, phase=LivePhase.INTERRUPTED)
        return found

    @property
    def exists(self) -> bool:
        """Whether the run was begun in this way."""
        return self._state.is_file()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock while working; raises `RunFailed` where somebody else does."""
        make_private_folder(self.path)
        descriptor = open_private(self._lock, os.O_RDWR)
        try:
            _claim(descriptor, self.path.name)
            self._stop.unlink(missing_ok=True)
            yield
        finally:
            os.close(descriptor)

    @property
    def is_held(self) -> bool:
        """Whether somebody works on the run."""
        return _is_locked(self._lock)

    def ask_to_stop(self) -> None:
        """Ask whoever works on the run to stop after the case at hand."""
        os.close(open_private(self._stop, os.O_WRONLY))

    @property
    def is_asked_to_stop(self) -> bool:
        """Whether somebody asked for it since work began."""
        return self._stop.exists()


class RunStopped(Exception):
    """Raised inside a run that is to stop; cases that ended are kept."""


@dataclass(kw_only=True)
class LiveWatch:
    """Writes down how a run goes on, and stops it when it is asked to."""

    folder: LiveFolder
    state: LiveRun
    clock: Clock
    score: Callable[[Sequence[CaseResult]], Mapping[str, Any]] | None = None
    """Gives the outcome of each case under the metric that is shown; None until the run has begun."""
    dataset: Dataset | None = None
    _ended: list[CaseResult] = field(default_factory=list)
    _looked: float = 0.0

    def enter(self, phase: LivePhase, **changed: Any) -> None:
        """Begin a phase, and write it down."""
        self.state = replace(self.state, phase=phase, **changed)
        self.folder.write(self.state)

    def check(self) -> None:
        """Raise `RunStopped` if somebody asked the run to stop."""
        if self.folder.is_asked_to_stop:
            raise RunStopped

    def on_document(self, done: int, total: int) -> None:
        """Note that a document was taken in."""
        self.check()
        self.state = replace(self.state, documents=(done, total))
        self._write_sometimes()

    def on_start(self, manifest: RunManifest, folder: Path | None) -> None:
        """Note what will be asked, and cases that ended before."""
        assert folder is not None  # noqa: S101 - for the type checker: such a run has files
        metric = leading(manifest.metrics)
        if self.dataset is not None:
            dataset = self.dataset
            self.score = lambda cases: score_metric(dataset, manifest, cases, metric)
        self._ended = list(RunFolder(folder).read_cases())
        self.state = replace(
            self.state,
            phase=LivePhase.RUNNING,
            total=len(manifest.case_ids) * manifest.repeats,
            asked_before=len(self._ended),
            asking_since=self.clock.now(),
            metric=metric,
            no_interval=explain_no_interval(manifest, metric),
        )
        self.look()

    def on_case(self, done: int, total: int, result: CaseResult) -> None:
        """Note how a case ended; look at the mean from time to time."""
        del done, total
        self._ended.append(result)
        if self.clock.monotonic() - self._looked >= LOOK_S:
            self.look()
        self.check()

    def look(self) -> None:
        """Score everything that ended, and write it down."""
        outcomes = {} if self.score is None else self.score(self._ended)
        values = {case: outcome.value for case, outcome in outcomes.items()}
        cases = tuple(LiveCase(case.case_id, case.status.value, values.get(case.case_id)) for case in self._ended)
        known = [case.value for case in cases if case.value is not None]
        looks = self.state.looks
        if known and (not looks or looks[-1].cases != len(known)):
            looks = (*looks, _look(known, self.state))
        self.state = replace(self.state, cases=cases, looks=looks)
        self._looked = self.clock.monotonic()
        self.folder.write(self.state)

    def _write_sometimes(self) -> None:
        if self.clock.monotonic() - self._looked >= LOOK_S:
            self._looked = self.clock.monotonic()
            self.folder.write(self.state)


def explain_no_interval(manifest: RunManifest, metric: str) -> str:
    """Return why the running mean of a metric has no interval; empty when it has one."""
    kind = find(MetricSpec.parse(metric).name)
    if kind.lowest is None or kind.highest is None:
        return f"{metric} has no bounds, so nothing can be said while the run goes on."
    if manifest.clusters:
        return "Cases of one group belong together, so an interval is given when all have ended."
    return ""


def _look(values: Sequence[float], state: LiveRun) -> LiveLook:
    mean = sum(values) / len(values)
    if state.no_interval or len(values) < FEWEST:
        return LiveLook(len(values), mean, None, None)
    kind = find(MetricSpec.parse(state.metric).name)
    assert kind.lowest is not None  # noqa: S101 - for the type checker: `no_interval` says so
    assert kind.highest is not None  # noqa: S101 - the same
    found = sequence_interval(values, bounds=(kind.lowest, kind.highest))
    return LiveLook(len(values), mean, found.low, found.high)


def _read(found: Mapping[str, Any]) -> LiveRun:
    documents = found["documents"]
    since = found["asking_since"]
    return LiveRun(
        **{
            **found,
            "began_at": datetime.fromisoformat(found["began_at"]),
            "asking_since": None if since is None else datetime.fromisoformat(since),
            "phase": LivePhase(found["phase"]),
            "documents": None if documents is None else (int(documents[0]), int(documents[1])),
            "cases": tuple(LiveCase(*case) for case in found["cases"]),
            "looks": tuple(LiveLook(*look) for look in found["looks"]),
        }
    )


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


def _claim(descriptor: int, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        raise RunFailed(f"another process is working on {name}", remedy="Wait for it, or stop it first.") from problem


def _is_locked(path: Path) -> bool:
    """Whether some process holds the lock of a file."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def describe_unfinished(folder: RunFolder) -> LiveRun:
    """Return how a run goes on that was not begun by a server: its cases so far, without a running mean."""
    manifest = folder.read_manifest()
    return LiveRun(
        run_id=manifest.run_id,
        dataset=manifest.dataset,
        system=manifest.system,
        name=manifest.name,
        who="",
        began_at=manifest.started_at,
        phase=LivePhase.RUNNING if _is_locked(folder.cases) else LivePhase.STOPPED,
        total=len(manifest.case_ids) * manifest.repeats,
        cases=tuple(LiveCase(case.case_id, case.status.value, None) for case in folder.read_cases()),
    )


@contextmanager
def hold_place(runs: Path, run_id: str) -> Iterator[None]:
    """Be the one run of a tenant that the server works on; raises `NotReady` where there is one already."""
    make_private_folder(runs)
    descriptor = open_private(runs / PLACE, os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise NotReady(
                "a run is going on already", remedy="Watch it on the page of runs; stop it, or wait for it."
            ) from problem
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, run_id.encode(), 0)
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


PLACE = ".live"
"""The file in a folder of runs that names the one the server works on."""


def find_current(runs: Path) -> str:
    """Return the id of the run that the server works on; empty: there is none."""
    try:
        found = (runs / PLACE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return found if found and LiveFolder(runs / found).is_held else ""
