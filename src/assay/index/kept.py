"""Rows and words of passages that searches have read before, kept for as long as the change log says nothing of them.

Many searches look at the same passages. `KeptRows` belongs to one follower of the log, which drops what was touched. A
row is taken in only from a snapshot that stands where the follower stands, so that none is older than the log allows.
Words are kept beside the row of their passage and leave with it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from assay.records import LogPosition
from assay.storage import Candidate, PassageWords

MOST = 50_000
"""Rows kept of a tenant; when there are more, the older half is let go. A row takes about a kilobyte."""
MOST_WORDS = 5_000_000
"""Words kept of a tenant in all passages together, eight bytes each; when there are more, all are let go."""


class KeptRows:
    """The rows of one tenant. Threads share it."""

    def __init__(self, position: LogPosition, most: int = MOST, most_words: int = MOST_WORDS) -> None:
        self._position = position
        self._most = most
        self._most_words = most_words
        self._rows: dict[int, Candidate] = {}
        self._of_memory: dict[int, tuple[int, ...]] = {}
        self._words: dict[int, PassageWords] = {}
        self._word_count = 0
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
                    memory = row.memory.number
                    self._of_memory[memory] = (*self._of_memory.get(memory, ()), row.number)
            if len(self._rows) > self._most:
                self._drop(list(islice(self._rows, len(self._rows) - self._most // 2)))

    def words_among(self, numbers: Iterable[int]) -> dict[int, PassageWords]:
        """The words of those of these passages whose words are here."""
        words = self._words
        return {number: found for number in numbers if (found := words.get(number)) is not None}

    def add_words(self, words: Mapping[int, PassageWords], position: LogPosition) -> None:
        """Keep the words of passages whose rows are here, read in a snapshot that stands at this position."""
        with self._lock:
            if position != self._position:
                return
            for number, of_it in words.items():
                if number in self._rows and number not in self._words:
                    self._words[number] = of_it
                    self._word_count += _count(of_it)
            if self._word_count > self._most_words:
                self._words.clear()
                self._word_count = 0

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
                others = tuple(one for one in self._of_memory.pop(row.memory.number) if one != number)
                if others:
                    self._of_memory[row.memory.number] = others
            self._word_count -= _count(self._words.pop(number, ()))


def _count(words: Iterable[Sequence[str]]) -> int:
    return sum(map(len, words))
