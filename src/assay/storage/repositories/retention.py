"""Archive old rows of the log, and restore them.

Queries of an evaluation corpus and judged queries, with their feedback, are never archived: they are evidence. Restored
rows keep their number, unless another row has taken it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Table, and_, delete, exists, func, or_, select, text

from assay.records import FeedbackEvent, LoggedQuery
from assay.storage.repositories.base import Repository
from assay.storage.repositories.month_partitions import MONTHLY, Month, detach, list_months, lock_month
from assay.storage.repositories.queries import unpack
from assay.storage.rows import from_row, insert, read_moment, to_row, write_moment
from assay.storage.tables import eval_candidates, eval_feedback, eval_judgments, eval_queries, eval_shadow_runs

MOST_STAYING = 0.1
"""A month is dropped as a whole when at most this share of its rows stays and has to be copied."""


class Numbered(NamedTuple):
    """A row as an archive has it."""

    number: int
    row: Mapping[str, Any]


class OldRows(NamedTuple):
    """How many rows are beyond their time."""

    queries: int
    events: int
    exempt_queries: int
    """Old, but kept as evidence."""
    shadow_runs: int


class Retention(Repository):
    """The old rows of one tenant."""

    def count(self, before: datetime, *, shadow_before: datetime) -> OldRows:
        """How many rows are older than their time allows."""
        old = eval_queries.c.created_at < before
        return OldRows(
            queries=self._count(eval_queries, old, ~_is_evidence()),
            events=self._count(eval_feedback, eval_feedback.c.created_at < before, ~_belongs_to_evidence()),
            exempt_queries=self._count(eval_queries, old, _is_evidence()),
            shadow_runs=self._count(eval_shadow_runs, eval_shadow_runs.c.created_at < shadow_before),
        )

    def find_months(self, before: datetime) -> list[Month]:
        """Return the months of the log that ended before a moment, and that are nearly all rows to remove.

        Others are emptied row by row; none on SQLite.
        """
        return [
            month
            for month in list_months(self._connection)
            if month.next.begin <= before and self._is_nearly_all_old(month, before)
        ]

    def old_queries(self, before: datetime, *, after: int, limit: int, month: Month | None = None) -> list[Numbered]:
        """Queries with their candidates, in the order of their numbers; with a month, only of that month."""
        condition = ~_is_evidence() if month is None else and_(~_is_evidence(), _in_month(eval_queries, month))
        rows = self._old(eval_queries, before, condition, after=after, limit=limit)
        candidates: dict[str, dict[str, str]] = {}
        statement = self._select(
            eval_candidates, self._among(eval_candidates.c.query_id, [row.query_id for row in rows])
        )
        for candidate in self._connection.execute(statement):
            candidates.setdefault(candidate.query_id, {})[candidate.channel] = base64.b64encode(
                candidate.payload
            ).decode()
        return [
            Numbered(
                row.id,
                {
                    "table": "eval_queries",
                    "id": row.id,
                    "row": _plain(from_row(LoggedQuery, row, eval_queries), eval_queries),
                    "candidates": candidates.get(row.query_id, {}),
                },
            )
            for row in rows
        ]

    def old_events(self, before: datetime, *, after: int, limit: int) -> list[Numbered]:
        """Feedback in the order of its numbers."""
        rows = self._old(eval_feedback, before, ~_belongs_to_evidence(), after=after, limit=limit)
        return [
            Numbered(
                row.id,
                {
                    "table": "eval_feedback",
                    "id": row.id,
                    "row": _plain(from_row(FeedbackEvent, row, eval_feedback), eval_feedback),
                },
            )
            for row in rows
        ]

    def remove_queries(self, numbers: Sequence[int]) -> int:
        """Delete queries with their candidates; what has become evidence meanwhile stays."""
        return self._remove(eval_queries, numbers, ~_is_evidence())

    def drop_month(self, month: Month, before: datetime, archived: int) -> bool:
        """Drop a month of the log whose old rows were archived; evidence and rows of other tenants stay.

        Returns False, and does nothing, when there are more old rows than were archived.
        """
        lock_month(self._connection, month, MONTHLY[:2])
        removable = self._removable(eval_queries, before)
        if self._count(eval_queries, _in_month(eval_queries, month), removable) != archived:
            return False
        kept = select(eval_queries.c.query_id, eval_queries.c.tenant).where(
            _in_month(eval_queries, month), ~and_(self._mine(eval_queries), removable)
        )
        staying = [(row.tenant, row.query_id) for row in self._connection.execute(kept)]
        given = {"tenants": [tenant for tenant, _ in staying], "ids": [query_id for _, query_id in staying]}
        candidates = detach(self._connection, month, eval_candidates.name)
        queries = detach(self._connection, month, eval_queries.name)
        for table, own in ((eval_queries, queries), (eval_candidates, candidates)):
            # Without their month, what stays goes to the part for other rows.
            self._connection.execute(
                text(f"""
                    INSERT INTO {table.name} SELECT * FROM {own} WHERE (tenant, query_id) IN (
                      SELECT * FROM unnest(CAST(:tenants AS text[]), CAST(:ids AS text[])))"""),  # noqa: S608 - names of tables
                given,
            )
        self._connection.execute(text(f"DROP TABLE {candidates}"))
        self._connection.execute(text(f"DROP TABLE {queries}"))
        return True

    def drop_shadow_months(self, before: datetime) -> int:
        """Drop the months of comparisons that hold nothing but old ones of this tenant; return how many rows went."""
        gone = 0
        table = eval_shadow_runs
        for month in list_months(self._connection, table.name):
            if month.next.begin > before:
                continue
            lock_month(self._connection, month, [table.name])
            within = _in_month(table, month)
            old = self._count(table, within, table.c.created_at < before)
            everything = select(func.count()).select_from(table).where(within)
            if self._connection.execute(everything).scalar_one() == old:
                own = detach(self._connection, month, table.name)
                self._connection.execute(text(f"DROP TABLE {own}"))
                gone += old
        return gone

    def _is_nearly_all_old(self, month: Month, before: datetime) -> bool:
        within = _in_month(eval_queries, month)
        everything = self._connection.execute(select(func.count()).select_from(eval_queries).where(within)).scalar_one()
        old = self._count(eval_queries, within, self._removable(eval_queries, before))
        return everything - old <= MOST_STAYING * everything

    def _removable(self, table: Table, before: datetime) -> ColumnElement[bool]:
        return and_(table.c.created_at < before, ~_is_evidence())

    def remove_events(self, numbers: Sequence[int]) -> int:
        """Delete feedback; what has come to belong to evidence meanwhile stays."""
        return self._remove(eval_feedback, numbers, ~_belongs_to_evidence())

    def bring_back(self, rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert rows of an archive into their tables, skipping rows that exist; return how many were new."""
        queries = [row for row in rows if row["table"] == "eval_queries"]
        events = [row for row in rows if row["table"] == "eval_feedback"]
        return self._bring_back_queries(queries) + self._insert_missing(
            eval_feedback, "event_key", [self._values(event, FeedbackEvent, eval_feedback) for event in events]
        )

    def _bring_back_queries(self, rows: Sequence[Mapping[str, Any]]) -> int:
        given = [self._values(row, LoggedQuery, eval_queries) for row in rows]
        new = self._insert_missing(eval_queries, "query_id", given)
        blobs = [
            {
                "tenant": self._tenant,
                "query_id": row["row"]["query_id"],
                "channel": channel,
                "candidate_count": len(unpack(channel, payload).ids),
                "payload": payload,
            }
            for row in rows
            for channel, payload in _payloads(row)
        ]
        if blobs:
            self._connection.execute(insert(self._connection, eval_candidates).on_conflict_do_nothing(), blobs)
        return new

    def _values(self, one: Mapping[str, Any], kind: type[Any], table: Table) -> dict[str, Any]:
        """A row as it is inserted, checked again as a record."""
        known = {field.name for field in fields(kind)}
        row = {name: value for name, value in one["row"].items() if name in known}
        row["created_at"] = read_moment(row["created_at"])
        return {"tenant": self._tenant, "id": int(one["id"]), **to_row(kind(**row), table)}

    def _insert_missing(self, table: Table, key: str, rows: Sequence[dict[str, Any]]) -> int:
        there = select(table.c[key]).where(self._mine(table), self._among(table.c[key], [row[key] for row in rows]))
        known = set(self._connection.execute(there).scalars())
        fresh = [row for row in {row[key]: row for row in rows}.values() if row[key] not in known]
        # Numbers are shared by all tenants: a row of another tenant may have taken one.
        numbers = select(table.c.id).where(self._among(table.c.id, [row["id"] for row in fresh]))
        taken = set(self._connection.execute(numbers).scalars())
        for numbered in (True, False):
            some = [row for row in fresh if (row["id"] not in taken) is numbered]
            if some:
                given = some if numbered else [{name: row[name] for name in row if name != "id"} for row in some]
                self._connection.execute(table.insert(), given)
        return len(fresh)

    def _old(
        self, table: Table, before: datetime, condition: ColumnElement[bool], *, after: int, limit: int
    ) -> Sequence[Row[Any]]:
        statement = self._select(table, table.c.created_at < before, table.c.id > after, condition)
        return self._connection.execute(statement.order_by(table.c.id).limit(limit)).all()

    def _remove(self, table: Table, numbers: Sequence[int], condition: ColumnElement[bool]) -> int:
        statement = delete(table).where(self._mine(table), self._among(table.c.id, numbers), condition)
        return int(self._connection.execute(statement).rowcount)

    def _count(self, table: Table, *conditions: ColumnElement[bool]) -> int:
        counted = select(func.count()).select_from(table).where(self._mine(table), *conditions)
        return int(self._connection.execute(counted).scalar_one())


