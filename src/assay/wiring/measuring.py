"""A run that somebody elsewhere asked for: bounded in cases and time, by name only, over a store of its own.

A client names a dataset by name, never by a path, and the system is always Assay: no file is opened and no code or
address is called because a client said so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.clock import Clock
from assay.errors import RunFailed
from assay.records import Mode, Scope
from assay.settings import Settings
from assay.wiring.shelves import shelf_of
from assay.wiring.systems import open_system

if TYPE_CHECKING:
    from assay.evaluation.results import RunResult
    from assay.memory.engine import Engine
    from assay.records.datasets import Dataset
    from assay.systems.protocol import System

Progress = Callable[[float, float | None, str], None]
"""Told how much is done, of how much, and what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """What is to be measured."""

    dataset: str
    mode: Mode = Mode.AUTO
    metrics: tuple[str, ...] = ()
    """Empty: the dataset's own."""
    k: int | None = None
    max_cases: int = 200
    max_seconds: float = 120.0
    name: str = ""


class Measured(NamedTuple):
    """A run, and what must be known of it besides its own notes."""

    result: RunResult
    notes: tuple[str, ...]


def measure(
    settings: Settings, engine: Engine, scope: Scope, wanted: Measurement, progress: Progress | None = None
) -> Measured:
    """Run Assay over a dataset, keep the run and a row of it; raises `NothingMeasured` when nothing was scored."""
    from assay.evaluation.running.budget import Budget  # noqa: PLC0415 - see the package's docstring
    from assay.evaluation.running.planning import RunOptions  # noqa: PLC0415 - the same
    from assay.evaluation.running.runner import Running  # noqa: PLC0415 - the same
    from assay.evaluation.running.use_case import keep_row, refuse_unmeasured, run_dataset  # noqa: PLC0415 - the same
    from assay.metrics.spec import parse_specs  # noqa: PLC0415 - the same

    told = progress or (lambda *_: None)
    time = _Time(engine.clock, engine.clock.monotonic() + wanted.max_seconds)
    shelf = shelf_of(settings, engine, scope)
    dataset = shelf.load_dataset(wanted.dataset)
    spec = "assay" if wanted.mode is Mode.AUTO else f"assay:mode={wanted.mode.value}"
    options = RunOptions(
        metrics=parse_specs(list(wanted.metrics)) if wanted.metrics else None, k=wanted.k, name=wanted.name, spec=spec
    )

    def start() -> Running:
        return Running(
            runs=shelf.runs_folder,
            budget=Budget(seconds=time.left()),
            clock=engine.clock,
            on_start=lambda manifest, _: shelf.claim_run(manifest.run_id),
            on_case=lambda done, of, _: told(done, of, "cases"),
        )

    def open_assay(scored: Dataset) -> AbstractContextManager[System]:
        return closing(open_system(spec, scored, on_document=time.watching(told)))

    result = run_dataset(dataset, open_assay, options, start, max_cases=wanted.max_cases)
    note = keep_row(result, dataset, lambda: engine.store.writing(scope))
    refuse_unmeasured(result, remedy="Give a larger max_seconds, other metrics or another dataset.")
    return Measured(result, (note,) if note else ())


@dataclass(frozen=True, slots=True)
class _Time:
    """How long a call may still take."""

    clock: Clock
    end: float

    def left(self) -> float:
        """Seconds; a little when there are none left, so that the budget can speak."""
        return max(self.end - self.clock.monotonic(), 0.001)

    def watching(self, progress: Progress) -> Any:
        """Told of each document; stops when the time is over."""

        def on_document(done: int, of: int) -> None:
            progress(done, of, "documents")
            if self.clock.monotonic() > self.end:
                raise RunFailed(
                    f"the time was over with {done} of {of} documents taken in",
                    remedy="Ask again: it goes on where it stopped. Or give a larger max_seconds.",
                )

        return on_document
