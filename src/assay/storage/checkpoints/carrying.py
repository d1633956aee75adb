"""What a restore does not take back: who may come in, and the record of what was done.

A checkpoint holds the tokens and the audit log of an earlier time. Put back as they were, they would open the store
to tokens that were revoked since, and hide what happened since. So these tables are carried over from the present
store into the copy before the copy takes its place: both happen in one transaction, and a restore that is killed
leaves the store as it was or with the present tokens. A token that only the checkpoint knows does not come back.

When the present tokens cannot be read (the store is damaged or gone), every token of the checkpoint is revoked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from assay.storage.types import write_moment

CARRIED = ("access_tokens", "login_sessions", "audit", "owned_files")
"""Tables that stay as they are when a store is restored. Whatever decides who may come in or owns what belongs here."""

_COLUMNS = text(
    "SELECT column_name FROM information_schema.columns"
    " WHERE table_schema = :schema AND table_name = :table AND is_generated = 'NEVER' ORDER BY ordinal_position"
)
_SEQUENCES = text("SELECT sequencename FROM pg_sequences WHERE schemaname = :schema ORDER BY sequencename")


def carry_rows(live: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Replace the carried tables of a SQLite copy by those of the live file, inside the caller's transaction."""
    for table in CARRIED:
        listed = _list_shared_columns(_file_columns(copy, table), _file_columns(live, table))
        if not _file_columns(copy, table):
            continue
        copy.execute(f'DELETE FROM "{table}"')  # noqa: S608 - a name of ours
        if listed:
            rows = live.execute(f'SELECT {listed} FROM "{table}"')  # noqa: S608 - names of the schema
            marks = ", ".join("?" for _ in rows.description)
            copy.executemany(f'INSERT INTO "{table}" ({listed}) VALUES ({marks})', rows)  # noqa: S608 - the same
    _keep_counting(live, copy)


def _keep_counting(live: sqlite3.Connection, copy: sqlite3.Connection) -> None:
    """Let no number be given twice: also those of rows that are gone."""
    for table, last in live.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
        if table in CARRIED:
            copy.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, table))


def _file_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')]


def revoke_tokens(copy: sqlite3.Connection, now: datetime) -> None:
    """Revoke every token of a SQLite copy."""
    copy.execute("UPDATE access_tokens SET revoked_at = ? WHERE revoked_at IS NULL", (write_moment(now),))


def carry_between_schemas(connection: Connection, before: str, ours: str) -> None:
    """Replace the carried tables of one PostgreSQL schema by those of the schema that was there before."""
    for table in CARRIED:
        now_there, then_there = _schema_columns(connection, ours, table), _schema_columns(connection, before, table)
        if not now_there:
            continue
        connection.execute(text(f'DELETE FROM "{ours}"."{table}"'))  # noqa: S608 - names of the catalogue
        listed = _list_shared_columns(now_there, then_there)
        if listed:
            copied = f'INSERT INTO "{ours}"."{table}" ({listed}) SELECT {listed} FROM "{before}"."{table}"'  # noqa: S608 - the same
            connection.execute(text(copied))
    for sequence in connection.execute(_SEQUENCES, {"schema": before}).scalars().all():
        if any(sequence.startswith(f"{table}_") for table in CARRIED):
            counted = f'SELECT setval(:ours, last_value, is_called) FROM "{before}"."{sequence}"'  # noqa: S608 - the same
            connection.execute(text(counted), {"ours": f'"{ours}"."{sequence}"'})


def _schema_columns(connection: Connection, schema: str, table: str) -> Sequence[str]:
    return connection.execute(_COLUMNS, {"schema": schema, "table": table}).scalars().all()


def _list_shared_columns(first: Sequence[str], second: Sequence[str]) -> str:
    """The columns that both have, as a statement lists them."""
    return ", ".join(f'"{column}"' for column in first if column in second)
