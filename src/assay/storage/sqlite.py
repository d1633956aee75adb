"""One SQLite file: read-only readers, and one writer behind the write lock.

Readers open with `mode=ro`, because any other connection may checkpoint when it closes. The writer's open, every
transaction, every checkpoint and its close happen under `WriteLock`. Writes are `synchronous=FULL`: what was
acknowledged survives a power cut. The database file is never opened by plain file calls here: closing such a file
would drop SQLite's own locks in this process.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool, StaticPool

from assay.errors import AssayError, NotAStore, StoreClosed, StoreNotFound, StoreUnavailable
from assay.private_files import make_private_folder
from assay.storage.backend import WriteLock, of_file, translate_errors

APPLICATION_ID = 0x41737931
"""Marks a file as Assay's ("Asy1"), so that a database of another program is never migrated."""
OLDEST_SQLITE = (3, 37, 0)
"""The first version with STRICT tables."""
BUSY_TIMEOUT_MS = 5_000
READER_CACHE_KB = 16_000
"""Pages that a reading connection keeps: a search touches the upper pages of a dozen trees, which 2 MB do not hold."""
WRITER_CACHE_KB = 64_000
"""Pages that the writing connection keeps, at most: in a large store, notes go to pages all over its trees, and what
does not fit is written to the log and read again within one transaction."""
LOG_PAGES = 8_000
"""Pages of 4 kB in the log of writes before they are copied into the file; a page that many commits change is copied
once. The log takes about 32 MB of disk, and more while a reader stands still."""
READER_TIMEOUT_S = 120.0
"""How long a reader waits for a connection. Waiting readers are not served in order, so on a busy machine with many
threads one may wait far longer than the others."""
_MOST_DAMAGE = 5


class SqliteBackend:
    """An open SQLite file."""

    name = "sqlite"
    schema = None
    """A file is one store. A PostgreSQL database may hold several, each in a schema."""

    def __init__(self, path: Path, *, lock: WriteLock, readers: int) -> None:
        self.path = path
        self.lock = lock
        self._owner = os.getpid()
        self._identity = _identity(path)
        self._closed = False
        self._readers = Readers(_engine(lambda: connect(path, read_only=True), NullPool), readers)
        self._writer = _engine(self._open_writer, StaticPool)
        self._has_written = False

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One consistent snapshot that cannot write."""
        self._check_usable()
        with translate_errors(self.place):
            reader = self._readers.take()
            try:
                reader.begin()
                yield reader.connection
            except AssayError:
                # A caller's own error says nothing about the connection.
                self._readers.put_back(reader)
                raise
            except BaseException:
                self._readers.drop(reader)
                raise
            self._readers.put_back(reader)

    @contextmanager
    def writing(self, tenant: str = "") -> Iterator[Connection]:  # noqa: ARG002 - one file, one writer, whatever the tenant
        """One durable transaction."""
        self._check_usable()
        with translate_errors(self.place), self.lock.hold():
            self._check_usable()
            try:
                with self._writer.connect() as connection, connection.begin():
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                    yield connection
            except DBAPIError as problem:
                # After a failed write the connection's idea of the file may be wrong; a refused row is harmless.
                if not isinstance(problem, IntegrityError):
                    self._writer.dispose()
                raise

    def coordinating(self, *, durable: bool) -> AbstractContextManager[Connection]:  # noqa: ARG002 - a file is durable
        """One transaction like every other: a file has one writer anyway."""
        return self.writing()

    @contextmanager
    def writer_file(self) -> Iterator[sqlite3.Connection]:
        """A driver connection that may write, outside any transaction, for backups into the live file."""
        self._check_usable()
        with translate_errors(self.place), self.lock.hold():
            connection = connect(self.path)
            try:
                yield connection
            finally:
                connection.close()

    @contextmanager
    def reader_file(self) -> Iterator[sqlite3.Connection]:
        """A read-only driver connection of its own, for backups out of the live file."""
        self._check_usable()
        with translate_errors(self.place):
            connection = connect(self.path, read_only=True)
            try:
                yield connection
            finally:
                connection.close()

    def damage(self) -> list[str]:
        """What SQLite's own check finds in the file."""
        with self.reader_file() as connection:
            return damage_of(connection)

    def foreign_code(self) -> list[str]:
        """The triggers and views of the file, none of which Assay made."""
        with self.reader_file() as connection:
            return foreign_code_in(connection)

    def close(self) -> None:
        """Close readers first, so that the writer, closing last and locked, folds the log into the file.

        A process that never wrote does not wait for the lock: closing must be quick after Ctrl-C.
        """
        if self._closed:
            return
        self._closed = True
        if os.getpid() != self._owner:
            return  # the parent's connections are not ours to close
        with suppress(AssayError), translate_errors(self.place):
            self._readers.close()
            if self._has_written:
                with self.lock.hold():
                    self._writer.dispose()

    def _open_writer(self) -> sqlite3.Connection:
        self._has_written = True
        return connect(self.path)

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.place} was closed", remedy="Open the store again.")
        if os.getpid() != self._owner:
            raise StoreClosed(
                f"{self.place} was opened by process {self._owner}, this is {os.getpid()}",
                remedy="Open the store after forking, in each process.",
            )
        if _identity(self.path) != self._identity:
            self._meet_another_file()

    def _meet_another_file(self) -> None:
        """Refuse to write if the file was moved, deleted or replaced since it was opened."""
        if not self.path.exists():
            raise StoreNotFound(
                f"{self.place} was moved or deleted while it was open",
                remedy="Put the file back, or restore a checkpoint; then open the store again.",
            )
        raise StoreUnavailable(
            f"{self.place} was replaced by another file while it was open", remedy="Open the store again."
        )


