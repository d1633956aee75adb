"""The query log and the feedback as learning reads them: in their order, light, and only searches of origin `use`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, func, select

from assay.records import EventType, FeedbackEvent, Origin, RunType
from assay.storage.repositories.base import Repository, among, mine
from assay.storage.rows import from_row
from assay.storage.tables import edges, eval_feedback, eval_judgments, eval_queries, eval_results, memories


class UsedQuery(NamedTuple):
    """One search of somebody who used the memory."""

    id: int
    query_id: str
    query: str
    session_id: str | None
    result_ids: tuple[str, ...]
    created_at: datetime


class NumberedEvent(NamedTuple):
    """A feedback event and its place in the order of recording."""

    id: int
    event: FeedbackEvent


class FullRun(NamedTuple):
    """A completed run of an evaluation."""

    created_at: datetime
    metrics_json: Mapping[str, Any]


class GivenMemory(NamedTuple):
    """What the observation hook wants to know of a memory that a session was given."""

    id: str
    rel_path: str
    source_id: str | None


_USED = [eval_queries.c[name] for name in UsedQuery._fields]
_IN_USE = (mine(eval_queries), eval_queries.c.origin == str(Origin.USE))
_OF_SESSION = (
    select(*_USED)
    .where(*_IN_USE, eval_queries.c.session_id == bindparam("session_id"))
    .order_by(eval_queries.c.id.desc())
    .limit(bindparam("limit"))
)
_GIVEN = select(*(memories.c[name] for name in GivenMemory._fields)).where(mine(memories), among(memories.c.id, "ids"))


class Usage(Repository):
    """How one tenant's memories are used."""

    def of_session(self, session_id: str, *, limit: int) -> list[UsedQuery]:
        """The newest searches of a session, oldest first."""
        found = [_to_used_query(row) for row in self._rows(_OF_SESSION, session_id=session_id, limit=limit)]
        return found[::-1]

    def queries(
        self,
        *,
        since: datetime | None = None,
        after: int = 0,
        limit: int = 10_000,
        newest_first: bool = False,
        ids: Collection[str] | None = None,
    ) -> list[UsedQuery]:
        """Searches in the order they were logged, or the newest first."""
        table = eval_queries
        conditions: list[ColumnElement[bool]] = [table.c.id > after]
        if since is not None:
            conditions.append(table.c.created_at >= since)
        if ids is not None:
            conditions.append(self._among(table.c.query_id, ids))
        wanted = select(*_USED).where(self._mine(table), table.c.origin == str(Origin.USE), *conditions)
        order = table.c.id.desc() if newest_first else table.c.id
        return [_to_used_query(row) for row in self._connection.execute(wanted.order_by(order).limit(limit))]

    def queries_before(self, moment: datetime, *, limit: int) -> list[UsedQuery]:
        """The last searches before a moment, newest first."""
        table = eval_queries
        own = (self._mine(table), table.c.origin == str(Origin.USE), table.c.created_at < moment)
        wanted = select(*_USED).where(*own).order_by(table.c.id.desc()).limit(limit)
        return [_to_used_query(row) for row in self._connection.execute(wanted)]

    def full_runs(self, *, until: datetime) -> list[FullRun]:
        """Return what completed runs measured, up to a moment, in the order they were run."""
        table = eval_results
        wanted = (
            select(table.c.created_at, table.c.metrics_json)
            .where(self._mine(table), table.c.run_type == str(RunType.FULL), table.c.created_at <= until)
            .order_by(table.c.created_at, table.c.id)
        )
        return [FullRun(row.created_at, row.metrics_json) for row in self._connection.execute(wanted)]

    def first_scored_at(self) -> datetime | None:
        """When the first completed run was stored."""
        own = (self._mine(eval_results), eval_results.c.run_type == str(RunType.FULL))
        found: datetime | None = self._connection.execute(
            select(func.min(eval_results.c.created_at)).where(*own)
        ).scalar_one_or_none()
        return found

    def given(self, memory_ids: Collection[str]) -> list[GivenMemory]:
        """These memories, those that are gone left out."""
        return [GivenMemory(*row) for row in self._rows(_GIVEN, ids=memory_ids)] if memory_ids else []

    def bodies(self, memory_ids: Collection[str]) -> dict[str, str]:
        """The texts of these memories."""
        wanted = select(memories.c.id, memories.c.body).where(
            self._mine(memories), self._among(memories.c.id, memory_ids)
        )
        return {row.id: row.body for row in self._connection.execute(wanted)}

    def events_after(self, last: int, *, limit: int = 500) -> list[NumberedEvent]:
        """Feedback that was recorded after an event, in its order."""
        wanted = self._select(eval_feedback, eval_feedback.c.id > last).order_by(eval_feedback.c.id).limit(limit)
        rows = self._connection.execute(wanted)
        return [NumberedEvent(row.id, from_row(FeedbackEvent, row, eval_feedback)) for row in rows]

    def last_event(self) -> int:
        """The newest event's place; 0 when there is none."""
        wanted = select(func.max(eval_feedback.c.id)).where(self._mine(eval_feedback))
        return int(self._connection.execute(wanted).scalar_one_or_none() or 0)

    def events_of(self, query_ids: Collection[str], kinds: Collection[EventType]) -> set[tuple[str, str]]:
        """Query and memory of every event of these kinds on these queries."""
        table = eval_feedback
        own = (self._among(table.c.query_id, query_ids), table.c.event_type.in_([str(one) for one in kinds]))
        wanted = select(table.c.query_id, table.c.memory_id).where(self._mine(table), *own)
        return {(row.query_id, row.memory_id or "") for row in self._connection.execute(wanted)}

    def grades(self, query_ids: Collection[str]) -> dict[tuple[str, str], int]:
        """The lowest grade anybody gave each memory for each of these queries."""
        table = eval_judgments
        wanted = (
            select(table.c.query_id, table.c.memory_id, func.min(table.c.relevance))
            .where(self._mine(table), self._among(table.c.query_id, query_ids))
            .group_by(table.c.query_id, table.c.memory_id)
        )
        return {(query, memory): int(grade) for query, memory, grade in self._connection.execute(wanted)}

    def stale(self) -> set[str]:
        """Memories that something has taken the place of: superseded, deprecated, or joined to what supersedes them."""
        own = (self._mine(memories), (memories.c.superseded_at.is_not(None)) | (memories.c.tier == "deprecated"))
        gone = set(self._connection.execute(select(memories.c.id).where(*own)).scalars())
        joined = select(edges.c.target_id).where(self._mine(edges), edges.c.kind == "supersedes")
        return gone | set(self._connection.execute(joined).scalars())


def _to_used_query(row: object) -> UsedQuery:
    made = UsedQuery(*row)  # type: ignore[misc] # a Row is a tuple
    return made._replace(result_ids=tuple(made.result_ids))
