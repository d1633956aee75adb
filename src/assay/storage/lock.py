"""One writer at a time, over all threads and processes that use the same SQLite file.

SQLite before 3.51.3 can damage a WAL database when two processes write and checkpoint at the same instant, and its
own busy handler is a lottery that times out under load. So every write (open, transaction, checkpoint, close)
happens between `WriteLock.acquire` and `release`.

Two queues stand before a write. Inside the process, threads are served in the order they came. Between processes,
`flock` on `<database>.lock` decides; a turnstile (`<database>.queue`) lets only one waiter at a time stand at that
door, so a process that has just written cannot slip in again before the others.
The file names the holder's process id, which is what a `StoreBusy` error shows. Lock files are never deleted:
a process waiting on a deleted file would wait beside, not behind, the others.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.clock import Clock
from assay.errors import StoreBusy
from assay.storage.failures import of_file

_WIDEST_PID = 10
"""Digits that a process id may have."""


class WriteLock:
    """The right to write to one database file."""

    def __init__(self, database: Path, *, clock: Clock, timeout_s: float) -> None:
        self._door = database.with_name(database.name + ".lock")
        self._queue = database.with_name(database.name + ".queue")
        self._database = database
        self._clock = clock
        self._timeout_s = timeout_s
        self._turns = _Turns()
        self._held: int | None = None
        self._writing_thread: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the body, waiting at most the time allowed."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def acquire(self) -> None:
        """Wait for this thread's turn, then for this process's."""
        if self._writing_thread == threading.get_ident():
            raise StoreBusy(
                f"this thread is already writing to {self._database}",
                remedy="Use the open unit of work; writes do not nest.",
            )
        deadline = self._clock.monotonic() + self._timeout_s
        if not self._turns.take(self._timeout_s):
            raise self._busy()
        try:
            self._held = self._pass_the_door(deadline)
        except BaseException:
            self._turns.give_back()
            raise
        self._writing_thread = threading.get_ident()

    def release(self) -> None:
        """Let the next one in."""
        held, self._held = self._held, None
        self._writing_thread = None
        if held is not None:
            os.close(held)
        self._turns.give_back()

    def _pass_the_door(self, deadline: float) -> int:
        turnstile = self._lock_file(self._queue, deadline)
        try:
            door = self._lock_file(self._door, deadline)
        finally:
            os.close(turnstile)
        # Our name on the door is a courtesy: a full disk must not make a held lock fail, let alone leak.
        with suppress(OSError):
            # Always as long, so that the file keeps its size: changing it would wait for the disk.
            os.pwrite(door, f"{os.getpid():<{_WIDEST_PID}}".encode(), 0)
        return door

    def _lock_file(self, path: Path, deadline: float) -> int:
        file = _open(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # flock knows no time limit, so a thread waits in our place; when we leave first, it lets go by itself.
            waiter = _Waiter(file)
            if not waiter.wait(deadline - self._clock.monotonic()):
                raise self._busy() from None
        except BaseException:
            os.close(file)
            raise
        return file

    def _busy(self) -> StoreBusy:
        try:
            holder = f"process {self._door.read_text().strip() or 'unknown'}"
        except OSError:
            holder = "another process"
        return StoreBusy(
            f"{self._database} has been locked for writing by {holder} for over {self._timeout_s:g} s",
            remedy="Wait for it or stop it; raise `store.lock_timeout_s` if such writes are expected.",
        )


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise of_file(problem, f"cannot open {path}") from problem


class _Waiter:
    """A thread that waits for a file lock in somebody's place and owns the file until it is handed over."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._answered = threading.Event()
        self._failure: OSError | None = None
        self._mutex = threading.Lock()
        self._abandoned = False
        threading.Thread(target=self._run, name="assay-lock-waiter", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """True when the lock is ours; False when the time is up."""
        try:
            self._answered.wait(max(seconds, 0.0))
        except BaseException:
            if not self._abandon():
                os.close(self._file)
            raise
        if self._abandon():
            return False
        if self._failure is not None:
            os.close(self._file)
            raise self._failure
        return True

    def _abandon(self) -> bool:
        """Give up, unless the answer is there. True when given up."""
        with self._mutex:
            self._abandoned = not self._answered.is_set()
            return self._abandoned

    def _run(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as problem:
            self._failure = problem
        with self._mutex:
            if self._abandoned:
                os.close(self._file)
            self._answered.set()


class _Turns:
    """Threads of one process, served in the order they came."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    def take(self, seconds: float) -> bool:
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        try:
            if mine.wait(seconds):
                return True
        except BaseException:
            if not self._leave(mine):
                self.give_back()
            raise
        return not self._leave(mine)

    def give_back(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def _leave(self, mine: threading.Event) -> bool:
        """Leave the queue. False when the turn had already come: it is then held, and kept."""
        with self._mutex:
            if mine.is_set():
                return False
            self._waiting.remove(mine)
            return True
