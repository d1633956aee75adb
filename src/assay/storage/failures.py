"""What a database says when it fails, in Assay's own errors: one table for SQLite, one for PostgreSQL, one for files.

Wrap whatever touches a database in `translated(place)`; nothing below it leaks a driver's exception.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

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
    "57014": (StoreBusy, "The server cancelled the statement; wait or raise `store.lock_timeout_s`."),
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
def translated(place: str) -> Iterator[None]:
    """Turn a driver's exception into one of ours that names the place."""
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
    """What a plain file call says when it fails, in one of ours."""
    kind, remedy = _FILES.get(problem.errno or 0, (StoreUnavailable, "Check the folder, or choose another --db."))
    return kind(f"{what}: {problem.strerror}", remedy=remedy)


def _first(problem: DBAPIError) -> DBAPIError:
    """The failure that began it: undoing a broken transaction fails too, and says nothing of the cause."""
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
