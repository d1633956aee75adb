"""How far a run is: cases done, time left, and what each worker of a cluster has done.

The process that runs it writes `progress.json` into the run's folder about once a second, so that every server that
shares the folder can show it. The file goes when the run ends. What a killed process leaves says when it was written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.clock import Clock
from assay.errors import MalformedFile
from assay.evaluation.running.files import write_whole
from assay.work.jobs import WorkerFigures

NAME = "progress.json"
EVERY_S = 1.0
"""Seconds between two writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerProgress:
    """What one worker of a cluster has done."""

    name: str
    done: int
    """Cases it finished."""
    per_second: float | None
    """Cases it finishes in a second; None before its first result."""
    lost: int
    """Cases that were taken back from it."""
    problem: str
    """Why it gets no more; empty while it works."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProgress:
    """How far a run is."""

    done: int
    """Cases with a result, those of an earlier part of the run too."""
    total: int
    seconds: float
    """Since this part of the run began."""
    per_second: float | None
    """Cases in a second; None before the first result of this part."""
    seconds_left: float | None
    """None before the first result."""
    updated_at: datetime
    workers: tuple[WorkerProgress, ...] = ()
    """Empty where one process does all of it."""

    @property
    def share(self) -> float:
        """From 0 to 1, how much is done."""
        return self.done / self.total if self.total else 1.0


class ProgressFile:
    """Writes the progress of one run."""

    def __init__(self, folder: Path, *, before: int, total: int, clock: Clock) -> None:
        """`before`: cases that an earlier part of the run has done."""
        self._path = folder / NAME
        self._before = before
        self._total = total
        self._clock = clock
        self._began = clock.monotonic()
        self._written_at: float | None = None

    def note(self, done: int, workers: Sequence[WorkerFigures]) -> None:
        """Write how far the run is, unless that was done a moment ago."""
        now = self._clock.monotonic()
        if self._written_at is not None and now - self._written_at < EVERY_S:
            return
        self._written_at = now
        seconds, new = now - self._began, done - self._before
        per_second = new / seconds if new and seconds > 0.0 else None
        progress = RunProgress(
            done=done,
            total=self._total,
            seconds=seconds,
            per_second=per_second,
            seconds_left=None if per_second is None else (self._total - done) / per_second,
            updated_at=self._clock.now(),
            workers=tuple(map(_describe_worker, workers)),
        )
        write_whole(self._path, json.dumps(asdict(progress), default=_write_moment))

    def remove(self) -> None:
        """Delete the file: the run has ended."""
        self._path.unlink(missing_ok=True)


def read_progress(folder: Path) -> RunProgress | None:
    """Return how far a run is; None if it does not run, or has not finished a case yet."""
    try:
        text = (folder / NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found: dict[str, Any] = json.loads(text)
        workers = tuple(WorkerProgress(**worker) for worker in found.pop("workers"))
        updated_at = datetime.fromisoformat(found.pop("updated_at"))
        return RunProgress(**found, updated_at=updated_at, workers=workers)
    except (ValueError, TypeError, KeyError) as problem:
        raise MalformedFile(
            f"{folder / NAME} does not hold the progress of a run: {problem}", remedy="Delete the file."
        ) from problem


def _describe_worker(figures: WorkerFigures) -> WorkerProgress:
    return WorkerProgress(
        name=figures.name, done=figures.done, per_second=figures.rate, lost=figures.lost, problem=figures.problem
    )


def _write_moment(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} cannot be written")
    return value.isoformat()