def _in_month(table: Table, month: Month) -> ColumnElement[bool]:
    return and_(table.c.query_id >= month.first_id, table.c.query_id < month.next.first_id)


def _is_evidence() -> ColumnElement[bool]:
    judged = exists().where(
        eval_judgments.c.tenant == eval_queries.c.tenant, eval_judgments.c.query_id == eval_queries.c.query_id
    )
    return or_(eval_queries.c.is_eval_corpus == True, judged)  # noqa: E712 - SQL, not Python


def _belongs_to_evidence() -> ColumnElement[bool]:
    same = (eval_queries.c.tenant == eval_feedback.c.tenant, eval_queries.c.query_id == eval_feedback.c.query_id)
    judged = exists().where(
        eval_judgments.c.tenant == eval_feedback.c.tenant, eval_judgments.c.query_id == eval_feedback.c.query_id
    )
    return or_(exists().where(*same, eval_queries.c.is_eval_corpus == True), judged)  # noqa: E712 - SQL, not Python


def _plain(record: object, table: Table) -> dict[str, Any]:
    """A record's columns as JSON has them."""
    return {
        name: write_moment(value) if isinstance(value, datetime) else value
        for name, value in to_row(record, table).items()
    }


def _payloads(one: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    return [(channel, base64.b64decode(packed)) for channel, packed in one.get("candidates", {}).items()]
