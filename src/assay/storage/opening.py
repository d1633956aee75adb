"""Open a store: inspect the address, refuse databases of other programs, migrate older stores.

A new file or schema is filled by the same migrations that bring an old one forward. Before an old SQLite file is
migrated a checkpoint is made; all steps then run in one transaction, so a failure or a kill leaves the old schema.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from assay.clock import Clock
from assay.errors import SchemaTooOld, StoreBusy, StoreNotFound
from assay.records import IdFactory, Scope
from assay.storage import schema as history
from assay.storage import sqlite
from assay.storage.backend import WriteLock, translate_errors
from assay.storage.checkpoints.sqlite import SqliteCheckpoints
from assay.storage.erasing import Erasing
from assay.storage.postgres import PostgresBackend, prepare_schema, read_url
from assay.storage.repositories.base import EPOCH
from assay.storage.schema import Schema
from assay.storage.sqlite import SqliteBackend
from assay.storage.token_texts import remove_token_texts
from assay.storage.work import Work

_log = logging.getLogger(__name__)
FIRST_WITH_ANSWERS = "0008"
LAST_WITH_TEXTS = "0012"
"""Between these two schemas, stored answers could hold texts of tokens."""
MIGRATION_WAIT_S = 3_600.0
"""How long opening a PostgreSQL store waits for another process that migrates it."""
SYSTEM = Scope(principal="assay")
"""The principal of actions of the store itself: opening, migrating, restoring."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOptions:
    """How to open a store; each has a setting of the same name."""

    lock_timeout_s: float = 30.0
    readers: int = 8
    flush_interval_s: float = 0.2
    log_capacity: int = 20_000
    postgres_schema: str = "assay"
    statement_timeout_s: float = 0.0
    """Seconds after which PostgreSQL cancels a statement; 0: never."""
    checkpoint_folder: Path | None = None
    """Where checkpoints are kept. None: beside the SQLite file."""
    postgres_programs: Path | None = None
    """The folder of pg_restore and psql, for checkpoints that were made with pg_dump. None: the search path."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenOptions:
    """What opening a store needs besides its address."""

    clock: Clock
    ids: IdFactory
    options: StoreOptions
    schema: Schema = history.CURRENT
    create: bool = True
    """Make the store when there is none."""
    migrate: bool = True
    """Bring an older store up to date."""


def open_sqlite(path: Path, how: OpenOptions) -> SqliteBackend:
    """Open the SQLite file at a path; create or migrate it if needed."""
    path = path.expanduser().resolve()
    sqlite.prepare_file(path, create=how.create)
    sqlite.check_ours(path, sqlite.inspect(path))
    lock = WriteLock(path, clock=how.clock, timeout_s=how.options.lock_timeout_s)
    backend = SqliteBackend(path, lock=lock, readers=how.options.readers)
    try:
        if not _is_ready(backend, how):
            _fill_or_migrate_file(backend, how)
    except BaseException:
        backend.close()
        raise
    return backend


def open_postgres(address: str, how: OpenOptions) -> PostgresBackend:
    """Open the PostgreSQL schema at an address; create or migrate it if needed."""
    backend = PostgresBackend(
        read_url(address),
        schema=how.options.postgres_schema,
        readers=how.options.readers,
        lock_timeout_s=how.options.lock_timeout_s,
        statement_timeout_s=how.options.statement_timeout_s,
    )
    try:
        if not _is_ready(backend, how):
            _fill_or_migrate_schema(backend, how)
    except BaseException:
        backend.close()
        raise
    return backend


def _is_ready(backend: SqliteBackend | PostgresBackend, how: OpenOptions) -> bool:
    """Whether the store has the newest schema; refuse one that is missing or too old if it may not be written."""
    with backend.reading() as connection:
        found = history.revision(connection, within=backend.schema)
    if found is None:
        if not how.create:
            raise StoreNotFound(
                f"there is no store at {backend.place}",
                remedy="Create one with `assay init`, or name another with --db.",
            )
        return False
    history.check_known(found, backend.place, how.schema)
    if found != how.schema.newest and not how.migrate:
        raise SchemaTooOld(
            f"{backend.place} has schema {found}; this Assay writes {how.schema.newest}",
            remedy="Run `assay init` to bring it up to date; a checkpoint is made first.",
        )
    return found == how.schema.newest


def _fill_or_migrate_file(backend: SqliteBackend, how: OpenOptions) -> None:
    # Before the checkpoint that precedes a migration, which would keep the texts of tokens.
    _forget_token_texts(backend, how)
    with backend.writing() as connection:
        # Another process may have migrated it while we waited for the lock.
        found = history.revision(connection)
        if found == how.schema.newest:
            return
        if found is not None:
            copies = SqliteCheckpoints(backend, clock=how.clock, ids=how.ids, folder=how.options.checkpoint_folder)
            copies.create(f"before schema {how.schema.newest}")
        connection.execute(text(f"PRAGMA application_id = {sqlite.APPLICATION_ID}"))
        _migrate(connection, backend, how)


def _forget_token_texts(backend: SqliteBackend, how: OpenOptions) -> None:
    """Remove the texts of tokens from a file of version 0.1, and rewrite the file so that no page holds them."""
    with backend.writing() as connection:
        found = history.revision(connection)
        if found is None or not FIRST_WITH_ANSWERS <= found <= LAST_WITH_TEXTS:
            return
        remove_token_texts(connection)
        was_used = Work(connection, SYSTEM, how.clock).access_tokens.have_been_made()
    if not was_used:
        return
    try:
        Erasing(backend, how.clock).scrub()
    except StoreBusy as problem:
        # The rows are clean. Opening the store must not fail because another program reads it.
        _log.warning("texts of tokens may still be in unused pages: %s %s", problem.message, problem.remedy)


def _fill_or_migrate_schema(backend: PostgresBackend, how: OpenOptions) -> None:
    # Writes are locked out: a row that an older program adds after the migration would not fit the tables. Of several
    # processes that open the store at once, one migrates it and the others wait, however long that takes.
    with backend.restoring(wait_s=MIGRATION_WAIT_S) as connection:
        prepare_schema(backend, connection)
        found = history.revision(connection, within=backend.schema)
        if found != how.schema.newest:
            _migrate(connection, backend, how)
    if found is not None and FIRST_WITH_ANSWERS <= found <= LAST_WITH_TEXTS:
        Erasing(backend, how.clock).scrub_table("request_keys")


def _migrate(connection: Connection, backend: SqliteBackend | PostgresBackend, how: OpenOptions) -> None:
    with translate_errors(backend.place):
        steps = history.upgrade(connection, backend.place, how.schema, within=backend.schema)
        work = Work(connection, SYSTEM, how.clock)
        if work.meta.get(EPOCH) is None:
            work.meta.put(EPOCH, how.ids.new("ep"))
        work.audit.append("schema.migrated", backend.place[:200], {"steps": steps})
