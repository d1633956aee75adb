"""What both back ends share: errors of drivers in Assay's words, the write lock, and the protocol.

- Errors of SQLite, PostgreSQL and files as Assay's errors.
- The write lock: one writer at a time over all threads and processes.
- The protocol of a back end.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from assay.clock import Clock
from assay.errors import (
    AssayError,
    BadValue,
    NotAStore,
    RecordExists,
    RecordNotFound,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFault,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

# --- Errors of SQLite, PostgreSQL and files as Assay's errors ---
#
# Wrap all access to a database in `translate_errors(place)`, so that no exception of a driver escapes.

_RESTORE = "Bring back a checkpoint: `assay checkpoint list`, then `assay checkpoint restore ID`."
_REPEAT = "Nothing of this operation was kept; repeat it once the cause is gone."

_SQLITE: dict[str, tuple[type[AssayError], str]] = {
    "SQLITE_FULL": (StoreFull, "Free some space and repeat; nothing of this operation was kept."),
    "SQLITE_READONLY": (StoreReadOnly, "Make the file and its folder writable, or use another --db."),
    "SQLITE_BUSY": (StoreBusy, "Another program holds the database; close it and repeat."),
    "SQLITE_LOCKED": (StoreBusy, "Another program holds the database; close it and repeat."),
    "SQLITE_NOTADB": (NotAStore, "Choose another --db, or restore this one from a checkpoint."),
    "SQLITE_CORRUPT": (StoreCorrupt, _RESTORE),
    "SQLITE_IOERR": (StoreFault, _REPEAT),
    "SQLITE_CANTOPEN": (StoreUnavailable, "Check that the folder exists and is writable."),
    "SQLITE_PERM": (StoreUnavailable, "Check the permissions of the file and its folder."),
    "SQLITE_AUTH": (StoreUnavailable, "Check the permissions of the file and its folder."),
    "SQLITE_NOMEM": (StoreFault, _REPEAT),
    "SQLITE_TOOBIG": (BadValue, "Split the text."),
    "SQLITE_CONSTRAINT_UNIQUE": (RecordExists, "Use another id, or update the record that is there."),
    "SQLITE_CONSTRAINT_PRIMARYKEY": (RecordExists, "Use another id, or update the record that is there."),
    "SQLITE_CONSTRAINT_FOREIGNKEY": (RecordNotFound, "Save the record it refers to first."),
    "SQLITE_CONSTRAINT": (BadValue, "Give a value the schema allows."),
    "SQLITE_MISMATCH": (BadValue, "Give a value of the column's type."),
}

_PLAIN_CODES: dict[int, str] = {getattr(sqlite3, name): name for name in _SQLITE if name.count("_") == 1}

_POSTGRES: dict[str, tuple[type[AssayError], str]] = {
    "23505": (RecordExists, "Use another id, or update the record that is there."),
    "23503": (RecordNotFound, "Save the record it refers to first."),
    "23": (BadValue, "Give a value the schema allows."),
    "22": (BadValue, "Give a value of the column's type."),
    "25006": (StoreReadOnly, "Connect to the primary server, or turn off read-only mode."),
    "42501": (StoreReadOnly, "Grant this role the right to use and change Assay's schema."),
    "53100": (StoreFull, "Free some space on the server and repeat; nothing of this operation was kept."),
    "53": (StoreUnavailable, "The server is short of resources; raise its limits or lower `store.readers`."),
    "54": (BadValue, "Shorten or split the text."),
    "55P03": (StoreBusy, "Another session holds the lock; wait for it or raise `store.lock_timeout_s`."),
    "57014": (StoreBusy, "The server cancelled the statement; ask for less, or raise `postgres.statement_timeout_s`."),
    "40": (StoreBusy, "The server undid the transaction; repeat it."),
    "57": (StoreUnavailable, "The server is stopping or restarting; repeat when it is back."),
    "08": (StoreUnavailable, "Check that the server runs and that the address in --db or ASSAY_DB is right."),
    "28": (StoreUnavailable, "Check the user and password in --db or ASSAY_DB."),
    "3D": (StoreUnavailable, "Create the database first (`createdb NAME`), or correct the name in --db."),
    "XX001": (StoreCorrupt, _RESTORE),
    "XX002": (StoreCorrupt, _RESTORE),
    "58": (StoreFault, _REPEAT),
}

_READ_ONLY = (StoreReadOnly, "Make the folder writable, or use another --db.")
_NO_SPACE = (StoreFull, "Free some space and repeat; nothing of this operation was kept.")
_FILES: dict[int, tuple[type[StorageError], str]] = {
    errno.EPERM: _READ_ONLY,
    errno.EACCES: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
}


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Raise exceptions of a driver as Assay's errors, with the place of the database in the message."""
    try:
        yield
    except DBAPIError as problem:
        first = _first(problem)
        raise _of_driver(first.orig or first, place, lost=problem.connection_invalidated) from problem
    except PoolTimeout as problem:
        raise StoreBusy(
            f"all connections to {place} are in use", remedy="Raise `store.readers`, or ask less at once."
        ) from problem
    except sqlite3.Error as problem:
        raise _of_driver(problem, place, lost=False) from problem


