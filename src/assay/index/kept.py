"""Rows of passages that searches have read before, kept for as long as the change log says nothing of them.

Many searches look at the same passages. `KeptRows` belongs to one follower of the log, which drops what was touched. A
row is taken in only from a snapshot that stands where the follower stands, so that none is older than the log allows.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from assay.records import LogPosition
from assay.storage import Candidate

MOST = 50_000
"""Rows kept of a tenant; when there are more, the older half is let go. A row takes about a kilobyte."""


class KeptRows:
    """The rows of one tenant. Threads share it."""

    def __init__(self, position: LogPosition, most: int = MOST) -> None:
        self._position = position
        self._most = most
        self._rows: dict[int, Candidate] = {}
        self._of_memory: dict[int, list[int]] = {}
        self._lock = threading.Lock()

    def among(self, numbers: Iterable[int]) -> dict[int, Candidate]:
        """Those of these passages that are here."""
        rows = self._rows
        return {number: row for number in numbers if (row := rows.get(number)) is not None}

    def add(self, rows: Sequence[Candidate], position: LogPosition) -> None:
        """Keep rows of a snapshot that stands at this position of the log."""
        with self._lock:
            if position != self._position:
                return
            for row in rows:
                if row.number not in self._rows:
                    self._rows[row.number] = row
                    self._of_memory.setdefault(row.memory.number, []).append(row.number)
            if len(self._rows) > self._most:
                self._drop(list(islice(self._rows, len(self._rows) - self._most // 2)))

    def advance(self, position: LogPosition, *, memories: Collection[int], passages: Collection[int]) -> None:
        """The log went on, and these were touched."""
        with self._lock:
            self._position = position
            touched = [number for memory in memories for number in self._of_memory.get(memory, ())]
            self._drop([number for number in (*passages, *touched) if number in self._rows])

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            row = self._rows.pop(number, None)
            if row is not None:
                others = self._of_memory[row.memory.number]
                others.remove(number)
                if not others:
                    del self._of_memory[row.memory.number]
