"""Long lists in pages, as a server shows them: newest first, each page beginning behind a row of the one before.

Only the columns a list shows are read: the rows of a run hold every query's values, and nobody lists those.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import Column, Select, Table, select

from assay.records import LoggedQuery, Origin
from assay.records import Judgment
from assay.records.evidence import JudgmentSource
from assay.records.run_results import ListedRun
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row
from assay.storage.tables import eval_judgments, eval_queries, eval_results

LARGEST = 500


class Lists(Repository):
    """Pages of one tenant's rows. `before` is the id of the last row of the page before; 0: the first page."""

    def runs(self, *, before: int = 0, limit: int = 50) -> list[tuple[int, ListedRun]]:
        """Results of runs, each with the number of its row."""
        table = eval_results
        names = [field.name for field in fields(ListedRun)]
        columns = (table.c[name] for name in ("id", *names))
        wanted = self._page(select(*columns).where(self._mine(table)), table, before, limit)
        return [
            (int(number), ListedRun(**dict(zip(names, values, strict=True))))
            for number, *values in self._connection.execute(wanted)
        ]

    def queries(
        self, *, before: int = 0, limit: int = 50, origin: Origin | None = None
    ) -> list[tuple[int, LoggedQuery]]:
        """Logged searches, without their candidates."""
        table = eval_queries
        wanted = self._page(self._select(table), table, before, limit)
        if origin is not None:
            wanted = wanted.where(table.c.origin == str(origin))
        return [(int(row.id), from_row(LoggedQuery, row, table)) for row in self._connection.execute(wanted)]

    def judgments(
        self, *, after: tuple[str, str, str, str] | None = None, limit: int = 50, source: JudgmentSource | None = None
    ) -> list[Judgment]:
        """Judgments in the order of query, memory, source and annotator: they have no number of their own."""
        table = eval_judgments
        keys: tuple[Column[Any], ...] = (table.c.query_id, table.c.memory_id, table.c.source, table.c.annotator)
        wanted = self._select(table).order_by(*keys).limit(min(limit, LARGEST))
        if after is not None:
            wanted = wanted.where(_behind(keys, after))
        if source is not None:
            wanted = wanted.where(table.c.source == str(source))
        return [from_row(Judgment, row, table) for row in self._connection.execute(wanted)]

    def _page(self, wanted: Select[Any], table: Table, before: int, limit: int) -> Select[Any]:
        newest = wanted.order_by(table.c.id.desc()).limit(min(limit, LARGEST))
        return newest.where(table.c.id < before) if before else newest


def _behind(keys: tuple[Column[Any], ...], after: tuple[str, ...]) -> Any:
    """Rows behind a place in the order of several columns."""
    column, value = keys[0], after[0]
    if len(keys) == 1:
        return column > value
    return (column > value) | ((column == value) & _behind(keys[1:], after[1:]))
