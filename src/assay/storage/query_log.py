"""Logging a query costs the caller an append to a list; a thread writes the list in group commits.

The promise, which differs from that of a save: a logged query is in the store `flush_interval_s` later at the
latest, so a crash or power cut loses no more than that, and never damages what is there. A disk that refuses keeps the
rows waiting and tries again. The buffer is bounded: when it is full the newest query is dropped and counted, because
a log must never stop a search. `status()` tells what waits, what was dropped, and what went wrong last.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.errors import InputError
from assay.records import LoggedQuery, Scope

BATCH = 250
"""Rows in one commit at most, so that a save never waits long behind the log."""

Write = Callable[[Scope, Sequence[LoggedQuery]], None]


class LogStatus(NamedTuple):
    """How the log is doing."""

    waiting: int
    written: int
    dropped: int
    last_problem: str | None


class _Entry(NamedTuple):
    scope: Scope
    query: LoggedQuery


class QueryLog:
    """A bounded buffer before the query log's table."""

    def __init__(self, write: Write, *, flush_interval_s: float, capacity: int) -> None:
        self._write = write
        self._interval_s = flush_interval_s
        self._capacity = capacity
        self._waiting: deque[_Entry] = deque()
        self._mutex = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._written = 0
        self._dropped = 0
        self._one_by_one = 0
        self._problem: str | None = None

    def append(self, scope: Scope, query: LoggedQuery) -> bool:
        """Log a query. False when the buffer is full and the query was dropped (and counted)."""
        with self._mutex:
            if self._stopped.is_set() or len(self._waiting) >= self._capacity:
                self._dropped += 1
                return False
            self._waiting.append(_Entry(scope, query))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assay-query-log", daemon=True)
                self._thread.start()
        self._wake.set()
        return True

    def flush(self) -> None:
        """Write everything that waits, now; raise when the store cannot write at all."""
        with self._writing:
            while batch := self._next_batch():
                try:
                    self._write(batch[0].scope, [entry.query for entry in batch])
                except InputError as problem:
                    self._look_for_the_refused(batch, problem)
                except Exception as problem:
                    self._put_back(batch, problem)
                    raise
                else:
                    self._written += len(batch)
                    self._problem = None

    def make_sure_of(self, query_id: str) -> None:
        """Write the log if this query still waits in it, so that what refers to it finds it."""
        with self._mutex:
            waits = any(entry.query.query_id == query_id for entry in self._waiting)
        # A batch on its way has left the buffer but may not be committed: flush waits for it.
        if waits or self._writing.locked():
            self.flush()

    def status(self) -> LogStatus:
        """How the log is doing."""
        with self._mutex:
            return LogStatus(len(self._waiting), self._written, self._dropped, self._problem)

    def close(self) -> None:
        """Write what waits and stop. What the store refuses even now is counted as dropped and raised."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self.flush()
        except Exception:
            with self._mutex:
                self._dropped += len(self._waiting)
                self._waiting.clear()
            raise

    def _next_batch(self) -> list[_Entry]:
        """The oldest rows of one scope."""
        batch: list[_Entry] = []
        with self._mutex:
            most = 1 if self._one_by_one else BATCH
            while self._waiting and len(batch) < most and (not batch or self._waiting[0].scope == batch[0].scope):
                batch.append(self._waiting.popleft())
            self._one_by_one = max(0, self._one_by_one - 1)
        return batch

    def _put_back(self, batch: Sequence[_Entry], problem: Exception) -> None:
        with self._mutex:
            self._problem = str(problem)
            self._waiting.extendleft(reversed(batch))

    def _look_for_the_refused(self, batch: Sequence[_Entry], problem: InputError) -> None:
        """A row the schema refuses would be refused for ever: it is dropped, and takes no other with it."""
        if len(batch) == 1:
            self._problem = str(problem)
            self._dropped += 1
        else:
            self._put_back(batch, problem)
            self._one_by_one = len(batch)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.wait()
            self._wake.clear()
            # Let a group gather; close() cuts the wait short.
            self._stopped.wait(self._interval_s)
            try:
                self.flush()
            except Exception:  # noqa: BLE001 - kept for `status`; the thread must outlive whatever a write meets
                self._stopped.wait(self._interval_s)
                self._wake.set()