class Reader:
    """A read-only connection that is kept open between its transactions."""

    __slots__ = ("_driver", "connection")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        driver = connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError(f"{type(driver).__name__} is not a connection of SQLite")
        self._driver = driver

    def begin(self) -> None:
        """Begin a snapshot."""
        self._driver.execute("BEGIN")

    def end(self) -> None:
        """End it."""
        # SQLAlchemy begins a transaction of its own with the first statement that goes through it.
        if self.connection.in_transaction():
            self.connection.commit()
        else:
            self._driver.commit()


class Readers:
    """The reading connections of a file, each for one thread at a time.

    A pool of SQLAlchemy does the same in some 150 calls for each transaction, which was 3 % of a search.
    """

    def __init__(self, engine: Engine, size: int) -> None:
        self._engine = engine
        # The connection that was used last is taken first: it has the most pages in memory.
        self._free: deque[Reader] = deque()
        self._permits: SimpleQueue[None] = SimpleQueue()
        for _ in range(size):
            self._permits.put(None)
        self._closed = False

    def take(self) -> Reader:
        """Return a connection that nobody uses; wait for one if all are in use."""
        try:
            self._permits.get(timeout=READER_TIMEOUT_S)
        except Empty:
            raise PoolTimeout(f"no connection came free within {READER_TIMEOUT_S:.0f} s") from None
        try:
            return self._free.pop()
        except IndexError:
            pass
        try:
            return Reader(self._engine.connect())
        except BaseException:
            self._permits.put(None)
            raise

    def put_back(self, reader: Reader) -> None:
        """End a connection's snapshot, and let others use it."""
        try:
            reader.end()
        except BaseException:
            self.drop(reader)
            raise
        if self._closed:
            self.drop(reader)
            return
        self._free.append(reader)
        self._permits.put(None)

    def drop(self, reader: Reader) -> None:
        """Close a connection after an error: its idea of the file may be wrong."""
        try:
            with suppress(DBAPIError, sqlite3.Error):
                reader.connection.close()
        finally:
            self._permits.put(None)

    def close(self) -> None:
        """Close those that nobody uses now; the others are closed when they are put back."""
        self._closed = True
        while self._free:
            with suppress(IndexError):
                self._free.pop().connection.close()


class Inspection(NamedTuple):
    """What an existing file is."""

    application_id: int
    has_tables: bool

    @property
    def is_empty(self) -> bool:
        """Whether the file is empty, as after `touch`."""
        return not self.has_tables and self.application_id == 0


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection of the driver with our settings. A writer must hold the write lock."""
    mode = "ro" if read_only else "rw"
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        timeout=BUSY_TIMEOUT_MS / 1000,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if read_only:
            connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KB}")
        else:
            connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def inspect(path: Path) -> Inspection:
    """Inspect a file without changing it; refuse one that is not a database."""
    with translate_errors(str(path)):
        connection = connect(path, read_only=True)
        try:
            # One snapshot: between two, another process could fill the file, and it would look foreign.
            connection.execute("BEGIN")
            number = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        finally:
            connection.close()
    return Inspection(number, tables > 0)


def prepare_file(path: Path, *, create: bool) -> None:
    """Make sure that the path is a plain file; a new one is readable by its owner only."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreUnavailable(
            f"this Python links SQLite {sqlite3.sqlite_version}", remedy="Use a Python with SQLite 3.37 or newer."
        )
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        if not create:
            raise StoreNotFound(
                f"there is no store at {path}", remedy="Create one with `assay init`, or name another with --db."
            ) from None
        _create_file(path)
        return
    except OSError as problem:
        raise StoreUnavailable(f"cannot look at {path}: {problem.strerror}", remedy="Check the path.") from problem
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "not a plain file"
        raise NotAStore(f"{path} is {what}", remedy="Name a file, such as notes.db.")


def check_ours(path: Path, found: Inspection) -> None:
    """Refuse a database that some other program made."""
    if found.application_id != APPLICATION_ID and not found.is_empty:
        raise NotAStore(
            f"{path} is a SQLite database of another program (application id {found.application_id})",
            remedy="Choose another --db; Assay will not touch this one.",
        )


def damage_of(connection: sqlite3.Connection) -> list[str]:
    """Return the first lines of what SQLite's own check finds; none if the file is intact."""
    found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_MOST_DAMAGE})")]
    return [] if found == ["ok"] else found


def foreign_code_in(connection: sqlite3.Connection) -> list[str]:
    """List the triggers and views of a file. Assay makes none: each was put there by something else.

    A trigger runs with every save that touches its table, so it can copy, change or delete what is saved.
    """
    statement = "SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY type, name"
    return [
        f"{kind} {name!r}" + (f" on {table}" if kind == "trigger" else "")
        for kind, name, table in connection.execute(statement)
    ]


def _create_file(path: Path) -> None:
    try:
        make_private_folder(path.parent)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        # Another process was faster; or a parent is a file, which the next check reports.
        if not path.exists():
            raise StoreUnavailable(
                f"cannot create {path}: a part of the path is a file", remedy="Choose another --db."
            ) from None
    except OSError as problem:
        raise of_file(problem, f"cannot create {path}") from problem


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _engine(make: Callable[[], sqlite3.Connection], pool: type[NullPool | StaticPool]) -> Engine:
    """Return an engine over our connections; a `StaticPool` keeps one connection for all threads.

    It starts no transaction by itself: callers execute BEGIN. A listener could do that, but with one SQLAlchemy checks
    for listeners at every statement, which takes a fifth of the time of a short one.
    """
    return create_engine("sqlite://", creator=make, poolclass=pool)
