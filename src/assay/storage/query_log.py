"""The buffer of the query log: logging a query appends it to a list, and a thread writes the list in group commits.

A logged query is stored after `flush_interval_s` at the latest, so a crash or power cut loses only newer queries and
never damages the store; a save, in contrast, is durable at once. When the disk refuses a write, rows wait and are tried
again. The buffer is bounded: when it is full the newest query is dropped and counted, because the log must never stop a
search. `status()` returns how many queries wait, how many were dropped, and the last error.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.errors import InputError
from assay.records import LoggedQuery, Scope

BATCH = 250
"""Most rows of one commit, so that a save never waits long for the log."""

Write = Callable[[Scope, Sequence[LoggedQuery]], None]


class LogStatus(NamedTuple):
    """The state of the log."""

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
        """Log a query; return False if the buffer is full and the query was dropped."""
        with self._mutex:
            if self._stopped.is_set() or len(self._waiting) >= self._capacity:
                self._dropped += 1
                return False
            self._waiting.append(_Entry(scope, query))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assay-query-log", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()
        return True

    def flush(self) -> None:
        """Write all waiting queries now; raise if the store cannot write."""
        with self._writing:
            while batch := self._next_batch():
                try:
                    self._write(batch[0].scope, [entry.query for entry in batch])
                except InputError as problem:
                    self._isolate_refused_rows(batch, problem)
                except Exception as problem:
                    self._put_back(batch, problem)
                    raise
                else:
                    self._written += len(batch)
                    self._problem = None

    def find_waiting(self, scope: Scope, query_id: str) -> LoggedQuery | None:
        """Return a query that waits to be written, as it was logged; None: it is not waiting (any more)."""
        with self._mutex:
            # The query that was just made is the last one.
            for entry in reversed(self._waiting):
                if entry.query.query_id == query_id and entry.scope == scope:
                    return entry.query
        return None

    def make_sure_of(self, query_id: str) -> None:
        """Write the log if this query still waits, so that rows which refer to it can be stored."""
        with self._mutex:
            waits = any(entry.query.query_id == query_id for entry in self._waiting)
        # A batch that is being written has left the buffer but may not be committed: flush waits for it.
        if waits or self._writing.locked():
            self.flush()

    def status(self) -> LogStatus:
        """Return the state of the log."""
        with self._mutex:
            return LogStatus(len(self._waiting), self._written, self._dropped, self._problem)

    def close(self) -> None:
        """Write the waiting queries and stop; if the store refuses them, count them as dropped and raise."""
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
        """Return the oldest rows of one scope."""
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

    def _isolate_refused_rows(self, batch: Sequence[_Entry], problem: InputError) -> None:
        """Write a refused batch row by row, and drop only the rows that the schema refuses: retrying cannot help."""
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
            # Wait for more queries to write together; close() ends the wait.
            self._stopped.wait(self._interval_s)
            try:
                self.flush()
            except Exception:  # noqa: BLE001 - kept for `status`; the thread must outlive whatever a write meets
                self._stopped.wait(self._interval_s)
                self._wake.set()
