"""Whether a copy of a store holds something that was to be erased. A copy that cannot be read is believed to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from assay.storage.marks import Marks

_TABLES = (
    "SELECT DISTINCT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'tenant'"
    " WHERE m.type = 'table' AND m.name NOT LIKE 'passages_fts%'"
)
"""Tables whose rows have a tenant; the full-text table repeats what they hold."""


def copy_holds(path: Path, tenant: str, marks: Marks | None) -> bool:
    """Whether a copy of a SQLite file holds something of a tenant; without marks, any row of it."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)) as copy:
            tables = [str(name) for (name,) in copy.execute(_TABLES)]
            return any(_rows_hold(copy, table, tenant, marks) for table in tables)
    except sqlite3.Error:
        return path.exists()


def dump_holds(dumped: str, tenant: str, marks: Marks | None) -> bool:
    """Whether the text of a dump does; its rows stand in lines, with tabs between their columns."""
    rows = (line for line in dumped.splitlines() if tenant in line.split("\t"))
    return any(marks is None or marks.in_value(row) for row in rows)


def _rows_hold(copy: sqlite3.Connection, table: str, tenant: str, marks: Marks | None) -> bool:
    rows = copy.execute(f'SELECT * FROM "{table}" WHERE tenant = ?', (tenant,))  # noqa: S608 - a name from the schema
    if marks is None:
        return rows.fetchone() is not None
    return any(marks.in_value(value) for row in rows for value in row if isinstance(value, str))
