"""The one boundary at which a channel may fail without failing the search.

Whatever a channel raises, also a mistake in its code, becomes a sentence in `degraded` and a line in `Failures`; the
other channels answer. Only a store that cannot be read at all fails a search.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from assay.errors import AssayError
from assay.storage import Work

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
        """Say why something that should have been asked was not; once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def left_out(self, part: str, reason: str) -> None:
        """Say that a part was left out, and why."""
        self.note(f"{part} was left out: {reason}")

    def run(self, part: str, work: Work, ask: Callable[[], Given]) -> Given | None:
        """What the part gives, or None when it fails."""
        try:
            with work.sheltered():
                return ask()
        except AssayError as problem:
            self._failed(part, problem, str(problem))
        except Exception as problem:  # noqa: BLE001 - the boundary of the module's docstring
            self._failed(part, problem, f"{type(problem).__name__}: {problem}")
        return None

    def _failed(self, part: str, problem: Exception, said: str) -> None:
        self._failures.count(part, problem)
        self.left_out(part, said)
