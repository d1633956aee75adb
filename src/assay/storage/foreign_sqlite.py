"""SQLite files that other programs wrote: read without touching them, and change the rows of a copy.

A file is opened with `mode=ro&immutable=1`: SQLite then takes no lock and writes no byte, not even an index of its
journal. A file with a write-ahead log is copied to a temporary folder together with its log and read there, because
an immutable file is read without its log and would lack the newest rows.

Names of tables and columns come from the readers of known forms, never from a file.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.errors import InputError, MalformedFile

_MAGIC = b"SQLite format 3\x00"
LOGS = ("-wal", "-journal")
"""Endings of files that hold changes which are not in the main file yet."""
_NAME = re.compile(r"[A-Za-z_]\w*(?::\w+)?")


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as opened:
        return opened.read(len(_MAGIC)) == _MAGIC


def find_log_files(path: Path) -> list[Path]:
    """Return the files beside a database that hold changes of it."""
    logs = (path.with_name(path.name + ending) for ending in LOGS)
    return [log for log in logs if log.is_file() and log.stat().st_size > 0]


class ForeignDatabase:
    """An open SQLite file of another program."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def tables(self) -> frozenset[str]:
        """Return the names of its tables."""
        return frozenset(name for (name,) in self._run("SELECT name FROM sqlite_master WHERE type = 'table'"))

    def columns(self, table: str) -> frozenset[str]:
        """Return the names of a table's columns; none where there is no such table."""
        return frozenset(row[1] for row in self._run(f"PRAGMA table_info({_quote(table)})"))

    def rows(self, table: str, columns: Sequence[str], *, order: str = "rowid") -> Iterator[tuple[Any, ...]]:
        """Yield the given columns of every row, in order."""
        listed = ", ".join(map(_quote, columns))
        yield from self._run(f"SELECT {listed} FROM {_quote(table)} ORDER BY {_quote(order)}")  # noqa: S608 - see `_quote`

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        [(found,)] = self._run(f"SELECT count(*) FROM {_quote(table)}")  # noqa: S608 - the same
        return int(found)

    def delete(self, table: str, where: Mapping[str, Any]) -> None:
        """Remove the rows with these values."""
        conditions, values = _conditions(where)
        list(self._run(f"DELETE FROM {_quote(table)} WHERE {conditions}", values))  # noqa: S608 - the same

    def update(self, table: str, changes: Mapping[str, Any], where: Mapping[str, Any]) -> None:
        """Change columns of the rows with these values."""
        assigned = ", ".join(f"{_quote(name)} = ?" for name in changes)
        conditions, values = _conditions(where)
        given = [*changes.values(), *values]
        list(self._run(f"UPDATE {_quote(table)} SET {assigned} WHERE {conditions}", given))  # noqa: S608 - the same

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as problem:
            raise MalformedFile(
                f"{self._path} cannot be read: {problem}", remedy="Check the file with the program that wrote it."
            ) from problem


@contextmanager
def open_foreign(path: Path) -> Iterator[ForeignDatabase]:
    """Open a file for reading only; the file and everything beside it stay as they are."""
    if not is_sqlite(path):
        raise MalformedFile(f"{path} is not a SQLite database", remedy="Name the file or folder of the store.")
    logs = find_log_files(path)
    with tempfile.TemporaryDirectory(prefix="assay-audit-") as folder:
        read, how = path, "mode=ro&immutable=1"
        if logs:
            read, how = Path(folder) / path.name, "mode=rw"
            for file in (path, *logs):
                shutil.copyfile(file, Path(folder) / file.name)
        with closing(_connect(read, how)) as connection:
            yield ForeignDatabase(connection, path)


@contextmanager
def change_foreign(path: Path) -> Iterator[ForeignDatabase]:
    """Open a copy for changing its rows, in one transaction; what was deleted leaves no bytes in the file."""
    with closing(_connect(path, "mode=rw")) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        with connection:
            yield ForeignDatabase(connection, path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True)
    except sqlite3.Error as problem:
        raise InputError(
            f"{path} cannot be opened: {problem}", remedy="Check the path and its permissions."
        ) from problem


def _conditions(where: Mapping[str, Any]) -> tuple[str, list[Any]]:
    return " AND ".join(f"{_quote(name)} = ?" for name in where), list(where.values())


def _quote(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a table or column")
    return f'"{name}"' if name != "rowid" else name
