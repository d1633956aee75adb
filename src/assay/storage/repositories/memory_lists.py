"""Lists of memories as people look at them: sorted, searched by title, and what waits for a decision.

A list reads the sort column and the id first and whole rows only for the page it shows, so that the order of many
memories does not carry their texts along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, func, literal, or_, select

from assay.errors import RecordNotFound
from assay.records import EdgeKind, MemoryFilter, MemoryOrder, MemoryRecord, Tier
from assay.storage.repositories.base import Repository
from assay.storage.repositories.memories import conditions, is_forgotten
from assay.storage.rows import from_row
from assay.storage.tables import edges, memories, memory_saves

_END = 60
"""Characters of both ends by which texts are taken for candidates of being the same."""
AT_ONCE = 1_000
"""Memories that are read at once when all are wanted."""
_LOWEST_FIRST = {tier.value: place for place, tier in enumerate(reversed(Tier))}


def _value_of(order: MemoryOrder, table: Any) -> ColumnElement[Any]:
    """Return what an order compares, over the table of memories or another name of it."""
    orders: Mapping[MemoryOrder, ColumnElement[Any]] = {
        # Ids grow with time.
        MemoryOrder.CREATED: table.c.id,
        MemoryOrder.UPDATED: table.c.updated_at,
        MemoryOrder.TITLE: func.lower(table.c.title),
        MemoryOrder.FOLDER: table.c.folder,
        MemoryOrder.TIER: case(_LOWEST_FIRST, value=table.c.tier, else_=literal(-1)),
        MemoryOrder.CONFIDENCE: table.c.confidence,
        MemoryOrder.READS: table.c.access_count,
    }
    return orders[order]


class MemoryTitle(NamedTuple):
    """A memory by its title."""

    memory_id: str
    title: str
    folder: str


class MemoryPair(NamedTuple):
    """Two memories that both hold, and what joins them."""

    first: MemoryTitle
    second: MemoryTitle
    reason: str
    similarity: float | None = None
    """None: not measured."""


class MemoryLists(Repository):
    """The memories of one tenant, as lists."""

    def page(
        self,
        wanted: MemoryFilter,
        *,
        order: MemoryOrder = MemoryOrder.CREATED,
        descending: bool = True,
        after: str | None = None,
        limit: int = AT_ONCE,
    ) -> list[MemoryRecord]:
        """Return up to `limit` memories that match a filter, in an order, after the one with the id `after`."""
        value = _value_of(order, memories)
        chosen = select(memories.c.id).where(self._mine(memories), *conditions(self._connection, wanted))
        if after is not None:
            chosen = chosen.where(self._behind(order, after, descending=descending))
        keys = (value, memories.c.id)
        chosen = chosen.order_by(*(key.desc() if descending else key.asc() for key in keys)).limit(limit)
        ids = list(self._connection.execute(chosen).scalars())
        rows = self._connection.execute(self._select(memories, self._among(memories.c.id, ids)))
        found = {row.id: from_row(MemoryRecord, row, memories) for row in rows}
        return [found[memory_id] for memory_id in ids]

    def every(self, wanted: MemoryFilter, *, order: MemoryOrder, descending: bool) -> Iterator[MemoryRecord]:
        """Yield all memories that match a filter, in an order."""
        after: str | None = None
        while page := self.page(wanted, order=order, descending=descending, after=after, limit=AT_ONCE):
            yield from page
            after = page[-1].id

    def titled(self, words: str, *, limit: int = 8) -> list[MemoryTitle]:
        """Return memories whose title or id contains these words, those that hold first; no forgotten one."""
        held = or_(memories.c.title.icontains(words, autoescape=True), memories.c.id == words)
        columns = (memories.c.id, memories.c.title, memories.c.folder)
        known = (self._mine(memories), held, is_forgotten(self._connection).is_not(True))
        statement = select(*columns).where(*known).order_by(memories.c.superseded_at.is_not(None), memories.c.id.desc())
        return [MemoryTitle(*row) for row in self._connection.execute(statement.limit(limit))]

    def contradictions(self, *, limit: int = 50) -> list[MemoryPair]:
        """Return pairs of memories that both hold and speak against each other, the newest edge first."""
        first, second = memories.alias("first"), memories.alias("second")
        statement = (
            select(first.c.id, first.c.title, first.c.folder, second.c.id, second.c.title, second.c.folder)
            .add_columns(edges.c.evidence)
            .where(
                self._mine(edges),
                edges.c.kind == str(EdgeKind.CONTRADICTS),
                self._holds(first, edges.c.source_id),
                self._holds(second, edges.c.target_id),
            )
            .order_by(edges.c.created_at.desc(), edges.c.source_id, edges.c.target_id)
        )
        rows = self._connection.execute(statement.limit(limit))
        return [MemoryPair(MemoryTitle(*row[:3]), MemoryTitle(*row[3:6]), row[6]) for row in rows]

    def copies(self, *, limit: int = 50) -> list[MemoryPair]:
        """Return memories that hold the same text, and those that saving took for a near-duplicate and kept."""
        return [*self._same_text(limit), *self._near_duplicates(limit)][:limit]

    def _same_text(self, limit: int) -> list[MemoryPair]:
        """Pair the oldest memory of each text with the newest one."""
        oldest, newest = func.min(memories.c.id).label("oldest"), func.max(memories.c.id).label("newest")
        # Texts with the same ends are candidates; only those are read whole and compared.
        body, on_sqlite = memories.c.body, self._connection.dialect.name == "sqlite"
        last = func.substr(body, -_END) if on_sqlite else func.right(body, _END)
        statement = (
            select(oldest, newest, func.count())
            .where(self._mine(memories), memories.c.superseded_at.is_(None))
            .group_by(func.substr(body, 1, _END), last)
            .having(func.count() > 1)
            .order_by(newest.desc())
        )
        rows = self._connection.execute(statement.limit(limit)).all()
        columns = (memories.c.id, memories.c.title, memories.c.folder, memories.c.body)
        ids = [memory_id for row in rows for memory_id in row[:2]]
        read = select(*columns).where(self._mine(memories), self._among(memories.c.id, ids))
        found = {row.id: row for row in self._connection.execute(read)}
        return [
            MemoryPair(MemoryTitle(*found[first][:3]), MemoryTitle(*found[second][:3]), _same_words(int(count)), 1.0)
            for first, second, count in rows
            if found[first].body == found[second].body
        ]

    def _near_duplicates(self, limit: int) -> list[MemoryPair]:
        """Pair what the gate would have rejected, had it been enforced, with its nearest memory."""
        first, second = memories.alias("first"), memories.alias("second")
        statement = (
            select(first.c.id, first.c.title, first.c.folder, second.c.id, second.c.title, second.c.folder)
            .add_columns(memory_saves.c.similarity)
            .where(
                self._mine(memory_saves),
                memory_saves.c.would_reject == "near_duplicate",
                first.c.id != second.c.id,
                self._holds(first, memory_saves.c.neighbour_id),
                self._holds(second, memory_saves.c.memory_id),
            )
            .order_by(memory_saves.c.id.desc())
        )
        rows = self._connection.execute(statement.limit(limit))
        return [
            MemoryPair(MemoryTitle(*row[:3]), MemoryTitle(*row[3:6]), "a near-duplicate when it was saved", row[6])
            for row in rows
        ]

    def _holds(self, alias: Any, memory_id: ColumnElement[Any]) -> ColumnElement[bool]:
        return and_(alias.c.tenant == self._tenant, alias.c.id == memory_id, alias.c.superseded_at.is_(None))

    def _behind(self, order: MemoryOrder, after: str, *, descending: bool) -> ColumnElement[bool]:
        """Return the condition that a memory comes after another one in an order; equal values go by id."""
        there = (self._mine(memories), memories.c.id == after)
        if self._connection.execute(select(memories.c.id).where(*there)).one_or_none() is None:
            raise RecordNotFound(f"there is no memory {after!r} to go on from", remedy="Begin with the first page.")
        value, other = _value_of(order, memories), memories.alias("other")
        # The value of the other row is read by the database, so that it is compared as it is stored.
        row = (other.c.tenant == self._tenant, other.c.id == after)
        same = select(_value_of(order, other)).where(*row).scalar_subquery()
        beyond = value < same if descending else value > same
        next_id = memories.c.id < after if descending else memories.c.id > after
        return or_(beyond, and_(value == same, next_id))


def _same_words(count: int) -> str:
    return "the same text" if count == 2 else f"the same text in {count:,} memories"
