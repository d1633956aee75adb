"""What every repository is built on: connection, scope, row numbers, and facts about the store.

- Connection, scope and clock.
- Row numbers, drawn before the rows are written.
- Facts about the store itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Insert,
    Select,
    Table,
    Text,
    bindparam,
    select,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from assay.clock import Clock
from assay.records import Scope
from assay.storage.repositories.prepared import prepare_insert, prepare_query
from assay.storage.rows import Moment, upsert
from assay.storage.tables import meta

# --- Connection, scope and clock ---
#
# Statements that a search runs are built once, when their module is loaded, with `mine` and `among` in them and their
# values given when they run: building one anew costs several times as much as running it.


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A connection, the scope of its rows, and the clock."""

    connection: Connection
    scope: Scope
    clock: Clock
    driver: sqlite3.Connection | None
    """SQLite's own connection; None on PostgreSQL."""


class Listed(TypeDecorator[Any]):
    """Many values as one parameter: a JSON list on SQLite, an array on PostgreSQL."""

    impl = Text
    cache_ok = True

    def __init__(self, *, whole: bool) -> None:
        super().__init__()
        self.whole = whole

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type for the driver."""
        return Text() if dialect.name == "sqlite" else ARRAY(BigInteger() if self.whole else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Convert a value for the driver."""
        # Drivers do not accept NumPy's integers.
        listed = list(map(int, value)) if self.whole else list(value)
        if dialect.name != "sqlite":
            return listed
        # As `json.dumps` writes it, in a third of the time: a search gives a dozen such lists.
        write: Callable[[Any], str] = str if self.whole else encode_basestring_ascii
        return f"[{', '.join(map(write, listed))}]"


class _Among(FunctionElement[bool]):
    """Whether a column is one of many values."""

    inherit_cache = True
    type = Boolean()

    def self_group(self, against: Any = None) -> Self:  # noqa: ARG002 - signature is SQLAlchemy's
        """Return itself. By default SQLAlchemy appends `= 1` on SQLite, which then reads every row."""
        return self


@compiles(_Among, "sqlite")
def _in_list(element: _Among, compiler: SQLCompiler, **how: Any) -> str:
    column, listed = (compiler.process(part, **how) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({listed}))"  # noqa: S608 - parts are made by SQLAlchemy


@compiles(_Among)
def _is_any(element: _Among, compiler: SQLCompiler, **how: Any) -> str:
    column, listed = (compiler.process(part, **how) for part in element.clauses)
    return f"{column} = ANY({listed})"


def mine(table: Table) -> ColumnElement[bool]:
    """The condition that every statement on a user's table carries; `tenant` is given when it runs."""
    return table.c.tenant == bindparam("tenant")


def among(column: Column[Any], name: str) -> ColumnElement[bool]:
    """Whether a column is one of many values, given under a name when it runs: one parameter however many."""
    return _Among(column, bindparam(name, type_=_list_type(column)))


def open_savepoint(connection: Connection) -> AbstractContextManager[object]:
    """Open a savepoint where one is needed, so that a failed statement leaves the transaction usable.

    SQLite undoes a failed statement by itself; PostgreSQL needs a savepoint for that. A statement with several rows
    needs one on both, since the driver executes it once for each row.
    """
    return nullcontext() if connection.dialect.name == "sqlite" else connection.begin_nested()


def _list_type(column: Column[Any]) -> Listed:
    return Listed(whole=issubclass(column.type.python_type, int))


