"""Passages as search reads them: matches, candidates for ranking, and pages for indexes.

- Candidates for ranking.
- Passages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, Select, and_, func, select, type_coerce

from assay.records import Author
from assay.records.memory import read_author
from assay.storage.full_text import FullTextQuery, IndexPassage, check
from assay.storage.repositories.base import Bound, Repository, among, mine
from assay.storage.repositories.chunks import full_text
from assay.storage.repositories.memories import has_tag
from assay.storage.rows import TextType, read_moment
from assay.storage.tables import chunks, memories

# --- Candidates for ranking ---
#
# A search ranks hundreds of candidates and shows ten. An index keeps what ranking asks of them in columns
# (`assay.index.rows`) and makes the few rows that somebody looks at; without one they are read here.


class CandidateMemory(NamedTuple):
    """The memory of a candidate. Times are seconds since 1970, exact to the microsecond.

    It holds only fields whose changes are in the change log: that is how an index follows them.
    """

    id: str
    number: int
    tier: str
    folder: str
    context_type: str
    entity_type: str
    confidence: float
    has_learned: bool
    """Whether it has learned triggers from use."""
    updated_at: float
    valid_from: float
    superseded_at: float | None
    """When it was superseded; None: it is valid."""

    @classmethod
    def of(cls, row: Iterable[Any]) -> Self:
        """Of the columns `_MEMORY`."""
        (
            memory_id,
            number,
            tier,
            folder,
            context_type,
            entity_type,
            confidence,
            learned,
            updated,
            valid,
            superseded,
        ) = row
        return cls(
            memory_id,
            number,
            intern(tier),
            intern(folder),
            intern(context_type),
            intern(entity_type),
            confidence,
            learned != NOTHING_LEARNED,
            updated_at := _seconds(updated),
            updated_at if valid == updated else _seconds(valid),
            None if superseded is None else _seconds(superseded),
        )


class Candidate(NamedTuple):
    """A passage and its memory."""

    number: int
    memory_id: str
    position: int
    token_count: int
    memory: CandidateMemory
    passage_id: str
    """As the query log names it."""


_PASSAGE = [chunks.c[name] for name in Candidate._fields[:4]]
_AS_TEXT = ("has_learned", "updated_at", "valid_from", "superseded_at")
_MEMORY = [
    type_coerce(column, TextType).label(name) if name in _AS_TEXT else column.label(f"memory_{name}")
    for name in CandidateMemory._fields
    for column in [memories.c["learned_triggers" if name == "has_learned" else name]]
]
"""The columns of `CandidateMemory`, in its order."""
_OWN = and_(memories.c.tenant == chunks.c.tenant, memories.c.id == chunks.c.memory_id)
_CANDIDATES = select(*_PASSAGE, *_MEMORY).select_from(chunks.join(memories, _OWN)).where(mine(chunks))
BY_NUMBER = _CANDIDATES.where(among(chunks.c.number, "numbers"))
"""Passages and their memories, as `Candidate` has them."""
FIRST_OF = _CANDIDATES.where(among(chunks.c.memory_id, "ids"), chunks.c.position == 0)
"""The same, of the first passage of each of some memories."""
FIRST_NUMBERS = select(chunks.c.memory_id, chunks.c.number).where(
    mine(chunks), among(chunks.c.memory_id, "ids"), chunks.c.position == 0
)
"""Only its number, which the index of positions answers without reading a row."""
NOTHING_LEARNED = "[]"
"""How no learned triggers are stored."""


@lru_cache(maxsize=4_096)
def _seconds(stored: str) -> float:
    """Many memories were written at the same moment."""
    return read_moment(stored).timestamp()


def _list(stored: str) -> list[str]:
    # Most memories have no tags and have learned nothing.
    found: list[str] = [] if stored == "[]" else json.loads(stored)
    return found


# --- Passages ---
#
# Rows are returned as plain tuples without validation: a search reads hundreds of rows and shows ten. Every method
# takes many numbers at once.

FULL_TEXT_BUDGET_S = 0.25
PAGE = 5_000


class ShownPassage(NamedTuple):
    """What is read of a passage only when it is shown."""

    number: int
    text: str
    heading_path: str
    title: str
    """Its memory's, as all that follows."""
    rel_path: str
    updated_at: datetime
    superseded_at: datetime | None
    written_by: str
    written_with: str
    stored_metadata: str
    stored_tags: str

    @property
    def tags(self) -> list[str]:
        """The memory's tags."""
        return _list(self.stored_tags)

    @property
    def author(self) -> Author:
        """Who wrote the memory."""
        return read_author(self.written_by, self.written_with, self.stored_metadata)


