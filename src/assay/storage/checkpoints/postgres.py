"""Checkpoints of a PostgreSQL schema.

- Checkpoints made by earlier versions with pg_dump.
- Checkpoints over the store's own connection.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from assay.clock import Clock
from assay.errors import CheckpointFailed, SettingError, StorageError
from assay.records import IdFactory, Scope
from assay.storage import schema
from assay.storage.checkpoints import folder as manifest
from assay.storage.checkpoints.folder import (
    Checkpoint,
    CheckpointFolder,
    KeptInFolder,
    Restored,
    carry_between_schemas,
    dump_holds,
)
from assay.storage.erasing import Marks
from assay.storage.postgres import LOCK_FAMILY, PostgresBackend, lift_statement_timeout
from assay.storage.repositories import vectors
from assay.storage.repositories.base import EPOCH
from assay.storage.rows import write_moment
from assay.storage.work import Work

# --- Checkpoints made by earlier versions with pg_dump ---
#
# New checkpoints are copies of the tables, which need no program (`postgres_tables`). Restoring a dump runs as one
# transaction: writers are locked out, the present schema is renamed and kept, the dump takes its place with an epoch
# of its own and without any token. Nothing is replaced unless all of it succeeded. A second transaction brings the
# schema up to date and carries the present tokens and audit log over; until then no token opens the store.

DUMP_SUFFIX = ".dump"
_FOREIGN = re.compile(r"^\d+; \d+ \d+ (TRIGGER|RULE|VIEW|FUNCTION) \S+ (.*) \S+$", re.MULTILINE)
"""A line of pg_restore's list of contents that names code: its kind, its table and name, then its owner."""


class Dumps:
    """Reads and restores dumps with pg_restore and psql."""

    def __init__(self, backend: PostgresBackend, *, clock: Clock, ids: IdFactory, programs: Path | None) -> None:
        self._backend = backend
        self._clock = clock
        self._ids = ids
        self._programs = programs

    def data_of(self, copy: Path) -> str:
        """The rows of a dump as text."""
        return self._run("pg_restore", "--data-only", "--file=-", str(copy))

    def restore(self, copy: Path, found: Checkpoint, scope: Scope, aside: str) -> None:
        """Put a dump in the place of the present schema, which is kept under another name."""
        self._refuse_foreign_code(copy, found)
        dumped = self._run("pg_restore", "--no-owner", "--file=-", str(copy))
        script = "\n".join([self._make_room(aside), dumped, self._begin_new_epoch()])
        flags = ("--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", "--file=-")
        self._run("psql", *flags, script=script)
        with self._backend.restoring() as connection:
            if found.schema != schema.CURRENT.newest:
                schema.upgrade(connection, self._backend.place, within=self._backend.schema)
            carry_between_schemas(connection, aside, self._backend.schema)
            work = Work(connection, scope, self._clock)
            work.audit.append("checkpoint.restored", found.id, {"name": found.name})

    def _refuse_foreign_code(self, copy: Path, found: Checkpoint) -> None:
        """Refuse a dump that would bring code back which Assay did not make: it would run with every save."""
        foreign = _FOREIGN.search(self._run("pg_restore", "--list", str(copy)))
        if foreign:
            raise CheckpointFailed(
                f"checkpoint {found.id} holds a {foreign[1].lower()} {foreign[2]!r}, which Assay did not make",
                remedy="Choose another checkpoint; nothing was replaced. Such code runs with every save.",
            )

    def _make_room(self, aside: str) -> str:
        ours = self._backend.schema
        with self._backend.reading() as connection:
            listed = text("SELECT tablename FROM pg_tables WHERE schemaname = :ours ORDER BY tablename")
            tables = connection.execute(listed, {"ours": ours}).scalars().all()
        locks = [f'LOCK TABLE "{ours}"."{table}" IN ACCESS EXCLUSIVE MODE;' for table in tables]
        # No write is under way once the shared lock is ours; readers are waited for, but not for ever.
        turn = (
            f"SET lock_timeout = {self._backend.lock_timeout_ms};",
            f"SELECT pg_advisory_xact_lock({LOCK_FAMILY}, {self._backend.store_key}) \\g /dev/null",
        )
        return "\n".join([*turn, *locks, f'ALTER SCHEMA "{ours}" RENAME TO "{aside}";'])

    def _begin_new_epoch(self) -> str:
        """Return SQL that sets a new epoch and deletes the tokens of the dump, if it has a table of tokens."""
        now = write_moment(self._clock.now())
        epoch = self._ids.new("ep")
        # Ids and times are ours and hold no quotes.
        ours = self._backend.schema
        return f"""
            UPDATE "{ours}".meta SET value = '{epoch}', updated_at = '{now}' WHERE key = '{EPOCH}';
            DO $$ BEGIN
              IF to_regclass('"{ours}".access_tokens') IS NOT NULL THEN
                DELETE FROM "{ours}".access_tokens;
              END IF;
            END $$;
        """  # noqa: S608 - see above

    def _run(self, program: str, *arguments: str, script: str | None = None) -> str:
        path = shutil.which(program, path=None if self._programs is None else str(self._programs))
        if path is None:
            raise CheckpointFailed(
                f"this checkpoint was made by pg_dump and needs the program {program!r}, which is not on this machine",
                remedy="Install PostgreSQL's client programs (Debian: postgresql-client) or set `postgres.programs`.",
            )
        done = subprocess.run(  # noqa: S603 - a fixed program, no shell
            [path, *arguments], input=script, capture_output=True, text=True, env=self._environment(), check=False
        )
        if done.returncode:
            message = (done.stderr.strip().splitlines() or ["no message"])[0]
            raise CheckpointFailed(
                f"{program} ended with {done.returncode}: {message}",
                remedy="Nothing was replaced. The client programs must be as new as the server.",
            )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """The address as the client programs read it, so that no password shows in the list of processes."""
        url = self._backend.url
        variables = {
            "PGHOST": url.host or _first(url.query.get("host")),
            "PGPORT": str(url.port) if url.port else _first(url.query.get("port")),
            "PGUSER": url.username,
            "PGPASSWORD": url.password,
            "PGDATABASE": url.database,
        }
        return {**os.environ, **{name: value for name, value in variables.items() if value}}


