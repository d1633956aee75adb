"""Opening: find out what stands at an address, refuse what is not ours, bring what is ours up to date.

A new file or schema is filled by the same migrations that bring an old one forward. Before an old SQLite file is
migrated a checkpoint is made; all steps then run in one transaction, so a failure or a kill leaves the old schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from assay.clock import Clock
from assay.records import IdFactory, Scope
from assay.storage import schema as history
from assay.storage import sqlite
from assay.storage.checkpoints.sqlite_files import SqliteCheckpoints
from assay.storage.failures import translated
from assay.storage.lock import WriteLock
from assay.storage.postgres import PostgresBackend, prepare_schema, read_url
from assay.storage.repositories.meta import EPOCH
from assay.storage.schema import Schema
from assay.storage.sqlite import SqliteBackend
from assay.storage.work import Work

SYSTEM = Scope(principal="assay")
"""Who acts when the store itself does something: opening, migrating, restoring."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOptions:
    """How to open a store; each has a setting of the same name."""

    lock_timeout_s: float = 30.0
    readers: int = 8
    flush_interval_s: float = 0.2
    log_capacity: int = 20_000
    postgres_schema: str = "assay"
    checkpoint_folder: Path | None = None
    """Where checkpoints are kept. None: beside the SQLite file."""
    postgres_programs: Path | None = None
    """The folder of pg_dump and psql. None: the search path."""


def open_sqlite(
    path: Path, *, create: bool, clock: Clock, ids: IdFactory, options: StoreOptions, schema: Schema
) -> SqliteBackend:
    """The SQLite file at a path, made or brought up to date when need be."""
    path = path.expanduser().resolve()
    sqlite.prepare_file(path, create=create)
    sqlite.check_ours(path, sqlite.inspect(path))
    lock = WriteLock(path, clock=clock, timeout_s=options.lock_timeout_s)
    backend = SqliteBackend(path, lock=lock, readers=options.readers)
    try:
        if _revision(backend, schema) != schema.newest:
            _bring_up_to_date(backend, clock, ids, options, schema)
    except BaseException:
        backend.close()
        raise
    return backend


def open_postgres(
    address: str, *, clock: Clock, ids: IdFactory, options: StoreOptions, schema: Schema
) -> PostgresBackend:
    """The PostgreSQL schema at an address, made or brought up to date when need be."""
    backend = PostgresBackend(
        read_url(address),
        schema=options.postgres_schema,
        readers=options.readers,
        lock_timeout_s=options.lock_timeout_s,
    )
    try:
        if _revision(backend, schema) != schema.newest:
            # The lock is the tenant lock of a name no tenant can have: migrations wait for each other only.
            with backend.writing("(schema)") as connection:
                prepare_schema(backend, connection)
                if history.revision(connection) != schema.newest:
                    _migrate(connection, backend.place, clock, ids, schema)
    except BaseException:
        backend.close()
        raise
    return backend


def _revision(backend: SqliteBackend | PostgresBackend, schema: Schema) -> str | None:
    with backend.reading() as connection:
        found = history.revision(connection)
    if found is not None:
        history.check_known(found, backend.place, schema)
    return found


def _bring_up_to_date(
    backend: SqliteBackend, clock: Clock, ids: IdFactory, options: StoreOptions, schema: Schema
) -> None:
    with backend.writing() as connection:
        # Another process may have done it while we waited for the lock.
        found = history.revision(connection)
        if found == schema.newest:
            return
        if found is not None:
            checkpoints = SqliteCheckpoints(backend, clock=clock, ids=ids, folder=options.checkpoint_folder)
            checkpoints.create(f"before schema {schema.newest}")
        connection.execute(text(f"PRAGMA application_id = {sqlite.APPLICATION_ID}"))
        _migrate(connection, backend.place, clock, ids, schema)


def _migrate(connection: Connection, place: str, clock: Clock, ids: IdFactory, schema: Schema) -> None:
    with translated(place):
        steps = history.upgrade(connection, place, schema)
        work = Work(connection, SYSTEM, clock)
        if work.meta.get(EPOCH) is None:
            work.meta.put(EPOCH, ids.new("ep"))
        work.audit.append("schema.migrated", place[:200], {"steps": steps})
