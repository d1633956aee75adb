"""An open evidence store: units of work, the query log, checkpoints. The same on SQLite and on PostgreSQL.

    with open_store(address, ...) as store:
        with store.writing(scope) as work:
            work.memories.add(memory)
        with store.reading(scope) as work:
            work.memories.get(memory.id)

A write is durable when its `with` block ends without an error, and entirely absent otherwise.
"""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from sqlalchemy import Connection

from assay import cpu_budget
from assay.clock import Clock
from assay.errors import InputError, NotAStore, StoreBusy, StoreCorrupt, StoreNotFound
from assay.records import FeedbackEvent, IdFactory, LoggedQuery, Scope
from assay.records.coordination import Granted
from assay.storage import consistency
from assay.storage.backend import Backend, WriteLock
from assay.storage.checkpoints.folder import Checkpoint, Restored
from assay.storage.checkpoints.postgres import PostgresCheckpoints, table_folder
from assay.storage.checkpoints.sqlite import SqliteCheckpoints, copy_folder, restore_over_damage
from assay.storage.erasing import Erasing, Marks
from assay.storage.leases import LeaseTaker
from assay.storage.opening import SYSTEM, OpenOptions, StoreOptions, open_postgres, open_sqlite
from assay.storage.postgres import PostgresBackend
from assay.storage.query_log import QueryLog
from assay.storage.repositories import month_partitions, stems, vectors
from assay.storage.repositories.evidence import Recorded
from assay.storage.schema import CURRENT, Schema, check_unchanged
from assay.storage.work import Work

_WORKS_KEPT = 64
FILE_AFTER = 1_000
"""Searches that a process logs before it makes the months of the log: a store with few needs none."""
SWEEP_EVERY = 500
"""After how many questions to shared limits buckets that nobody uses are deleted."""
LIMIT_FORGOTTEN = timedelta(hours=1)
"""How long a bucket is kept that nobody takes from: it is full after a minute."""


class Checkpoints(Protocol):
    """Whole copies of the store."""

    def create(self, name: str) -> Checkpoint:
        """Copy the store as it is now."""
        ...

    def list(self) -> list[Checkpoint]:
        """Every checkpoint, oldest first."""
        ...

    def delete(self, wanted: str) -> Checkpoint:
        """Delete one by id or name."""
        ...

    def restore(self, wanted: str, scope: Scope) -> Restored:
        """Restore a checkpoint; the earlier state of the store is kept."""
        ...

    def holding(self, tenant: str, marks: Marks | None) -> Sequence[Checkpoint]:
        """Return the checkpoints that hold marked rows of a tenant; without marks, any row."""
        ...


