"""The query log: every search with what it returned, and each channel's candidates as one compact blob.

A blob is a format byte, a count and two lengths, what all ids begin with, the rest of each id, and the scores
(little-endian doubles): exact, and small enough to keep for every query, so that any fusion can be replayed offline.
Blobs of version 0.1 are zlib over the ids (JSON) and the scores. Leaving out the common beginning of the ids saves as
much as zlib does, in a fifth of the time.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from datetime import datetime
from os.path import commonprefix
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, select

from assay.errors import RecordNotFound, StoreCorrupt
from assay.records import ChannelCandidates, LoggedQuery, Origin
from assay.storage.repositories.base import Repository, among, mine
from assay.storage.rows import from_row, to_row
from assay.storage.tables import eval_candidates, eval_queries

_FORMAT = b"\x02"
_ZLIB_FORMAT = b"\x01"
_LENGTHS = "<III"
"""How many ids there are, and the bytes of what they begin with and of the rest."""
_BETWEEN_IDS = "\n"
"""An id has no such character."""


class SessionQuery(NamedTuple):
    """What a session was given by one query."""

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


class Queries(Repository):
    """The logged queries of one tenant."""

    def add_many(self, queries: Sequence[LoggedQuery]) -> int:
        """Keep queries with their candidates; one that is there already is left as it is. How many were new."""
        fresh = self._not_yet_kept(queries)
        if not fresh:
            return 0
        rows = [{"tenant": self._tenant, **to_row(query, eval_queries)} for query in fresh]
        self._insert(_ADD, rows)
        blobs = [
            {
                "tenant": self._tenant,
                "query_id": query.query_id,
                "channel": one.channel,
                "candidate_count": len(one.ids),
                "payload": pack(one),
            }
            for query in fresh
            for one in query.candidates
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
        wanted = self._select(eval_queries).order_by(eval_queries.c.id.desc()).limit(limit)
        if origin is not None:
            wanted = wanted.where(eval_queries.c.origin == str(origin))
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(wanted)]

    def since(self, moment: datetime, *, origin: Origin = Origin.USE, limit: int = 10_000) -> list[LoggedQuery]:
        """The queries from a moment on, oldest first, without their candidates."""
        mine = (eval_queries.c.created_at >= moment, eval_queries.c.origin == str(origin))
        wanted = self._select(eval_queries, *mine).order_by(eval_queries.c.id).limit(limit)
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(wanted)]

    def until(self, moment: datetime, *, origin: Origin = Origin.USE, limit: int = 10_000) -> list[LoggedQuery]:
        """The newest queries before a moment, oldest first, without their candidates."""
        mine = (eval_queries.c.created_at < moment, eval_queries.c.origin == str(origin))
        wanted = self._select(eval_queries, *mine).order_by(eval_queries.c.id.desc()).limit(limit)
        return [from_row(LoggedQuery, row, eval_queries) for row in self._connection.execute(wanted)][::-1]

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

    def remove_before(self, moment: datetime) -> int:
        """Delete queries older than a moment with their candidates, but none of an evaluation corpus."""
        old = (eval_queries.c.created_at < moment, eval_queries.c.is_eval_corpus == False)  # noqa: E712 - SQL, not Python
        gone = self._connection.execute(delete(eval_queries).where(self._mine(eval_queries), *old))
        return int(gone.rowcount)

    def _not_yet_kept(self, queries: Sequence[LoggedQuery]) -> list[LoggedQuery]:
        by_id = {query.query_id: query for query in reversed(queries)}
        kept = {row.query_id for row in self._rows(_KEPT, query_ids=by_id)}
        return [by_id[query_id] for query_id in reversed(by_id) if query_id not in kept]

    def _candidates(self, query_id: str) -> tuple[ChannelCandidates, ...]:
        wanted = self._select(eval_candidates, eval_candidates.c.query_id == query_id).order_by(
            eval_candidates.c.channel
        )
        return tuple(unpack(row.channel, row.payload) for row in self._connection.execute(wanted))


def pack(candidates: ChannelCandidates) -> bytes:
    """The compact form of one channel's list."""
    ids, scores = candidates.ids, candidates.scores
    common = commonprefix(ids)  # noqa: RUF071 - letter by letter is what is wanted
    rest = _BETWEEN_IDS.join([memory_id[len(common) :] for memory_id in ids]).encode()
    prefix = common.encode()
    lengths = struct.pack(_LENGTHS, len(ids), len(prefix), len(rest))
    return b"".join((_FORMAT, lengths, prefix, rest, struct.pack(f"<{len(scores)}d", *scores)))


def unpack(channel: str, payload: bytes) -> ChannelCandidates:
    """The list behind a compact form."""
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
