"""Numbers of rows: drawn before the rows are written, store-wide, never used again once committed.

SQLite has one writer at a time, so the next number is the last one kept plus one; its AUTOINCREMENT remembers the last
one even when the row is gone. PostgreSQL draws from a sequence, so that tenants need not wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

_LAST = text("SELECT name, seq FROM sqlite_sequence WHERE name IN ('memories', 'chunks')")
_NEXT = text("""
    SELECT 'memories', nextval('memories_number_seq') FROM generate_series(1, :memories)
    UNION ALL SELECT 'chunks', nextval('chunks_number_seq') FROM generate_series(1, :chunks)""")


class Drawn(NamedTuple):
    """Numbers for new rows, growing."""

    memories: Sequence[int]
    chunks: Sequence[int]


def draw(connection: Connection, *, memories: int = 0, chunks: int = 0) -> Drawn:
    """The numbers of the next rows. The rows must be written in this transaction."""
    if connection.dialect.name == "sqlite":
        last = {row.name: row.seq for row in connection.execute(_LAST)}
        memory, chunk = last.get("memories", 0) + 1, last.get("chunks", 0) + 1
        return Drawn(range(memory, memory + memories), range(chunk, chunk + chunks))
    rows = connection.execute(_NEXT, {"memories": memories, "chunks": chunks}).all()
    return Drawn(*(sorted(number for name, number in rows if name == table) for table in Drawn._fields))
