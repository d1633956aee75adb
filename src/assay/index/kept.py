"""Rows and words of passages that searches have read before, kept for as long as the change log says nothing of them.

Many searches look at the same passages. `KeptRows` belongs to one follower of the log, which drops what was touched. A
row is taken in only from a snapshot that stands where the follower stands, so that none is older than the log allows.
Words are kept beside the row of their passage and leave with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from assay.records import LogPosition
from assay.storage import Candidate

MOST = 50_000
"""Rows kept of a tenant; when there are more, the older half is let go. A row takes about half a kilobyte."""
MOST_LETTERS = 40_000_000
"""Letters of the words kept of a tenant; when there are more, all words are let go."""


class KeptRows:
    """The rows of one tenant. Threads share it."""

    def __init__(self, position: LogPosition, most: int = MOST, most_letters: int = MOST_LETTERS) -> None:
        self._position = position
        self._most = most
        self._most_letters = most_letters
        self._rows: dict[int, Candidate] = {}
        self._words: dict[int, str] = {}
        self._letters = 0
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
                self._rows.setdefault(row.number, row)
            if len(self._rows) > self._most:
                self._drop(list(islice(self._rows, len(self._rows) - self._most // 2)))

    def words_among(self, numbers: Iterable[int]) -> dict[int, str]:
        """The words of those of these passages whose words are here."""
        words = self._words
        return {number: found for number in numbers if (found := words.get(number)) is not None}

    def add_words(self, words: Mapping[int, str], position: LogPosition) -> None:
        """Keep the words of passages whose rows are here, read in a snapshot that stands at this position."""
        with self._lock:
            if position != self._position:
                return
            for number, lines in words.items():
                row = self._rows.get(number)
                if row is not None and number not in self._words:
                    # Under the row's own number: it is one object more for each passage otherwise.
                    self._words[row.number] = lines
                    self._letters += len(lines)
            if self._letters > self._most_letters:
                self._words.clear()
                self._letters = 0

    def advance(self, position: LogPosition, *, touched: Iterable[int]) -> None:
        """The log went on, and these passages, or their memories, were touched."""
        with self._lock:
            self._position = position
            self._drop(touched)

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._rows.pop(number, None)
            self._letters -= len(self._words.pop(number, ""))