class MemoryColumns(NamedTuple):
    """What an index keeps of a memory, to filter by it and to rank by it; every change of it is in the change log."""

    number: int
    folder: str
    tier: str
    created_at: datetime
    valid_from: datetime
    superseded_at: datetime | None
    id: str
    updated_at: datetime
    confidence: float
    context_type: str
    entity_type: str
    stored_learned_triggers: str


class FolderCount(NamedTuple):
    """A folder and how many current memories it holds."""

    folder: str
    memories: int


_INDEXED = (
    chunks.c.number,
    memories.c.number.label("memory_number"),
    memories.c.title,
    memories.c.triggers,
    chunks.c.heading_path,
    chunks.c.text,
    memories.c.surroundings,
    chunks.c.position,
    chunks.c.token_count,
)
_FILTERED_BY = [
    type_coerce(memories.c.learned_triggers, TextType).label(name)
    if name == "stored_learned_triggers"
    else memories.c[name]
    for name in MemoryColumns._fields
]
_TEXTS = select(chunks.c.number, chunks.c.text).where(mine(chunks), among(chunks.c.number, "numbers"))
_SHOWN = (
    select(
        chunks.c.number,
        chunks.c.text,
        chunks.c.heading_path,
        memories.c.title,
        memories.c.rel_path,
        memories.c.updated_at,
        memories.c.superseded_at,
        memories.c.written_by,
        memories.c.written_with,
        type_coerce(memories.c.metadata, TextType).label("metadata"),
        type_coerce(memories.c.tags, TextType).label("tags"),
    )
    .select_from(chunks.join(memories, _OWN))
    .where(mine(chunks), among(chunks.c.number, "numbers"))
)
_INDEXED_BY_NUMBER = (
    select(*_INDEXED)
    .select_from(chunks.join(memories, _OWN))
    .where(mine(chunks), among(chunks.c.number, "numbers"))
    .order_by(chunks.c.number)
)
_COLUMNS_BY_NUMBER = (
    select(*_FILTERED_BY).where(mine(memories), among(memories.c.number, "numbers")).order_by(memories.c.number)
)


