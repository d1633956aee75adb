"""A table of a user's own in PostgreSQL with a pgvector column, read for an evaluation and never written.

It has nothing to do with Assay's tables; it lies here because all SQL does. Whoever opens one has asked the gatekeeper.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import UnknownSystem
from assay.extras import need_extra

if TYPE_CHECKING:
    import psycopg

CONNECT_S = 10
STATEMENT_MS = 60_000
CLOSE_S = 5.0
"""Seconds that closing waits for a statement it has ended."""
_OPERATORS = {"vector_cosine_ops": "<=>", "vector_l2_ops": "<->", "vector_ip_ops": "<#>"}
COSINE_DISTANCE = "<=>"
"""Where no index says otherwise."""

_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod, COALESCE(i.indisprimary AND i.indnkeyatts = 1, false)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY(i.indkey)
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_INDEXES = """
SELECT m.amname, o.opcname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_opclass o ON o.oid = i.indclass[0]
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = %s::regclass AND a.attname = %s AND m.amname IN ('hnsw', 'ivfflat') AND i.indisvalid
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorColumns:
    """What of a table is read."""

    id: str
    vector: str
    text: str | None
    length: int | None
    """Of the vectors; None where the column allows any."""
    index: str
    """The kind of its index; empty where it has none."""
    operator: str
    """The distance that its index orders by."""


class TableRow(NamedTuple):
    """One row near a query."""

    id: str
    distance: float
    text: str


class _SharedConnection:
    """A connection that a thread may still be using when another closes it, as after a case that ran out of time.

    Closed under a running statement, a connection of psycopg takes the whole process down.
    """

    def __init__(self, url: str) -> None:
        self._connection = _connect(url)
        self._using = threading.Lock()

    def run(self, query: Any, given: Any = None) -> list[Any]:
        """Return all rows of a statement."""
        with self._using:
            return self._connection.execute(query, given).fetchall()

    def set(self, statement: str) -> None:
        """Change a setting of the session."""
        with self._using:
            self._connection.execute(statement.encode())

    def close(self) -> None:
        """End a statement that still runs, and close; one that cannot be ended is left to the end of the process."""
        if not self._using.acquire(blocking=False):
            self._connection.cancel()
            if not self._using.acquire(timeout=CLOSE_S):
                return
        try:
            self._connection.close()
        finally:
            self._using.release()


class VectorTable:
    """A table, over two connections: one that uses its index, and one that does not."""

    def __init__(self, url: str, table: str, *, id_column: str | None, vector: str | None, text: str | None) -> None:
        need_extra("postgres", "psycopg")
        self._table = table
        self._lock = threading.Lock()
        self._closed = False
        self._indexed = _SharedConnection(url)
        self._scanning: _SharedConnection | None = None
        self._url = url
        try:
            self.columns = self._read_columns(id_column, vector, text)
        except BaseException:
            self.close()
            raise

    def _read_columns(self, id_column: str | None, vector: str | None, text: str | None) -> VectorColumns:
        run = self._indexed.run
        if run("SELECT to_regclass(%s)", [self._table]) == [(None,)]:
            raise UnknownSystem(f"there is no table {self._table!r}", remedy="Name one, such as public.notes.")
        found = run(_COLUMNS, [self._table])
        names = [name for name, *_ in found]
        vectors = {name: length for name, kind, length, _ in found if kind == "vector"}
        primary = next((name for name, *_, key in found if key), None)
        chosen = vector or (next(iter(vectors)) if len(vectors) == 1 else None)
        identity = id_column or primary
        missing = next((name for name in (identity, chosen, text) if name is not None and name not in names), None)
        if missing is not None or chosen is None or chosen not in vectors or identity is None:
            what = f"no column {missing!r}" if missing else "no primary key" if identity is None else "no one vector"
            raise UnknownSystem(
                f"the table {self._table} has {what} to read",
                remedy=f"Add ?id=COLUMN&vector=COLUMN; it has {', '.join(names)}, with vectors in "
                f"{', '.join(vectors) or 'none of them'}.",
            )
        index = next(iter(run(_INDEXES, [self._table, chosen])), None)
        return VectorColumns(
            id=identity,
            vector=chosen,
            text=text,
            length=vectors[chosen] if vectors[chosen] > 0 else None,
            index=index[0] if index else "",
            operator=_OPERATORS.get(index[1], COSINE_DISTANCE) if index else COSINE_DISTANCE,
        )

    def count(self) -> int:
        """Return how many rows the table has."""
        from psycopg import sql  # noqa: PLC0415 - the extra "postgres"

        query = sql.SQL("SELECT count(*) FROM {}").format(self._name())
        return int(self._indexed.run(query)[0][0])

    def nearest(self, vector: Sequence[float], k: int, *, scan: bool = False) -> list[TableRow]:
        """Return the k nearest rows, with the index or by comparing every row.

        Raises `TimeoutError` for a statement that was ended, `ConnectionError` for a server that is away.
        """
        import psycopg  # noqa: PLC0415 - the extra "postgres"
        from psycopg import sql  # noqa: PLC0415 - the same

        columns = self.columns
        query = sql.SQL(
            "SELECT {id}::text, {vector} {operator} %(vector)s::vector AS distance, {text} FROM {table} "
            "WHERE {vector} IS NOT NULL ORDER BY {vector} {operator} %(vector)s::vector LIMIT %(k)s"
        ).format(
            id=sql.Identifier(columns.id),
            vector=sql.Identifier(columns.vector),
            operator=sql.SQL(columns.operator),
            text=sql.SQL("''") if columns.text is None else sql.SQL("{}::text").format(sql.Identifier(columns.text)),
            table=self._name(),
        )
        given = {"vector": "[" + ",".join(f"{number:.9g}" for number in vector) + "]", "k": k}
        try:
            rows = (self._scan() if scan else self._indexed).run(query, given)
        except psycopg.errors.QueryCanceled as problem:
            raise TimeoutError(f"PostgreSQL ended the statement after {STATEMENT_MS / 1000:g} s") from problem
        except psycopg.OperationalError as problem:
            raise ConnectionError(f"PostgreSQL is away: {problem}") from problem
        return [TableRow(str(found), float(distance), text or "") for found, distance, text in rows]

    def close(self) -> None:
        """Close both connections."""
        with self._lock:
            self._closed = True
        self._indexed.close()
        if self._scanning is not None:
            self._scanning.close()

    def _scan(self) -> _SharedConnection:
        with self._lock:
            if self._closed:
                raise ConnectionError(f"the table {self._table} is closed")
            if self._scanning is None:
                self._scanning = _SharedConnection(self._url)
                self._scanning.set("SET enable_indexscan = off")
            return self._scanning

    def _name(self) -> Any:
        from psycopg import sql  # noqa: PLC0415 - the extra "postgres"

        return sql.Identifier(*self._table.split("."))


def _connect(url: str) -> psycopg.Connection[Any]:
    import psycopg  # noqa: PLC0415 - the extra "postgres"

    try:
        connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_S)
        connection.execute(f"SET statement_timeout = {STATEMENT_MS}")
        connection.execute("SET default_transaction_read_only = on")
    except psycopg.Error as problem:
        raise UnknownSystem(
            f"PostgreSQL cannot be reached: {problem}", remedy="Check address, database, user and password."
        ) from problem
    return connection