class Store:
    """Made by `open_store`; closed by `close` or at the end of a `with` block."""

    def __init__(self, backend: Backend, checkpoints: Checkpoints, how: OpenOptions) -> None:
        self._backend = backend
        self._clock = how.clock
        self._schema = how.schema
        self.checkpoints = checkpoints
        self.erasing = Erasing(backend, how.clock)
        self.ids = how.ids
        self.log = QueryLog(
            self._write_log, flush_interval_s=how.options.flush_interval_s, capacity=how.options.log_capacity
        )
        self._since_filing = 0
        self._works: dict[int, Work] = {}
        self.leases = LeaseTaker(partial(self.coordinating, SYSTEM), clock=how.clock, process_id=how.ids.new("p"))
        """Takes leases of background work for this process."""
        self._limits_taken = itertools.count(1)
        atexit.register(self.close)

    @property
    def place(self) -> str:
        """Its location for messages, without a password."""
        return self._backend.place

    @property
    def backend_name(self) -> str:
        """`sqlite` or `postgres`."""
        return self._backend.name

    @contextmanager
    def reading(self, scope: Scope) -> Iterator[Work]:
        """One consistent snapshot of one scope."""
        cpu_budget.check("reading the store")
        with self._backend.reading() as connection:
            yield self._find_work(connection, scope)

    def _find_work(self, connection: Connection, scope: Scope) -> Work:
        """Return the repositories over a connection, which SQLite keeps open: those made for the search before."""
        if self._backend.name != "sqlite":
            return Work(connection, scope, self._clock)
        # A connection is used by one thread at a time.
        work = self._works.get(id(connection))
        if work is None or not work.is_of(connection, scope):
            if len(self._works) >= _WORKS_KEPT:
                self._works.clear()
            work = self._works[id(connection)] = Work(connection, scope, self._clock)
        return work

    @contextmanager
    def writing(self, scope: Scope) -> Iterator[Work]:
        """One transaction in one scope."""
        cpu_budget.check("writing to the store")
        with self._backend.writing(scope.tenant) as connection:
            check_unchanged(connection, self.place, self._schema)
            yield Work(connection, scope, self._clock)
        cpu_budget.settle()

    @contextmanager
    def coordinating(self, scope: Scope, *, durable: bool = True) -> Iterator[Work]:
        """One short transaction about what processes agree on: leases, limits, live questions.

        On PostgreSQL it waits for no tenant's writes. Not `durable`, a crash of the database may undo it.
        """
        with self._backend.coordinating(durable=durable) as connection:
            yield Work(connection, scope, self._clock)

    @property
    def is_shared(self) -> bool:
        """Whether several machines can use it, so that they must agree through it."""
        return self._backend.name == "postgres"

    def take_from_limit(self, bucket: str, *, wanted: int, size: float, per_second: float) -> Granted:
        """Take up to `wanted` requests from a bucket that all servers share; see `SharedLimits.take`."""
        with self.coordinating(SYSTEM, durable=False) as work:
            if next(self._limits_taken) % SWEEP_EVERY == 0:
                work.shared_limits.remove_before(work.shared_limits.now() - LIMIT_FORGOTTEN)
            return work.shared_limits.take(bucket, wanted=wanted, size=size, per_second=per_second)

    def record_feedback(self, scope: Scope, events: Sequence[FeedbackEvent]) -> Recorded:
        """Keep feedback, after the log has written the queries it names."""
        for query_id in {event.query_id for event in events if event.query_id is not None}:
            self.log.make_sure_of(query_id)
        with self.writing(scope) as work:
            return work.feedback.record(events)

    def build_vector_index(self, scope: Scope, model: str, dimension: int) -> bool:
        """Let PostgreSQL index a tenant's vectors of a model, while others go on; whether it had none.

        SQLite has none to build: vectors are searched outside the file there.
        """
        if not isinstance(self._backend, PostgresBackend):
            return False
        with self._backend.alone() as connection:
            return vectors.build_index(connection, scope.tenant, model, dimension)

    def tidy_stems(self) -> None:
        """Let PostgreSQL clean up the tables of the word index and count them anew, so that plans fit their size."""
        if isinstance(self._backend, PostgresBackend):
            with self._backend.alone() as connection:
                stems.tidy(connection)

    def damage(self) -> list[str]:
        """Return what the database's own check finds wrong with its files. It reads all of them."""
        return self._backend.damage()

    def foreign_code(self) -> list[str]:
        """Describe the triggers, rules and views among the tables. Assay creates none of them."""
        return self._backend.foreign_code()

    def problems(self) -> list[str]:
        """Describe where the tables contradict each other."""
        with self._backend.reading() as connection:
            return consistency.problems(connection)

    def close(self) -> None:
        """Write the pending entries of the log and close all connections. It may be called twice."""
        atexit.unregister(self.close)
        try:
            self.log.close()
        finally:
            self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write_log(self, scope: Scope, queries: Sequence[LoggedQuery]) -> None:
        with self.writing(scope) as work:
            work.queries.add_many(queries)
        self._since_filing += len(queries)
        if self._since_filing >= FILE_AFTER and isinstance(self._backend, PostgresBackend):
            self._since_filing = 0
            # The rows are stored already; when others hold the tables, the next rows try again.
            with suppress(StoreBusy):
                self.file_log()

    def file_log(self) -> list[str]:
        """Make the parts of the query log for this month and the next, on PostgreSQL; return those that were missing.

        Rows of them that were written before are moved into them.
        """
        if not isinstance(self._backend, PostgresBackend):
            return []
        month = month_partitions.Month.of(self._clock.now())
        made = []
        for wanted in (month, month.next):
            with self._backend.reading() as connection:
                known = wanted in month_partitions.list_months(connection)
            if not known:
                with self._backend.writing("(partitions)") as connection:
                    if month_partitions.create_month(connection, wanted):
                        made.append(wanted.table("eval_queries"))
        return made


