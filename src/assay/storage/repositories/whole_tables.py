"""Whole tables with the rows of every tenant, as values that both databases store: for moving a store, and only for it.

- Tables, and the order in which rows refer to each other.
- Read rows in the order of their key.
- Write rows as they are.
- Row counters, references and statistics.

Rows are plain values: text, numbers and bytes as stored, so that nothing is parsed, masked or rounded on the way. A
vector is the bytes of its half floats on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sqlalchemy import Connection, Table, text

from assay.storage.full_text import AnalysedPassage
from assay.storage.repositories import month_partitions
from assay.storage.repositories.chunks import full_text, term_vector
from assay.storage.tables import metadata, vectors

# --- Tables, and the order in which rows refer to each other ---

Row: TypeAlias = tuple[Any, ...]

WORDS = "words"
"""The terms of passages, which SQLite keeps in an FTS5 table and PostgreSQL in a table of its own."""
TABLES: Mapping[str, Table] = dict(metadata.tables)
"""Every table of the store by name; a table stands behind those that its rows refer to."""
NAMES = (*TABLES, WORDS)
BATCH_ROWS = 1_000
"""Rows that are in memory at a time."""
_ONLY_POSTGRES = ("passages_text", "passage_stems", "passage_stem_counts", "passage_stem_totals")
_INITIAL_ACTIONS = ("schema.migrated", "flag.activate", "flag.held_off")
"""What the audit log of a store holds that was made and never used."""
_MADE_WITH_THE_STORE = ("meta", "audit", "flags", "leases", "shared_limits")
"""Tables that have rows before anybody used the store."""


def count_rows(connection: Connection) -> dict[str, int]:
    """Count the rows of every table, of all tenants."""
    counts = {}
    for name in NAMES:
        statement = text(f"SELECT count(*) FROM {_source(connection, name)}")  # noqa: S608 - names of the schema
        counts[name] = int(connection.execute(statement).scalar_one())
    return counts


def list_used_tables(connection: Connection, counts: Mapping[str, int]) -> list[str]:
    """Return the tables with rows that somebody put there; none for a store that was only made."""
    used = [name for name, count in counts.items() if count and name not in _MADE_WITH_THE_STORE]
    listed = ", ".join(f"'{action}'" for action in _INITIAL_ACTIONS)
    acted = connection.execute(text(f"SELECT count(*) FROM audit WHERE action NOT IN ({listed})")).scalar_one()  # noqa: S608 - constants
    return [*used, "audit"] if acted else used


def _source(connection: Connection, name: str) -> str:
    if name != WORDS:
        return f'"{name}"'
    return "passages_fts" if connection.dialect.name == "sqlite" else "passages_text"


# --- Read rows in the order of their key ---


def read_rows(connection: Connection, name: str) -> Iterator[list[Row]]:
    """Yield the rows of a table in batches, ordered by key; text sorts by bytes on both databases."""
    statement = _words_query(connection) if name == WORDS else _query(TABLES[name])
    place = _vector_place(name)
    with connection.execute(text(statement).execution_options(yield_per=BATCH_ROWS)) as found:
        for batch in found.partitions(BATCH_ROWS):
            yield [_plain_row(tuple(row), place) for row in batch]


def _query(table: Table) -> str:
    listed = ", ".join(f'"{column.name}"' for column in table.columns)
    order = ", ".join(f'"{column.name}"' for column in table.primary_key.columns)
    return f'SELECT {listed} FROM "{table.name}" ORDER BY {order}'  # noqa: S608 - names of the schema


def _words_query(connection: Connection) -> str:
    if connection.dialect.name != "sqlite":
        return "SELECT tenant, number, title, triggers, body FROM passages_text ORDER BY number"
    # The FTS5 table holds the tenant as a term that only its own name makes.
    return (
        "SELECT c.tenant, f.rowid, f.title, f.triggers, f.body FROM chunks c"
        " JOIN passages_fts f ON f.rowid = c.number ORDER BY c.number"
    )


def _vector_place(name: str) -> int | None:
    return list(vectors.columns.keys()).index("vector") if name == vectors.name else None


def _plain_row(row: Row, place: int | None) -> Row:
    if place is not None:
        found = row[place]
        packed = np.array(found[1:-1].split(","), "<f2").tobytes() if isinstance(found, str) else bytes(found)
        return (*row[:place], packed, *row[place + 1 :])
    # PostgreSQL's driver may give memoryviews for bytes.
    return tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)


# --- Write rows as they are ---


def write_rows(connection: Connection, name: str, rows: Sequence[Row]) -> None:
    """Write a batch of rows of one table."""
    if name == WORDS:
        _write_words(connection, rows)
        return
    listed = ", ".join(f'"{column.name}"' for column in TABLES[name].columns)
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in TABLES[name].columns)
        connection.exec_driver_sql(f'INSERT INTO "{name}" ({listed}) VALUES ({marks})', list(rows))  # noqa: S608 - names of the schema
        return
    place = _vector_place(name)
    _copy_rows(connection, f'COPY "{name}" ({listed}) FROM STDIN', (_postgres_row(row, place) for row in rows))


def _write_words(connection: Connection, rows: Sequence[Row]) -> None:
    if connection.dialect.name == "sqlite":
        for tenant, passages in groupby(rows, key=itemgetter(0)):
            full_text(connection, tenant).write([AnalysedPassage(*row[1:]) for row in passages])
        return
    statement = "COPY passages_text (tenant, number, title, triggers, body, terms) FROM STDIN"
    _copy_rows(connection, statement, ((*row, term_vector(row[0], AnalysedPassage(*row[1:]))) for row in rows))


def _postgres_row(row: Row, place: int | None) -> Row:
    if place is None:
        return row
    return (*row[:place], str(np.frombuffer(row[place], "<f2").tolist()), *row[place + 1 :])


def _copy_rows(connection: Connection, statement: str, rows: Iterator[Row]) -> None:
    # SQLAlchemy's own cursor cannot copy.
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def clear(connection: Connection) -> None:
    """Delete every row of every tenant, and what PostgreSQL derived from them."""
    if connection.dialect.name != "sqlite":
        listed = ", ".join(f'"{name}"' for name in (*TABLES, *_ONLY_POSTGRES))
        connection.execute(text(f"TRUNCATE {listed}"))
        return
    connection.execute(text("DELETE FROM passages_fts"))
    for name in reversed(list(TABLES)):
        connection.execute(text(f'DELETE FROM "{name}"'))  # noqa: S608 - a name of the schema


# --- Row counters, references and statistics ---
#
# References are checked after the tables are filled: a check of each row is planned for empty tables, and slow.

_REFERENCES = text(
    "SELECT t.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c"
    " JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace"
    " WHERE c.contype = 'f' AND c.conparentid = 0 AND n.nspname = current_schema() ORDER BY t.relname, c.conname"
)


class Reference(NamedTuple):
    """A foreign key of PostgreSQL."""

    table: str
    name: str
    definition: str


def drop_references(connection: Connection) -> list[Reference]:
    """Drop the foreign keys of PostgreSQL and return them; SQLite checks each row and has none to drop."""
    if connection.dialect.name == "sqlite":
        return []
    found = [Reference(*row) for row in connection.execute(_REFERENCES)]
    for reference in found:
        connection.execute(text(f'ALTER TABLE "{reference.table}" DROP CONSTRAINT "{reference.name}"'))
    return found


def add_references(connection: Connection, references: Sequence[Reference]) -> None:
    """Add foreign keys again; rows that break one are refused."""
    for table, name, definition in references:
        connection.execute(text(f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" {definition}'))


def make_months(source: Connection, target: Connection) -> None:
    """Make the months of the query log that the source has, where the target is PostgreSQL."""
    if target.dialect.name != "sqlite":
        for month in month_partitions.read_months(source, month_partitions.MONTHLY):
            month_partitions.create_month(target, month)


_COUNTED = {
    name: {"table": name, "column": table.autoincrement_column.name}
    for name, table in TABLES.items()
    if table.autoincrement_column is not None
}
"""The column of each table that PostgreSQL fills from a sequence."""


def read_counters(connection: Connection) -> dict[str, int]:
    """Return the last number of each table that counts its rows; numbers of deleted rows count."""
    if connection.dialect.name == "sqlite":
        rows = connection.execute(text("SELECT name, seq FROM sqlite_sequence")).all()
        return {str(name): int(last) for name, last in rows if name in _COUNTED and last}
    counters = {}
    for name, counter in _COUNTED.items():
        sequence = connection.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), counter).scalar()
        last, used = connection.execute(text(f"SELECT last_value, is_called FROM {sequence}")).one()  # noqa: S608 - a name of the catalogue
        if used:
            counters[name] = int(last)
    return counters


def write_counters(connection: Connection, counters: Mapping[str, int]) -> None:
    """Let the next row of each table get the number after these; 1 where there is none."""
    for name, counter in _COUNTED.items():
        given = {"name": name, "last": counters.get(name, 0)}
        if connection.dialect.name != "sqlite":
            moved = text("SELECT setval(pg_get_serial_sequence(:table, :column), greatest(:last, 1), :last > 0)")
            connection.execute(moved, {**counter, "last": given["last"]})
        elif not connection.execute(text("UPDATE sqlite_sequence SET seq = :last WHERE name = :name"), given).rowcount:
            connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), given)


def analyse(connection: Connection) -> None:
    """Let PostgreSQL count the tables anew, so that its plans fit their size. SQLite's plans are fixed."""
    if connection.dialect.name != "sqlite":
        for name in (*TABLES, *_ONLY_POSTGRES):
            connection.execute(text(f'ANALYZE "{name}"'))