class Passages(Repository):
    """The passages of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._full_text = full_text(self._connection, self._tenant)

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float = FULL_TEXT_BUDGET_S) -> list[int]:
        """Return the numbers of the newest passages that match; raise `SearchTimeout` beyond the budget."""
        check(query)
        return self._full_text.matching(query, limit, budget_s=budget_s)

    def words(self, numbers: Sequence[int]) -> dict[int, str]:
        """The analysed words of these passages (`AnalysedPassage.lines`); a number that is gone is left out."""
        return {passage.number: passage.lines() for passage in self._full_text.read_words(numbers)}

    def candidates(self, numbers: Iterable[int]) -> list[Candidate]:
        """Return these passages with the fields that ranking uses; missing numbers are left out."""
        return _make_candidates(self._tuples(BY_NUMBER, numbers=numbers))

    def first_numbers(self, memory_ids: Iterable[str]) -> dict[str, int]:
        """The number of the first passage of each of these memories; one without passages is left out."""
        return dict(self._tuples(FIRST_NUMBERS, ids=memory_ids))  # type: ignore[arg-type]  # rows of two columns

    def first_candidates(self, memory_ids: Iterable[str]) -> list[Candidate]:
        """The same of the first passage of each of these memories; one without passages is left out."""
        return _make_candidates(self._tuples(FIRST_OF, ids=memory_ids))

    def texts(self, numbers: Iterable[int]) -> dict[int, str]:
        """The texts of these passages."""
        return {row.number: row.text for row in self._rows(_TEXTS, numbers=numbers)}

    def read_shown(self, numbers: Iterable[int]) -> dict[int, ShownPassage]:
        """These passages as they are shown; a number that is gone is left out."""
        return {row[0]: ShownPassage(*row) for row in self._tuples(_SHOWN, numbers=numbers)}

    def first_of(self, memory_numbers: Iterable[int]) -> dict[int, int]:
        """The number of the first passage of each of these memories; one without passages is left out."""
        pair = (memories.c.number.label("memory_number"), chunks.c.number)
        statement = self._join_memories(pair, self._among(memories.c.number, memory_numbers), chunks.c.position == 0)
        return {row.memory_number: row.number for row in self._connection.execute(statement)}

    def page(self, *, after: int = 0, limit: int = PAGE) -> list[IndexPassage]:
        """Up to `limit` passages in the order of their numbers, beginning after one of them."""
        statement = self._join_memories(_INDEXED, chunks.c.number > after).order_by(chunks.c.number).limit(limit)
        return [IndexPassage(*row) for row in self._connection.execute(statement)]

    def by_numbers(self, numbers: Iterable[int]) -> list[IndexPassage]:
        """These passages in the order of their numbers; a number that is gone is left out."""
        return [IndexPassage(*row) for row in self._rows(_INDEXED_BY_NUMBER, numbers=numbers)]

    def memory_columns(self, *, after: int = 0, limit: int = PAGE) -> list[MemoryColumns]:
        """Up to `limit` memories in the order of their numbers, beginning after one of them."""
        mine = (self._mine(memories), memories.c.number > after)
        statement = select(*_FILTERED_BY).where(*mine).order_by(memories.c.number).limit(limit)
        return [MemoryColumns(*row) for row in self._connection.execute(statement)]

    def memory_columns_of(self, numbers: Iterable[int]) -> list[MemoryColumns]:
        """These memories in the order of their numbers; a number that is gone is left out."""
        return [MemoryColumns(*row) for row in self._rows(_COLUMNS_BY_NUMBER, numbers=numbers)]

    def numbers_where(
        self, *, tags: Sequence[str] = (), entity_type: str | None = None, context_type: str | None = None
    ) -> list[int]:
        """The numbers of memories that have every one of these tags and are of these types."""
        statement = select(memories.c.number).where(
            self._mine(memories), *(has_tag(self._connection, tag) for tag in tags)
        )
        if entity_type is not None:
            statement = statement.where(memories.c.entity_type == entity_type)
        if context_type is not None:
            statement = statement.where(memories.c.context_type == context_type)
        return list(self._connection.execute(statement.order_by(memories.c.number)).scalars())

    def folders(self) -> list[FolderCount]:
        """Every folder with the number of its current memories, by name."""
        current = (self._mine(memories), memories.c.superseded_at.is_(None))
        statement = select(memories.c.folder, func.count()).where(*current).group_by(memories.c.folder)
        return [FolderCount(*row) for row in self._connection.execute(statement.order_by(memories.c.folder))]

    def _join_memories(self, columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Select[Any]:
        return select(*columns).select_from(chunks.join(memories, _OWN)).where(self._mine(chunks), *conditions)


def _make_candidates(rows: Iterable[Sequence[Any]]) -> list[Candidate]:
    """Make candidates of rows of `_CANDIDATES`; passages of one memory share its object."""
    own: dict[str, CandidateMemory] = {}
    found: list[Candidate] = []
    for row in rows:
        number, memory_id, position, token_count, *about = row
        memory = own.get(memory_id)
        if memory is None:
            memory = own[memory_id] = CandidateMemory.of(about)
        found.append(Candidate(number, memory.id, position, token_count, memory, f"{memory.id}#{position}"))
    return found