def open_store(
    address: str | Path,
    *,
    clock: Clock,
    ids: IdFactory | None = None,
    create: bool = True,
    migrate: bool = True,
    options: StoreOptions | None = None,
    schema: Schema = CURRENT,
) -> Store:
    """Open the store at a path or a `postgresql://` address; `create` and `migrate` allow those changes."""
    how = OpenOptions(
        clock=clock,
        ids=ids or IdFactory(clock),
        options=options or StoreOptions(),
        schema=schema,
        create=create,
        migrate=migrate,
    )
    if is_postgres(address):
        server = open_postgres(str(address), how)
        folder, programs = how.options.checkpoint_folder, how.options.postgres_programs
        dumps = PostgresCheckpoints(server, clock=how.clock, ids=how.ids, folder=folder, programs=programs)
        return Store(server, dumps, how)
    file = open_sqlite(_path(address), how)
    copies = SqliteCheckpoints(file, clock=how.clock, ids=how.ids, folder=how.options.checkpoint_folder)
    return Store(file, copies, how)


def list_checkpoints(address: str | Path, options: StoreOptions) -> list[Checkpoint]:
    """Return the checkpoints of a store, even if the store itself cannot be read."""
    if is_postgres(address):
        return table_folder(options.checkpoint_folder).list()
    return copy_folder(_path(address).expanduser().resolve(), options.checkpoint_folder).list()


def restore_checkpoint(address: str | Path, wanted: str, scope: Scope, clock: Clock, options: StoreOptions) -> Restored:
    """Restore a checkpoint of a store, even if its file is damaged or gone."""
    try:
        with open_store(address, clock=clock, create=False, options=options) as store:
            return store.checkpoints.restore(wanted, scope)
    except (StoreCorrupt, StoreNotFound, NotAStore):
        path = None if is_postgres(address) else _path(address).expanduser().resolve()
        if path is None or path.is_dir():
            raise
        lock = WriteLock(path, clock=clock, timeout_s=options.lock_timeout_s)
        folder = options.checkpoint_folder
        return restore_over_damage(path, wanted, scope, folder=folder, lock=lock, clock=clock, ids=IdFactory(clock))


def is_postgres(address: str | Path) -> bool:
    """Whether an address means PostgreSQL rather than a file."""
    return isinstance(address, str) and address.split("://", 1)[0].split("+", 1)[0] in ("postgresql", "postgres")


def _path(address: str | Path) -> Path:
    text = str(address)
    if "\x00" in text or not text.strip():
        raise InputError(f"{text!r} is not the path of a file", remedy="Name a file, such as notes.db.")
    # SQLite would take these for a database in memory; as a path they would become a file of that odd name.
    if Path(text).name == ":memory:" or text.startswith("file:"):
        raise InputError(
            f"{text} is not the path of a file; a store in memory is not supported, because processes share a store",
            remedy='Name a file, such as --db "$(mktemp -d)/assay.db" for one that is thrown away.',
        )
    if "://" in text:
        raise InputError(
            f"the database address {text.split('://', maxsplit=1)[0]}://... is not known",
            remedy="Use a file path, or postgresql://user:password@host:5432/name.",
        )
    return Path(text)