def _first(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value


# --- Checkpoints over the store's own connection ---
#
# No program is needed on this machine: rows are read and written with COPY, and the tables are made by the migrations
# that make a new store. A copy is a ZIP file with the rows of each table in PostgreSQL's text format and
# `schema.json`, which says what is in it.
#
# Restoring runs as one transaction: writers are locked out, the present schema is renamed and kept, a new one is made
# and filled, and gets the present tokens and audit log (see `carrying`) and an epoch of its own. Nothing is replaced
# unless all of it succeeded. Checkpoints that earlier versions made with pg_dump are restored with PostgreSQL's
# programs, see `Dumps`.

SUFFIX = ".tables"
CONTENTS = "schema.json"
FORMAT = 1
PIECE = 1 << 20
"""Bytes copied at a time."""

_TABLES = text(
    "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    # A table of months is copied and locked with its months.
    " WHERE n.nspname = :ours AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname"
)
_COLUMNS = text(
    "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = :ours AND is_generated = 'NEVER' ORDER BY table_name, ordinal_position"
)
_SEQUENCES = text("SELECT sequencename FROM pg_sequences WHERE schemaname = :ours ORDER BY sequencename")
_REFERENCES = text(
    "SELECT t.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c"
    " JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace"
    # Those of a partition come with its table.
    " WHERE c.contype = 'f' AND c.conparentid = 0 AND n.nspname = :ours"
    " ORDER BY t.relname, c.conname"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """The description inside a copy."""

    format: int
    schema: str
    """The name of the PostgreSQL schema."""
    tables: Mapping[str, Sequence[str]]
    """The columns of each table, in the order of the copied rows."""
    sequences: Mapping[str, tuple[int, bool]]
    """The last value of each sequence, and whether it was used."""
    vector_indexes: Sequence[tuple[str, str, int]] = ()
    """Tenant, model and dimension of each index of vectors: tenants have their own, which no migration makes."""


class PostgresCheckpoints(KeptInFolder):
    """Create, list, restore and delete the checkpoints of one PostgreSQL schema."""

    def __init__(
        self, backend: PostgresBackend, *, clock: Clock, ids: IdFactory, folder: Path | None, programs: Path | None
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._ids = ids
        self._place = folder
        self._dumps = Dumps(backend, clock=clock, ids=ids, programs=programs)

    @property
    def _folder(self) -> CheckpointFolder:
        return table_folder(self._place)

    def create(self, name: str) -> Checkpoint:
        """Copy every table as it is now; others go on writing meanwhile."""
        checkpoint_id = self._ids.new("ck")
        with self._folder.adding(checkpoint_id) as copy:
            # The rows and the facts about them come from one snapshot.
            with self._backend.reading() as connection:
                lift_statement_timeout(connection)
                _write_copy(connection, self._backend.schema, copy)
                version = schema.revision(connection, within=self._backend.schema) or ""
                epoch = connection.execute(text("SELECT value FROM meta WHERE key = :key"), {"key": EPOCH}).scalar_one()
                memories = connection.execute(text("SELECT count(*) FROM memories")).scalar_one()
                # An audit log of an older schema may have no chain.
                chained = version == schema.CURRENT.newest
                heads = Work(connection, Scope(), self._clock).audit.heads() if chained else {}
            made = Checkpoint(
                id=checkpoint_id,
                name=name,
                created_at=self._clock.now(),
                backend=self._backend.name,
                place=self._backend.place,
                schema=version,
                epoch=epoch,
                memories=memories,
                size_bytes=copy.stat().st_size,
                content=manifest.hash_of(copy),
                audit_heads=heads,
            )
            self._folder.complete(made)
        return made

    def holding(self, tenant: str, marks: Marks | None) -> Sequence[Checkpoint]:
        """The checkpoints that still hold something of a tenant."""
        return [checkpoint for checkpoint in self.list() if self._holds(checkpoint, tenant, marks)]

    def _holds(self, checkpoint: Checkpoint, tenant: str, marks: Marks | None) -> bool:
        copy = self._folder.copy_of(checkpoint)
        try:
            if copy.suffix == DUMP_SUFFIX:
                return dump_holds(self._dumps.data_of(copy), tenant, marks)
            with _open_copy(copy) as (archive, contents):
                return any(dump_holds(archive.read(table).decode(), tenant, marks) for table in contents.tables)
        except CheckpointFailed:
            # A copy that cannot be read is believed to hold it.
            return True

    def restore(self, wanted: str, scope: Scope) -> Restored:
        """Bring the schema back to a checkpoint; the present one is kept under another name."""
        found = self._folder.find(wanted)
        copy = self._folder.verify_content(found)
        schema.check_known(found.schema, f"checkpoint {found.id}")
        aside = f"{self._backend.schema}_before_{self._ids.new('rs').lower()}"
        if copy.suffix == DUMP_SUFFIX:
            self._dumps.restore(copy, found, scope, aside)
            return Restored(found, f"schema {aside}")
        with _open_copy(copy) as (archive, contents):
            self._check_ours(found, contents)
            with self._backend.restoring() as connection, _translate_restore_errors(found):
                _set_aside(connection, self._backend.schema, aside)
                _fill(connection, self._backend, found, archive, contents)
                if found.schema != schema.CURRENT.newest:
                    schema.upgrade(connection, self._backend.place, within=self._backend.schema)
                carry_between_schemas(connection, aside, self._backend.schema)
                self._begin_new_epoch(connection, found, scope)
        return Restored(found, f"schema {aside}")

    def _check_ours(self, found: Checkpoint, contents: Contents) -> None:
        if contents.format != FORMAT or contents.schema != self._backend.schema:
            raise CheckpointFailed(
                f"checkpoint {found.id} is a copy of the schema {contents.schema!r} in format {contents.format}, "
                f"and this store is {self._backend.schema!r}",
                remedy="Choose another checkpoint, or set `postgres.schema`; nothing was replaced.",
            )

    def _begin_new_epoch(self, connection: Connection, found: Checkpoint, scope: Scope) -> None:
        work = Work(connection, scope, self._clock)
        work.meta.put(EPOCH, self._ids.new("ep"))
        work.audit.append("checkpoint.restored", found.id, {"name": found.name})


def table_folder(folder: Path | None) -> CheckpointFolder:
    """The checkpoint folder of a PostgreSQL schema, which has no "beside" of its own."""
    if folder is None:
        raise SettingError("no folder is set for checkpoints of PostgreSQL", remedy="Set `checkpoints.folder`.")
    return CheckpointFolder(folder, suffix=SUFFIX, older=(DUMP_SUFFIX,))


def _write_copy(connection: Connection, ours: str, copy: Path) -> None:
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_COLUMNS, {"ours": ours}):
        columns.setdefault(table, []).append(column)
    tables = connection.execute(_TABLES, {"ours": ours}).scalars().all()
    contents = Contents(
        format=FORMAT,
        schema=ours,
        tables={table: columns[table] for table in tables},
        sequences={name: _sequence(connection, ours, name) for name in _sequences(connection, ours)},
        vector_indexes=vectors.list_indexes(connection),
    )
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(CONTENTS, json.dumps(asdict(contents)))
        for table in tables:
            # A table of months cannot be copied by its name.
            listed = ", ".join(f'"{column}"' for column in columns[table])
            statement = f'COPY (SELECT {listed} FROM "{ours}"."{table}") TO STDOUT'  # noqa: S608 - names of the catalogue
            with archive.open(table, "w", force_zip64=True) as file, _cursor(connection).copy(statement) as rows:
                for piece in rows:
                    file.write(piece)
    with copy.open("rb") as written:
        os.fsync(written.fileno())


def _sequences(connection: Connection, ours: str) -> Sequence[str]:
    return connection.execute(_SEQUENCES, {"ours": ours}).scalars().all()


def _sequence(connection: Connection, ours: str, name: str) -> tuple[int, bool]:
    row = connection.execute(text(f'SELECT last_value, is_called FROM "{ours}"."{name}"')).one()  # noqa: S608 - names of the catalogue
    return int(row.last_value), bool(row.is_called)


def _set_aside(connection: Connection, ours: str, aside: str) -> None:
    """Wait for open readers, and rename the present schema."""
    for table in connection.execute(_TABLES, {"ours": ours}).scalars().all():
        connection.execute(text(f'LOCK TABLE "{ours}"."{table}" IN ACCESS EXCLUSIVE MODE'))
    connection.execute(text(f'ALTER SCHEMA "{ours}" RENAME TO "{aside}"'))
    connection.execute(text(f'CREATE SCHEMA "{ours}"'))


def _fill(
    connection: Connection, backend: PostgresBackend, found: Checkpoint, archive: zipfile.ZipFile, contents: Contents
) -> None:
    """Make the tables of the checkpoint's own version, and put its rows into them."""
    ours = backend.schema
    then = schema.Schema(scripts=schema.CURRENT.scripts, newest=found.schema)
    schema.upgrade(connection, backend.place, then, within=ours)
    references = connection.execute(_REFERENCES, {"ours": ours}).all()
    for table, name, _ in references:
        connection.execute(text(f'ALTER TABLE "{ours}"."{table}" DROP CONSTRAINT "{name}"'))
    tables = ", ".join(f'"{ours}"."{table}"' for table in contents.tables)
    # What the migrations themselves put in is in the copy too.
    connection.execute(text(f"TRUNCATE {tables}"))
    for table, columns in contents.tables.items():
        statement = f"COPY {_target(ours, table, columns)} FROM STDIN"
        with archive.open(table) as file, _cursor(connection).copy(statement) as rows:
            while piece := file.read(PIECE):
                rows.write(piece)
    # Afterwards: a reference that is checked row by row while tables fill is planned for empty tables, and slow.
    for table, name, definition in references:
        connection.execute(text(f'ALTER TABLE "{ours}"."{table}" ADD CONSTRAINT "{name}" {definition}'))
    for tenant, model, dimension in contents.vector_indexes:
        vectors.create_index(connection, tenant, model, dimension)
    for name, (value, used) in contents.sequences.items():
        given = {"name": f'"{ours}"."{name}"', "value": value, "used": used}
        connection.execute(text("SELECT setval(:name, :value, :used)"), given)


def _target(ours: str, table: str, columns: Sequence[str]) -> str:
    listed = ", ".join(f'"{column}"' for column in columns)
    return f'"{ours}"."{table}" ({listed})'


def _cursor(connection: Connection) -> Any:
    """A cursor of the driver, which can copy; SQLAlchemy's own cannot."""
    driver: Any = connection.connection.driver_connection
    return driver.cursor()


@contextmanager
def _open_copy(copy: Path) -> Iterator[tuple[zipfile.ZipFile, Contents]]:
    """Open a copy and read its description; refuse one that cannot be read."""
    try:
        with zipfile.ZipFile(copy) as archive:
            described = json.loads(archive.read(CONTENTS))
            sequences = {name: (int(value), bool(used)) for name, (value, used) in described["sequences"].items()}
            yield archive, Contents(**{**described, "sequences": sequences})
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, KeyError, TypeError, EOFError) as problem:
        raise CheckpointFailed(
            f"the copy {copy} cannot be read: {problem}",
            remedy="Choose another checkpoint; nothing was replaced.",
        ) from problem


@contextmanager
def _translate_restore_errors(found: Checkpoint) -> Iterator[None]:
    """Raise errors of the driver as `CheckpointFailed`; the transaction is rolled back."""
    import psycopg  # noqa: PLC0415 - only who uses PostgreSQL has it

    try:
        yield
    except psycopg.errors.LockNotAvailable:
        raise
    except (psycopg.Error, StorageError) as problem:
        raise CheckpointFailed(
            f"checkpoint {found.id} could not be restored: {problem}",
            remedy="Choose another checkpoint; nothing was replaced.",
        ) from problem
