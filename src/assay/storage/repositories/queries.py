"""The query log: writing it, reading it, and reading it for learning.

- Searches with their results and candidates.
- Searches and feedback as learning reads them.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from os.path import commonprefix
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam, delete, func, select, update

from assay.errors import RecordNotFound, StoreCorrupt
from assay.records import ChannelCandidates, EventType, FeedbackEvent, LoggedQuery, Origin, RunType
from assay.records.evidence import ACCEPTED_SOURCES, JudgmentReader
from assay.storage.repositories.base import Repository, among, mine
from assay.storage.rows import from_row, to_row
from assay.storage.tables import (
    edges,
    eval_candidates,
    eval_feedback,
    eval_judgments,
    eval_queries,
    eval_results,
    memories,
)

# --- Searches with their results and candidates ---
#
# A blob is a format byte, a count and two lengths, the common prefix of all ids, the rest of each id, and the scores
# (little-endian doubles): exact, and small enough to store for every query, so that any fusion can be replayed offline.
# Blobs of version 0.1 are zlib over the ids (JSON) and the scores. Leaving out the common beginning of the ids saves
# as much as zlib does, in a fifth of the time.

_FORMAT = b"\x02"
_ZLIB_FORMAT = b"\x01"
_LENGTHS = "<III"
"""The number of ids, and the lengths in bytes of their common prefix and of the rest."""
_BETWEEN_IDS = "\n"
"""Separates ids, which never contain it."""


class SessionQuery(NamedTuple):
    """The results of one query of a session."""

    id: int
    query_id: str
    result_ids: tuple[str, ...]
    created_at: datetime
    near_top: int | None


_ASKED = eval_queries.c
_OF_SESSION = (
    select(_ASKED.id, _ASKED.query_id, _ASKED.result_ids, _ASKED.created_at, _ASKED.near_top)
    .where(mine(eval_queries), _ASKED.session_id == bindparam("session_id"), _ASKED.id > bindparam("after_id"))
    .where(_ASKED.origin == bindparam("origin"))
    .order_by(_ASKED.id.desc())
    .limit(bindparam("limit"))
)
_KEPT = select(_ASKED.query_id).where(mine(eval_queries), among(_ASKED.query_id, "query_ids"))
_ADD = eval_queries.insert()
_ADD_CANDIDATES = eval_candidates.insert()


USED = (EventType.READ_AFTER_SEARCH, EventType.REFERENCE, EventType.VALIDATE_USEFUL)
"""Feedback which says that a result was of use."""


class QueryContributions(NamedTuple):
    """What the channels gave to one search."""

    results: int
    channels: Mapping[str, Any]
    """By channel that ran: `candidates`, `found` and `alone`."""

    def told(self, names: Collection[str]) -> Iterator[tuple[str, Mapping[str, int]]]:
        """The channels of which all these counts are known."""
        for channel, counts in self.channels.items():
            if isinstance(counts, Mapping) and all(isinstance(counts.get(name), int) for name in names):
                yield channel, counts


def _used_between(since: datetime, until: datetime) -> tuple[ColumnElement[bool], ...]:
    asked = eval_queries.c
    return asked.created_at >= since, asked.created_at < until, asked.origin == str(Origin.USE)


class Queries(Repository):
    """The logged queries of one tenant."""

    def add_many(self, queries: Sequence[LoggedQuery]) -> int:
        """Store queries with their candidates, skipping those that exist; return how many were new."""
        fresh = self._not_yet_kept(queries)
        if not fresh:
            return 0
        rows = [{"tenant": self._tenant, **to_row(query, eval_queries)} for query in fresh]
        self._insert(_ADD, rows)
        blobs = [
            {
                "tenant": self._tenant,
                "query_id": query.query_id,
                "channel": candidate.channel,
                "candidate_count": len(candidate.ids),
                "payload": pack(candidate),
            }
            for query in fresh
            for candidate in query.candidates
        ]
        if blobs:
            self._insert(_ADD_CANDIDATES, blobs)
        return len(fresh)

    def get(self, query_id: str) -> LoggedQuery:
        """One query with its candidates."""
        row = self._connection.execute(self._select(eval_queries, eval_queries.c.query_id == query_id)).one_or_none()
        if row is None:
            raise RecordNotFound(
                f"there is no logged query {query_id!r} in this scope", remedy="Check the id and tenant."
            )
        return from_row(LoggedQuery, row, eval_queries, candidates=self._candidates(query_id))

    def recent(self, *, limit: int = 100, origin: Origin | None = None) -> list[LoggedQuery]:
        """The newest queries first, without their candidates."""
        statement = self._select(eval_queries).order_by(eval_queries.c.id.desc()).limit(limit)
        if origin is not None:
            statement = statement.where(eval_queries.c.origin == str(origin))
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(statement)]

    def texts_of(self, query_ids: Sequence[str]) -> dict[str, str]:
        """Return the words of queries, by id; one that is not logged any more is left out."""
        table = eval_queries
        statement = select(table.c.query_id, table.c.query).where(
            self._mine(table), self._among(table.c.query_id, query_ids)
        )
        return {str(query_id): str(text) for query_id, text in self._connection.execute(statement)}

    def intents_of(self, query_ids: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
        """Return intent and session of queries, by id; one that is not logged any more is left out."""
        table = eval_queries
        statement = select(table.c.query_id, table.c.intent, table.c.session_id).where(
            self._mine(table), self._among(table.c.query_id, query_ids)
        )
        return {str(query_id): (intent, session) for query_id, intent, session in self._connection.execute(statement)}

    def since(self, moment: datetime, *, origin: Origin = Origin.USE, limit: int = 10_000) -> list[LoggedQuery]:
        """The queries from a moment on, oldest first, without their candidates."""
        mine = (eval_queries.c.created_at >= moment, eval_queries.c.origin == str(origin))
        statement = self._select(eval_queries, *mine).order_by(eval_queries.c.id).limit(limit)
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(statement)]

    def until(self, moment: datetime, *, origin: Origin = Origin.USE, limit: int = 10_000) -> list[LoggedQuery]:
        """The newest queries before a moment, oldest first, without their candidates."""
        mine = (eval_queries.c.created_at < moment, eval_queries.c.origin == str(origin))
        statement = self._select(eval_queries, *mine).order_by(eval_queries.c.id.desc()).limit(limit)
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(statement)][::-1]

    def of_session(
        self, session_id: str, *, after_id: int = 0, limit: int = 100, origin: Origin = Origin.USE
    ) -> list[SessionQuery]:
        """The newest queries of a session that were written after one of them, oldest first."""
        given = {"session_id": session_id, "after_id": after_id, "origin": str(origin), "limit": limit}
        found = [
            SessionQuery(row.id, row.query_id, tuple(row.result_ids), row.created_at, row.near_top)
            for row in self._rows(_OF_SESSION, **given)
        ]
        return found[::-1]

    def count(self, *, origin: Origin | None = None) -> int:
        """How many queries are logged."""
        counted = select(func.count()).select_from(eval_queries).where(self._mine(eval_queries))
        if origin is not None:
            counted = counted.where(eval_queries.c.origin == str(origin))
        return int(self._connection.execute(counted).scalar_one())

    def mark_corpus(self, query_ids: Sequence[str], *, category: str) -> None:
        """Mark queries as part of an evaluation corpus, under its name: they stay when old queries leave."""
        table = eval_queries
        mine = (self._mine(table), self._among(table.c.query_id, query_ids))
        self._connection.execute(update(table).where(*mine).values(is_eval_corpus=True, eval_category=category))

    def remove_before(self, moment: datetime) -> int:
        """Delete queries older than a moment with their candidates, but none of an evaluation corpus."""
        old = (eval_queries.c.created_at < moment, eval_queries.c.is_eval_corpus == False)  # noqa: E712 - SQL, not Python
        gone = self._connection.execute(delete(eval_queries).where(self._mine(eval_queries), *old))
        return int(gone.rowcount)

    def contributions(self, *, since: datetime, until: datetime) -> Iterator[QueryContributions]:
        """What each channel gave to the searches of use from one moment until another, in the order of the log."""
        table = eval_queries
        statement = (
            select(table.c.result_count, table.c.channel_contributions)
            .where(self._mine(table), *_used_between(since, until))
            .order_by(table.c.id)
        )
        for row in self._connection.execute(statement):
            yield QueryContributions(row.result_count, row.channel_contributions)

    def used_results(self, *, since: datetime, until: datetime) -> dict[str, list[str]]:
        """By search of use in a period: the results of it that were read, quoted or called useful."""
        events, asked = eval_feedback, eval_queries
        statement = (
            select(asked.c.id, events.c.query_id, events.c.memory_id)
            .join(asked, (asked.c.tenant == events.c.tenant) & (asked.c.query_id == events.c.query_id))
            .where(
                self._mine(events),
                *_used_between(since, until),
                events.c.event_type.in_([str(kind) for kind in USED]),
                events.c.memory_id.is_not(None),
                events.c.rank_in_results.is_not(None),
            )
            .distinct()
            .order_by(asked.c.id, events.c.memory_id)
        )
        found: dict[str, list[str]] = {}
        for row in self._connection.execute(statement):
            found.setdefault(row.query_id, []).append(row.memory_id)
        return found

    def mean_used_rank(self, *, since: datetime, until: datetime) -> float | None:
        """The mean rank of results that were read, quoted or called useful in a period; None: there were none."""
        events, asked = eval_feedback, eval_queries
        statement = (
            select(func.avg(events.c.rank_in_results))
            .join(asked, (asked.c.tenant == events.c.tenant) & (asked.c.query_id == events.c.query_id))
            .where(
                self._mine(events),
                *_used_between(since, until),
                events.c.event_type.in_([str(kind) for kind in USED]),
            )
        )
        found = self._connection.execute(statement).scalar_one()
        return None if found is None else float(found)

    def _not_yet_kept(self, queries: Sequence[LoggedQuery]) -> list[LoggedQuery]:
        by_id = {query.query_id: query for query in reversed(queries)}
        kept = {row.query_id for row in self._rows(_KEPT, query_ids=by_id)}
        return [by_id[query_id] for query_id in reversed(by_id) if query_id not in kept]

    def _candidates(self, query_id: str) -> tuple[ChannelCandidates, ...]:
        statement = self._select(eval_candidates, eval_candidates.c.query_id == query_id).order_by(
            eval_candidates.c.channel
        )
        return tuple(_unpack_whole(row) for row in self._connection.execute(statement))


def _unpack_whole(row: Any) -> ChannelCandidates:
    """Return the candidates of one channel; raises `StoreCorrupt` where some are missing."""
    found = unpack(row.channel, row.payload)
    if len(found.ids) != row.candidate_count:
        raise StoreCorrupt(
            f"the search {row.query_id} has {len(found.ids)} candidates of {row.channel} instead of"
            f" {row.candidate_count}",
            remedy="Restore a checkpoint: `assay checkpoint restore ID`.",
        )
    return found


def pack(candidates: ChannelCandidates) -> bytes:
    """Return the candidates of one channel in compact form."""
    ids, scores = candidates.ids, candidates.scores
    common = commonprefix(ids)  # noqa: RUF071 - letter by letter is what is wanted
    rest = _BETWEEN_IDS.join([memory_id[len(common) :] for memory_id in ids]).encode()
    prefix = common.encode()
    lengths = struct.pack(_LENGTHS, len(ids), len(prefix), len(rest))
    return b"".join((_FORMAT, lengths, prefix, rest, struct.pack(f"<{len(scores)}d", *scores)))


def unpack(channel: str, payload: bytes) -> ChannelCandidates:
    """Return the candidates of one channel from their compact form."""
    try:
        read = _read_zlib if payload.startswith(_ZLIB_FORMAT) else _read_plain
        ids, scores = read(payload[1:])
    except (ValueError, struct.error, zlib.error) as problem:
        raise StoreCorrupt(
            f"the logged candidates of channel {channel!r} cannot be read: {problem}",
            remedy="Restore a checkpoint, or delete this query from the log.",
        ) from problem
    return ChannelCandidates(channel=channel, ids=tuple(ids), scores=scores)


def _read_plain(body: bytes) -> tuple[list[str], tuple[float, ...]]:
    count, of_prefix, of_rest = struct.unpack_from(_LENGTHS, body)
    begin = struct.calcsize(_LENGTHS)
    prefix = body[begin : begin + of_prefix].decode()
    rest = body[begin + of_prefix : begin + of_prefix + of_rest].decode()
    scores = struct.unpack(f"<{count}d", body[begin + of_prefix + of_rest :])
    ids = [prefix + end for end in rest.split(_BETWEEN_IDS)] if count else []
    if len(ids) != count:
        raise ValueError(f"there are {len(ids)} ids and {count} scores")
    return ids, scores


def _read_zlib(body: bytes) -> tuple[list[str], tuple[float, ...]]:
    unpacked = zlib.decompress(body)
    (size,) = struct.unpack_from("<I", unpacked)
    ids = json.loads(unpacked[4 : 4 + size])
    return ids, struct.unpack(f"<{len(ids)}d", unpacked[4 + size :])


# --- Searches and feedback as learning reads them ---


class UsedQuery(NamedTuple):
    """One search of a user or agent, without those of evaluations."""

    id: int
    query_id: str
    query: str
    session_id: str | None
    result_ids: tuple[str, ...]
    created_at: datetime
    tool_name: str


class NumberedEvent(NamedTuple):
    """A feedback event and its place in the order of recording."""

    id: int
    event: FeedbackEvent


class FullRun(NamedTuple):
    """A completed run of an evaluation."""

    run_id: str
    created_at: datetime
    metrics_json: Mapping[str, Any]


class GivenMemory(NamedTuple):
    """A memory among the results of a session, with the fields that the observation hook uses."""

    id: str
    rel_path: str
    source_id: str | None


_USED = [eval_queries.c[name] for name in UsedQuery._fields]
_IN_USE = (mine(eval_queries), eval_queries.c.origin == str(Origin.USE))
_USED_IN_SESSION = (
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
        found = [_to_used_query(row) for row in self._rows(_USED_IN_SESSION, session_id=session_id, limit=limit)]
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
        statement = select(*_USED).where(self._mine(table), table.c.origin == str(Origin.USE), *conditions)
        order = table.c.id.desc() if newest_first else table.c.id
        return [_to_used_query(row) for row in self._connection.execute(statement.order_by(order).limit(limit))]

    def queries_before(self, moment: datetime, *, limit: int) -> list[UsedQuery]:
        """The last searches before a moment, newest first."""
        table = eval_queries
        own = (self._mine(table), table.c.origin == str(Origin.USE), table.c.created_at < moment)
        statement = select(*_USED).where(*own).order_by(table.c.id.desc()).limit(limit)
        return [_to_used_query(row) for row in self._connection.execute(statement)]

    def full_runs(self, *, until: datetime) -> list[FullRun]:
        """Return what completed runs measured, up to a moment, in the order they were run."""
        table = eval_results
        statement = (
            select(table.c.run_id, table.c.created_at, table.c.metrics_json)
            .where(self._mine(table), table.c.run_type == str(RunType.FULL), table.c.created_at <= until)
            .order_by(table.c.created_at, table.c.id)
        )
        return [FullRun(row.run_id, row.created_at, row.metrics_json) for row in self._connection.execute(statement)]

    def first_scored_at(self) -> datetime | None:
        """When the first completed run was stored."""
        own = (self._mine(eval_results), eval_results.c.run_type == str(RunType.FULL))
        found: datetime | None = self._connection.execute(
            select(func.min(eval_results.c.created_at)).where(*own)
        ).scalar_one_or_none()
        return found

    def find_given(self, memory_ids: Collection[str]) -> list[GivenMemory]:
        """Return these memories; missing ones are left out."""
        return [GivenMemory(*row) for row in self._rows(_GIVEN, ids=memory_ids)] if memory_ids else []

    def bodies(self, memory_ids: Collection[str]) -> dict[str, str]:
        """The texts of these memories."""
        statement = select(memories.c.id, memories.c.body).where(
            self._mine(memories), self._among(memories.c.id, memory_ids)
        )
        return {row.id: row.body for row in self._connection.execute(statement)}

    def events_after(self, last: int, *, limit: int = 500) -> list[NumberedEvent]:
        """Feedback that was recorded after an event, in its order."""
        statement = self._select(eval_feedback, eval_feedback.c.id > last).order_by(eval_feedback.c.id).limit(limit)
        rows = self._connection.execute(statement)
        return [NumberedEvent(row.id, from_row(FeedbackEvent, row, eval_feedback)) for row in rows]

    def last_event(self) -> int:
        """The newest event's place; 0 when there is none."""
        statement = select(func.max(eval_feedback.c.id)).where(self._mine(eval_feedback))
        return int(self._connection.execute(statement).scalar_one_or_none() or 0)

    def events_of(
        self, query_ids: Collection[str], kinds: Collection[EventType], *, until: datetime | None = None
    ) -> set[tuple[str, str]]:
        """Query and memory of every event of these kinds on these queries, up to a moment if one is given."""
        table = eval_feedback
        own = (self._among(table.c.query_id, query_ids), table.c.event_type.in_([str(kind) for kind in kinds]))
        statement = select(table.c.query_id, table.c.memory_id).where(self._mine(table), *own)
        if until is not None:
            statement = statement.where(table.c.created_at <= until)
        return {(row.query_id, row.memory_id or "") for row in self._connection.execute(statement)}

    def grades(self, query_ids: Collection[str]) -> dict[tuple[str, str], int]:
        """Return the lowest grade of each memory for each of these queries, of the sources that learning accepts."""
        table = eval_judgments
        accepted = [str(source) for source in ACCEPTED_SOURCES[JudgmentReader.LEARNED_TERMS]]
        statement = (
            select(table.c.query_id, table.c.memory_id, func.min(table.c.relevance))
            .where(self._mine(table), self._among(table.c.query_id, query_ids), table.c.source.in_(accepted))
            .group_by(table.c.query_id, table.c.memory_id)
        )
        return {(query, memory): int(grade) for query, memory, grade in self._connection.execute(statement)}

    def stale(self) -> set[str]:
        """Return the outdated memories: superseded, deprecated, or with an edge from one that supersedes them."""
        own = (self._mine(memories), (memories.c.superseded_at.is_not(None)) | (memories.c.tier == "deprecated"))
        gone = set(self._connection.execute(select(memories.c.id).where(*own)).scalars())
        joined = select(edges.c.target_id).where(self._mine(edges), edges.c.kind == "supersedes")
        return gone | set(self._connection.execute(joined).scalars())


def _to_used_query(row: object) -> UsedQuery:
    made = UsedQuery(*row)  # type: ignore[misc] # a Row is a tuple
    return made._replace(result_ids=tuple(made.result_ids))