def of_file(problem: OSError, what: str) -> StorageError:
    """Return the error for a failed file operation; `what` is the beginning of its message."""
    kind, remedy = _FILES.get(problem.errno or 0, (StoreUnavailable, "Check the folder, or choose another --db."))
    return kind(f"{what}: {problem.strerror}", remedy=remedy)


def _first(problem: DBAPIError) -> DBAPIError:
    """Return the first failure of a chain: the rollback of a broken transaction fails too, and hides the cause."""
    first, earlier = problem, problem.__context__
    while earlier is not None and not isinstance(earlier, AssayError):
        first, earlier = (earlier if isinstance(earlier, DBAPIError) else first), earlier.__context__
    return first


def _of_driver(problem: BaseException, place: str, *, lost: bool) -> AssayError:
    if isinstance(problem, sqlite3.Error):
        return _of_sqlite(problem, place)
    state: str | None = getattr(problem, "sqlstate", None)
    kind, remedy = _look_up(_POSTGRES, state or ("08" if lost or state is None else ""), (state or "")[:2])
    return kind(f"{place}: {_first_line(problem)}", remedy=remedy)


def _of_sqlite(problem: sqlite3.Error, place: str) -> AssayError:
    name: str = getattr(problem, "sqlite_errorname", "")
    # An extended code (SQLITE_IOERR_WRITE) ends in the plain one; newer ones have no name in this Python.
    plain = _PLAIN_CODES.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF, "")
    kind, remedy = _look_up(_SQLITE, name, plain)
    return kind(f"{place}: {_first_line(problem)}", remedy=remedy)


def _look_up(table: dict[str, tuple[type[AssayError], str]], exact: str, family: str) -> tuple[type[AssayError], str]:
    return table.get(exact) or table.get(family) or (StorageError, _REPEAT)


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


# --- The write lock: one writer at a time over all threads and processes ---
#
# SQLite before 3.51.3 can damage a WAL database when two processes write and checkpoint at the same instant, and its
# own busy handler is not fair and times out under load. So every write (open, transaction, checkpoint, close) happens
# between `WriteLock.acquire` and `release`.
#
# A write waits in two queues. Inside the process, threads are served in the order they came. Between processes, `flock`
# on `<database>.lock` decides; a second lock (`<database>.queue`) lets only one process at a time wait for the first,
# so that a process which has just written cannot get in again before the others.
# The lock file contains the holder's process id, which a `StoreBusy` error shows. Lock files are never deleted: a
# process that waits for a deleted file would not exclude processes that open a new one.

_WIDEST_PID = 10
"""Most digits of a process id."""


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
    def hold(self) -> Iterator[None]:
        """Hold the lock in a `with` block; wait for it at most the allowed time."""
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
        """Release the lock for the next writer."""
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
        # The process id is only for error messages: a full disk must not make a held lock fail.
        with suppress(OSError):
            # Padded to a fixed length, so that the file keeps its size: changing the size would wait for the disk.
            os.pwrite(door, f"{os.getpid():<{_WIDEST_PID}}".encode(), 0)
        return door

    def _lock_file(self, path: Path, deadline: float) -> int:
        file = _open(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # flock has no time limit, so a thread waits for it; if we give up first, that thread releases the lock.
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
    """A thread that waits for a file lock, and owns the file until it hands the lock over."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._answered = threading.Event()
        self._failure: OSError | None = None
        self._mutex = threading.Lock()
        self._abandoned = False
        threading.Thread(target=self._run, name="assay-lock-waiter", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for the lock; return False when the time is up."""
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
        """Give up unless the lock was obtained; return whether it was given up."""
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
        """Leave the queue; return False if the turn has come already, which is then kept."""
        with self._mutex:
            if mine.is_set():
                return False
            self._waiting.remove(mine)
            return True


# --- The protocol of a back end ---
#
# Two back ends give it, `sqlite` and `postgres`. Everything above this line is the same for both.


class Backend(Protocol):
    """An open database."""

    @property
    def place(self) -> str:
        """Its location for messages: a path, or an address without its password."""
        ...

    @property
    def name(self) -> str:
        """`sqlite` or `postgres`."""
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Open one consistent snapshot that cannot write."""
        ...

    def writing(self, tenant: str) -> AbstractContextManager[Connection]:
        """Open a transaction that is committed durably when the block ends, and rolled back if it raises.

        Writes of one tenant are done one after the other, so that the change log grows in the order of commits.
        """
        ...

    def coordinating(self, *, durable: bool) -> AbstractContextManager[Connection]:
        """Open a short transaction about the whole store that waits for no tenant's writes.

        Not `durable`, it may be lost when the machine of the database crashes, and does not wait for its disk.
        """
        ...

    def damage(self) -> list[str]:
        """Return what the database's own check finds wrong with its files; nothing on PostgreSQL."""
        ...

    def foreign_code(self) -> list[str]:
        """Describe the triggers, rules and views among the store's tables. Assay creates none."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...
