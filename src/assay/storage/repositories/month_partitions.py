"""The months of the query log on PostgreSQL: made ahead, filled from what came before them, and dropped as a whole.

A month of a table holds the rows whose `query_id` was made in it; `<table>_other` holds the rest: ids of other makers,
rows that came back from an archive, evidence of dropped months, and what was written before its month was made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from sqlalchemy import Connection, text

from assay.records.scope import first_id, moment_of_id

MONTHLY = ("eval_queries", "eval_candidates", "eval_shadow_runs")
"""In the order in which rows refer to each other."""
ID_PREFIX = "eq"
MOST_MONTHS = 600
"""Months that one migration makes at most: an id far from its time is one of another maker."""

_EXISTING = text("""
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(:table) ORDER BY c.relname""")
_REFERENCES = text(
    "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(:table) AND contype = 'f' AND conparentid = 0"
)
_NAME = re.compile(r"_(\d{4})_(\d{2})$")


class Month(NamedTuple):
    """One month of the calendar, in UTC."""

    year: int
    month: int

    @classmethod
    def of(cls, moment: datetime) -> Month:
        """The month of a moment."""
        at = moment.astimezone(UTC)
        return cls(at.year, at.month)

    @property
    def next(self) -> Month:
        """The month after it."""
        return Month(self.year + 1, 1) if self.month == 12 else Month(self.year, self.month + 1)

    @property
    def begin(self) -> datetime:
        """Its first moment."""
        return datetime.combine(date(self.year, self.month, 1), datetime.min.time(), UTC)

    @property
    def first_id(self) -> str:
        """The smallest id of a query of this month."""
        return first_id(ID_PREFIX, self.begin)

    def table(self, table: str) -> str:
        """The name of its part of a table."""
        return f"{table}_{self.year:04d}_{self.month:02d}"


def other_of(table: str) -> str:
    """The part of a table that holds what belongs to no month."""
    return f"{table}_other"


def list_months(connection: Connection, table: str = MONTHLY[0]) -> list[Month]:
    """Return the months that a table has, the oldest first; none on SQLite."""
    if connection.dialect.name == "sqlite":
        return []
    found = (_NAME.search(name) for name in connection.execute(_EXISTING, {"table": table}).scalars())
    return sorted(Month(int(match[1]), int(match[2])) for match in found if match is not None)


def read_months(connection: Connection, tables: Sequence[str]) -> list[Month]:
    """Return every month from the first to the last of the queries in these tables."""
    ends: list[datetime] = []
    for table in tables:
        given = {"begin": f"{ID_PREFIX}_", "end": f"{ID_PREFIX}`"}
        statement = f"SELECT min(query_id), max(query_id) FROM {table} WHERE query_id >= :begin AND query_id < :end"  # noqa: S608 - names of tables
        row = connection.execute(text(statement), given).one()
        ends += [moment for found in row if found is not None and (moment := moment_of_id(found)) is not None]
    months: list[Month] = []
    month = Month.of(min(ends)) if ends else None
    while month is not None and month <= Month.of(max(ends)) and len(months) < MOST_MONTHS:
        months.append(month)
        month = month.next
    return months


def create_month(connection: Connection, month: Month) -> bool:
    """Make the parts of a month, with the rows of it that are in `other`; return whether they were missing.

    Readers and writers of the log wait until the transaction ends.
    """
    if month in list_months(connection):
        return False
    others = ", ".join(other_of(table) for table in MONTHLY)
    connection.execute(text(f"LOCK TABLE {others} IN ACCESS EXCLUSIVE MODE"))
    given = {"begin": month.first_id, "end": month.next.first_id}
    for table in MONTHLY:
        made = f"CREATE TABLE {month.table(table)} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        connection.execute(text(made))
    # Candidates leave before their queries, which would take them along.
    for table in reversed(MONTHLY):
        moved = f"""
            WITH moved AS (
              DELETE FROM {other_of(table)} WHERE query_id >= :begin AND query_id < :end RETURNING *)
            INSERT INTO {month.table(table)} SELECT * FROM moved"""  # noqa: S608 - names of tables
        connection.execute(text(moved), given)
    for table in MONTHLY:
        bounds = f"FROM ('{given['begin']}') TO ('{given['end']}')"
        connection.execute(text(f"ALTER TABLE {table} ATTACH PARTITION {month.table(table)} FOR VALUES {bounds}"))
    return True


def lock_month(connection: Connection, month: Month, tables: Sequence[str]) -> None:
    """Wait until nobody reads or writes these parts of a month, and keep others out until the transaction ends."""
    listed = ", ".join(month.table(table) for table in tables)
    connection.execute(text(f"LOCK TABLE {listed} IN ACCESS EXCLUSIVE MODE"))


def detach(connection: Connection, month: Month, table: str) -> str:
    """Take a month out of a table; return the name of the table that it is now."""
    own = month.table(table)
    connection.execute(text(f"ALTER TABLE {table} DETACH PARTITION {own}"))
    # Alone, it would still hold on to the rows that it refers to.
    for name in connection.execute(_REFERENCES, {"table": own}).scalars().all():
        connection.execute(text(f'ALTER TABLE {own} DROP CONSTRAINT "{name}"'))
    return own
