"""Checkpoints that earlier versions made with pg_dump: restored and looked through with PostgreSQL's own programs.

New checkpoints are copies of the tables, which need no program (`postgres_tables`). Restoring a dump runs as one
transaction: writers are locked out, the present schema is renamed and kept, the dump takes its place with an epoch of
its own and without any token. Nothing is replaced unless all of it succeeded. A second transaction brings the schema up
to date and carries the present tokens and audit log over; until then no token opens the store.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from sqlalchemy import text

from assay.clock import Clock
from assay.errors import CheckpointFailed
from assay.records import IdFactory, Scope
from assay.storage import schema
from assay.storage.checkpoints.carrying import carry_between_schemas
from assay.storage.checkpoints.manifest import Checkpoint
from assay.storage.postgres import LOCK_FAMILY, PostgresBackend
from assay.storage.repositories.meta import EPOCH
from assay.storage.types import write_moment
from assay.storage.work import Work

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
        """A new epoch, and no token that a dump brought back: psql knows the table only if the dump has it."""
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
            said = (done.stderr.strip().splitlines() or ["no message"])[0]
            raise CheckpointFailed(
                f"{program} ended with {done.returncode}: {said}",
                remedy="Nothing was replaced. The client programs must be as new as the server.",
            )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """The address as the client programs read it, so that no password shows in the list of processes."""
        url = self._backend.url
        asked = {
            "PGHOST": url.host or _first(url.query.get("host")),
            "PGPORT": str(url.port) if url.port else _first(url.query.get("port")),
            "PGUSER": url.username,
            "PGPASSWORD": url.password,
            "PGDATABASE": url.database,
        }
        return {**os.environ, **{name: value for name, value in asked.items() if value}}


def _first(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value
