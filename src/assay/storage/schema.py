"""Which schema a database has, and how it is brought up to date: Alembic, run by the program, in one transaction.

The caller holds the write transaction; either every step is in it or none is. A database without the version table
is new. A process that makes several stores takes the steps once: their statements are kept and given to each further
new store, which takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, event, inspect, text

from assay.errors import MigrationFailed, SchemaChanged, SchemaTooNew, SchemaTooOld, StoreCorrupt
from assay.extras import UPGRADE_COMMAND

VERSION_TABLE = "schema_version"
_VERSION = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant
_SET_VERSION = text(f"UPDATE {VERSION_TABLE} SET version_num = :version")  # noqa: S608 - a constant


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """A history of migrations and where it ends."""

    scripts: Path
    newest: str


_SCRIPTS = Path(__file__).parent / "migrations"
_VERSIONS = sorted(path.name.partition("_")[0] for path in (_SCRIPTS / "versions").glob("[0-9]*.py"))
CURRENT = Schema(scripts=_SCRIPTS, newest=_VERSIONS[-1])
"""The schema this program writes: that of the last file under `migrations/versions`."""
FIRST = "0013"
"""The revision of the first file under `migrations/versions`, which makes every table of a new store."""
OLDEST = "0008"
"""The revision that version 0.1 wrote: the oldest one that is brought up to date."""


def revision(connection: Connection, *, within: str | None = None) -> str | None:
    """The version, or None for a database that has none yet. `within` names the PostgreSQL schema that counts."""
    if not inspect(connection).has_table(VERSION_TABLE, schema=within):
        return None
    found = connection.execute(_VERSION).scalars().all()
    if len(found) != 1:
        raise StoreCorrupt(
            f"the table {VERSION_TABLE} has {len(found)} rows instead of one",
            remedy="Restore a checkpoint: `assay checkpoint restore ID`.",
        )
    return str(found[0])


def check_known(found: str, place: str, schema: Schema = CURRENT) -> None:
    """Refuse a schema of a newer program, or one older than version 0.1, before anything is touched."""
    if found > schema.newest:
        raise SchemaTooNew(
            f"{place} has schema {found}; this Assay knows up to {schema.newest}",
            remedy=f"Upgrade Assay (`{UPGRADE_COMMAND}`), or restore a checkpoint made before the upgrade.",
        )
    if found < OLDEST:
        raise SchemaTooOld(
            f"{place} has schema {found}; the oldest one that this Assay reads is {OLDEST}, of version 0.1",
            remedy="Open it once with Assay 0.1, which brings it to that schema, then open it again with this version.",
        )


def check_unchanged(connection: Connection, place: str, schema: Schema = CURRENT) -> None:
    """Refuse to write when another process has migrated or restored the store since it was opened."""
    found = connection.execute(_VERSION).scalar_one_or_none()
    if found != schema.newest:
        raise SchemaChanged(
            f"{place} has schema {found} now; this process writes {schema.newest}",
            remedy="Another version of Assay changed it. Stop the older one, then open the store again.",
        )


class _Statement(NamedTuple):
    """A statement as a driver was given it."""

    sql: str
    parameters: Any


class _Recorded(NamedTuple):
    """What made a new store: the steps, and every statement of theirs that writes."""

    steps: tuple[str, ...]
    statements: tuple[_Statement, ...]


_recorded: dict[tuple[str, Path, str], _Recorded] = {}
"""By kind of database and history of migrations."""
_READS = ("SELECT", "PRAGMA")


def upgrade(connection: Connection, place: str, schema: Schema = CURRENT, *, within: str | None = None) -> list[str]:
    """Run every missing step inside the caller's transaction; give back the names of the steps."""
    if revision(connection, within=within) is not None:
        return _take_steps(connection, place, schema, within)
    key = (connection.dialect.name, schema.scripts, schema.newest)
    known = _recorded.get(key)
    if known is None:
        with _recording(connection, within) as statements:
            steps = _take_steps(connection, place, schema, within)
        _recorded[key] = _Recorded(tuple(steps), tuple(statements))
        return steps
    for statement in known.statements:
        connection.exec_driver_sql(statement.sql, statement.parameters or None)
    return list(known.steps)


@contextmanager
def _recording(connection: Connection, within: str | None) -> Iterator[list[_Statement]]:
    """Write down every statement that changes something; the name of a PostgreSQL schema is left to the search path."""
    statements: list[_Statement] = []
    qualified, plain = f"{within}.{VERSION_TABLE}", VERSION_TABLE

    def note(_connection: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, _many: bool) -> None:
        if not sql.lstrip().upper().startswith(_READS):
            statements.append(_Statement(sql.replace(qualified, plain), parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(connection, "before_cursor_execute", note)


def _take_steps(connection: Connection, place: str, schema: Schema, within: str | None) -> list[str]:
    # Alembic doubles the time of an import, and most opens need none of it.
    from alembic.operations import Operations  # noqa: PLC0415
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    from assay.storage.migrations import older_stores  # noqa: PLC0415

    directory = ScriptDirectory(str(schema.scripts))
    done: list[str] = []
    found = revision(connection, within=within)
    # A checkpoint of an earlier revision asks for tables of that revision.
    wanted = max(schema.newest, FIRST)
    context = MigrationContext.configure(
        connection,
        opts={
            "fn": lambda heads, _: directory._upgrade_revs(wanted, heads),  # noqa: SLF001 - what alembic's own upgrade passes
            "version_table": VERSION_TABLE,
            "version_table_schema": within,
            "transactional_ddl": True,
            "on_version_apply": [lambda step, **_: done.append(str(step.up_revision_id))],
        },
    )
    try:
        with Operations.context(context):
            if found is not None and found < FIRST:
                older_stores.upgrade(found)
                connection.execute(_SET_VERSION, {"version": FIRST})
                done.append(FIRST)
            context.run_migrations()
            if schema.newest < FIRST:
                older_stores.undo(schema.newest)
                connection.execute(_SET_VERSION, {"version": schema.newest})
                done[:] = [schema.newest]
    except Exception as problem:
        failed = f"after step {done[-1]}" if done else "at its first step"
        raise MigrationFailed(
            f"{place}: the schema could not be brought to {schema.newest}, {failed}: {problem}",
            remedy="Nothing was changed and the earlier Assay still works with it; mend the cause and open it again.",
        ) from problem
    return done
