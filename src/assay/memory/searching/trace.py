"""The stages of one search, timed and counted, and the guard that lets an optional one fail.

- The trace: stages in the order they ran.
- The guard: a channel may fail without failing the search.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from assay import cpu_budget
from assay.errors import AssayError
from assay.records import Stage
from assay.storage import Work

# --- The trace: stages in the order they ran ---
#
# A stage that ran twice, because a fallback widened the search, stands there twice.

Stopwatch = Callable[[], float]
"""Seconds that never go back; `time.perf_counter` outside tests."""


class OpenStage:
    """A stage while it runs: what it was given, what it gave and what is worth noting about it."""

    __slots__ = ("_begun", "_name", "_trace", "detail", "inputs", "outputs")

    def __init__(self, trace: Trace, name: str, inputs: int) -> None:
        self._trace = trace
        self._name = name
        self._begun = trace.read()
        self.inputs = inputs
        self.outputs = 0
        self.detail: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trace.add(
            Stage(
                name=self._name,
                duration_ms=self._trace.since(self._begun),
                inputs=self.inputs,
                outputs=self.outputs,
                detail=self.detail,
            )
        )


class Trace:
    """Collects the stages of one search."""

    def __init__(self, trace_id: str, stopwatch: Stopwatch) -> None:
        self.id = trace_id
        self._stopwatch = stopwatch
        self._begun = stopwatch()
        self._stages: list[Stage] = []

    def stage(self, name: str, *, inputs: int = 0) -> OpenStage:
        """Time what runs inside `with`; it is kept also when the inside raises."""
        cpu_budget.check(f"the stage {name} of a search")
        return OpenStage(self, name, inputs)

    def add(self, stage: Stage) -> None:
        """Keep a stage that has run."""
        self._stages.append(stage)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What has run so far."""
        return tuple(self._stages)

    def elapsed_ms(self) -> float:
        """Since the search began."""
        return self.since(self._begun)

    def total_ms(self, name: str) -> float:
        """In all stages of that name together."""
        return sum(stage.duration_ms for stage in self._stages if stage.name == name)

    def sum_by_name(self) -> defaultdict[str, float]:
        """The milliseconds of all stages, by their names; 0 for one that did not run."""
        spent: defaultdict[str, float] = defaultdict(float)
        for stage in self._stages:
            spent[stage.name] += stage.duration_ms
        return spent

    def read(self) -> float:
        """The stopwatch, for `since`."""
        return self._stopwatch()

    def since(self, begun: float) -> float:
        """Milliseconds since a reading."""
        return (self._stopwatch() - begun) * 1000.0


# --- The guard: a channel may fail without failing the search ---
#
# Whatever a channel raises, also a mistake in its code, becomes a sentence in `degraded` and a line in `Failures`; the
# other channels answer. Only a store that cannot be read at all fails a search.

Given = TypeVar("Given")


class Failures:
    """How often each part failed in this process, by the kind of error."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def count(self, part: str, problem: BaseException) -> None:
        """One more."""
        with self._lock:
            self._counts[part, type(problem).__name__] += 1

    def counts(self) -> dict[tuple[str, str], int]:
        """Part and kind of error -> how often."""
        with self._lock:
            return dict(self._counts)


class Guard:
    """Runs parts of one search and notes why one of them gave nothing."""

    def __init__(self, failures: Failures) -> None:
        self.notes: list[str] = []
        self._failures = failures

    def note(self, sentence: str) -> None:
        """Record once why a channel that should have run did not."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def left_out(self, part: str, reason: str) -> None:
        """Say that a part was left out, and why."""
        self.note(f"{part} was left out: {reason}")

    def run(self, part: str, work: Work, ask: Callable[[], Given]) -> Given | None:
        """What the part gives, or None when it fails."""
        try:
            if not work.needs_savepoints:
                return ask()
            with work.open_savepoint():
                return ask()
        except AssayError as problem:
            self._record_failure(part, problem, str(problem))
        except Exception as problem:  # noqa: BLE001 - the boundary of the module's docstring
            self._record_failure(part, problem, f"{type(problem).__name__}: {problem}")
        return None

    def _record_failure(self, part: str, problem: Exception, said: str) -> None:
        self._failures.count(part, problem)
        self.left_out(part, said)
