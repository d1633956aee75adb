"""The trace of one search: its stages in the order they ran, each timed and counted.

A stage that ran twice, because a fallback widened the search, stands there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay import cpu_budget
from assay.records import Stage

Stopwatch = Callable[[], float]
"""Seconds that never go back; `time.perf_counter` outside tests."""


class OpenStage:
    """A stage while it runs: what it was given, what it gave and what is worth noting about it."""

    __slots__ = ("detail", "inputs", "outputs")

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.outputs = 0
        self.detail: dict[str, Any] = {}


class Trace:
    """Collects the stages of one search."""

    def __init__(self, trace_id: str, stopwatch: Stopwatch) -> None:
        self.id = trace_id
        self._stopwatch = stopwatch
        self._begun = stopwatch()
        self._stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str, *, inputs: int = 0) -> Iterator[OpenStage]:
        """Time what runs inside; it is kept also when the inside raises."""
        cpu_budget.check(f"the stage {name} of a search")
        stage = OpenStage(inputs)
        begun = self._stopwatch()
        try:
            yield stage
        finally:
            self._stages.append(
                Stage(
                    name=name,
                    duration_ms=self.since(begun),
                    inputs=stage.inputs,
                    outputs=stage.outputs,
                    detail=stage.detail,
                )
            )

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What has run so far."""
        return tuple(self._stages)

    def elapsed_ms(self) -> float:
        """Since the search began."""
        return self.since(self._begun)

    def spent_ms(self, name: str) -> float:
        """In all stages of that name together."""
        return sum(stage.duration_ms for stage in self._stages if stage.name == name)

    def read(self) -> float:
        """The stopwatch, for `since`."""
        return self._stopwatch()

    def since(self, begun: float) -> float:
        """Milliseconds since a reading."""
        return (self._stopwatch() - begun) * 1000.0