class Repository:
    """Reads and writes the tables of one topic, within one scope."""

    def __init__(self, bound: Bound) -> None:
        self._connection = bound.connection
        self._driver = bound.driver
        self._tenant = bound.scope.tenant
        self._principal = bound.scope.principal
        self._via = bound.scope.via
        self._clock = bound.clock

    def _mine(self, table: Table) -> ColumnElement[bool]:
        """The condition that every statement on a user's table carries."""
        return table.c.tenant == self._tenant

    def _select(self, table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
        return select(table).where(self._mine(table), *conditions)

    def _among(self, column: Column[Any], wanted: Iterable[int | str]) -> ColumnElement[bool]:
        """Whether a column is one of many values: one parameter however many there are."""
        return _Among(column, bindparam(None, list(wanted), type_=_list_type(column)))

    def _rows(self, prepared: Select[Any], **given: Any) -> Sequence[Any]:
        """Return what a statement that was built when its module was loaded finds for this tenant."""
        given["tenant"] = self._tenant
        if self._driver is not None:
            try:
                return prepare_query(prepared).run(self._driver, given)
            except sqlite3.Error:
                # SQLAlchemy's way again on an error: it knows which errors mean what, and a query can be run twice.
                return self._connection.execute(prepared, given).all()
        return self._connection.execute(prepared, given).all()

    def _tuples(self, prepared: Select[Any], **given: Any) -> Sequence[Sequence[Any]]:
        """The same as plain sequences: a search reads hundreds of rows, and names for each cost as much as reading."""
        given["tenant"] = self._tenant
        if self._driver is not None:
            try:
                return prepare_query(prepared).run_plain(self._driver, given)
            except sqlite3.Error:
                return self._connection.execute(prepared, given).all()
        return self._connection.execute(prepared, given).all()

    def _insert(self, prepared: Insert, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run an INSERT that was built when its module was loaded for rows that all have the same columns."""
        if self._driver is not None:
            prepare_insert(prepared, tuple(rows[0])).run(self._driver, rows)
        else:
            self._connection.execute(prepared, rows)


# --- Row numbers, drawn before the rows are written ---
#
# SQLite has one writer at a time, so the next number is the last one kept plus one; its AUTOINCREMENT remembers the
# last one even when the row is gone. PostgreSQL draws from a sequence, so that tenants need not wait for each other.

_LAST = text("SELECT name, seq FROM sqlite_sequence WHERE name IN ('memories', 'chunks')")
_NEXT = text("""
    SELECT 'memories', nextval('memories_number_seq') FROM generate_series(1, :memories)
    UNION ALL SELECT 'chunks', nextval('chunks_number_seq') FROM generate_series(1, :chunks)""")


class Drawn(NamedTuple):
    """Growing numbers for new rows."""

    memories: Sequence[int]
    chunks: Sequence[int]


def draw(connection: Connection, *, memories: int = 0, chunks: int = 0) -> Drawn:
    """Return the numbers of the next rows. The rows must be written in this transaction."""
    if connection.dialect.name == "sqlite":
        last = {row.name: row.seq for row in connection.execute(_LAST)}
        memory, chunk = last.get("memories", 0) + 1, last.get("chunks", 0) + 1
        return Drawn(range(memory, memory + memories), range(chunk, chunk + chunks))
    rows = connection.execute(_NEXT, {"memories": memories, "chunks": chunks}).all()
    return Drawn(*(sorted(number for name, number in rows if name == table) for table in Drawn._fields))


# --- Facts about the store itself ---

EPOCH = "epoch"
"""Changes when a restore rewrites the past; derived indexes of another epoch are rebuilt."""
_KEPT = select(meta.c.value).where(meta.c.key == bindparam("key"))


def trim_key(tenant: str) -> str:
    """Return the key of the last trimmed position of a tenant's change log."""
    return f"changes_trimmed_to:{tenant}"


def model_key(tenant: str) -> str:
    """Return the key of the embedding model that a tenant's searches use."""
    return f"embedding_model:{tenant}"


def unlogged_key(tenant: str) -> str:
    """Return the key of the number of writes of a tenant that the change log does not tell of."""
    return f"unlogged_writes:{tenant}"


_COUNT_UP = text("""
    INSERT INTO meta (key, value, updated_at) VALUES (:key, '1', :at)
    ON CONFLICT (key) DO UPDATE
    SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT), updated_at = excluded.updated_at
""").bindparams(bindparam("at", type_=Moment))


class Meta(Repository):
    """Named texts that belong to the whole store, not to a tenant."""

    def get(self, key: str) -> str | None:
        """Return the text of a key, if there is one."""
        found: str | None = self._connection.execute(_KEPT, {"key": key}).scalar_one_or_none()
        return found

    def put(self, key: str, value: str) -> None:
        """Store a text under a key, replacing the old one."""
        row = {"key": key, "value": value, "updated_at": self._clock.now()}
        self._connection.execute(upsert(self._connection, meta, key=("key",), fresh=("value", "updated_at")), row)

    def note_unlogged(self) -> None:
        """Count a write that the change log does not tell of, so that what searches keep of such rows is let go."""
        self._connection.execute(_COUNT_UP, {"key": unlogged_key(self._tenant), "at": self._clock.now()})
