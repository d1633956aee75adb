"""Memories and the chunks they are split into.

Every change of a row is told to the change log in the same transaction, and so is everything that hangs on it: full
text, vectors, trigger phrases. A chunk keeps its number for as long as it stands; new chunks have new numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, literal_column, not_, or_, select, update
from sqlalchemy.exc import IntegrityError

from assay.errors import RecordExists, RecordNotFound
from assay.records import Author, Chunk, MemoryFilter, MemoryRecord, MemoryStatus, Operation, RowKind, values
from assay.records.memory import author_of
from assay.storage.repositories import memory_filters
from assay.storage.repositories.base import Bound, Repository, among, mine, sheltered
from assay.storage.repositories.changes import Changes, Line
from assay.storage.repositories.chunk_writing import ChunkVector, ChunkWriter, Saved, check
from assay.storage.repositories.indexed import Indexed
from assay.storage.repositories.numbering import draw
from assay.storage.repositories.triggers import Triggers
from assay.storage.rows import from_row, to_row
from assay.storage.tables import chunks, edges, memories

PAGE = 1_000
# Asked at every save, so they are put together once.
_ADD = memories.insert()
_BY_NUMBERS = select(memories).where(mine(memories), among(memories.c.number, "numbers"))
_NUMBERS = select(memories.c.id, memories.c.number).where(mine(memories), among(memories.c.id, "ids"))
_CHUNKS = select(chunks).where(mine(chunks), chunks.c.memory_id == bindparam("memory_id")).order_by(chunks.c.position)
_HEADINGS = (
    select(chunks.c.memory_id, chunks.c.heading_path)
    .where(mine(chunks), among(chunks.c.memory_id, "ids"))
    .order_by(chunks.c.memory_id, chunks.c.position)
)
_LAWS = select(memories).where(mine(memories), memories.c.tier == literal_column("'constitutional'"))
_EVERY_LAW = _LAWS.order_by(memories.c.number)
_CURRENT_LAWS = _LAWS.where(memories.c.superseded_at.is_(None)).order_by(memories.c.number)

_AUTHORS = select(
    memories.c.id, memories.c.written_by, memories.c.written_with, memories.c.metadata, memories.c.superseded_at
).where(mine(memories), among(memories.c.id, "ids"))


class Authorship(NamedTuple):
    """Who wrote a memory, and whether it still holds."""

    author: Author
    is_current: bool


class Memories(Repository):
    """The memories of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)
        self._chunks = ChunkWriter(bound)
        self._triggers = Triggers(bound)
        self._indexed = Indexed(bound)

    def add(self, memory: MemoryRecord, pieces: Sequence[Chunk] = ()) -> None:
        """Keep a new memory. An id that is taken is refused."""
        self.add_many([Saved(memory, pieces)])

    def add_many(self, saved: Iterable[Saved]) -> None:
        """Keep many new memories, in order, in one go: all of them, or none when an id is taken."""
        batch = list(saved)
        if not batch:
            return
        for one in batch:
            check(one)
        drawn = draw(self._connection, memories=len(batch), chunks=sum(len(one.chunks) for one in batch))
        rows = [
            {"tenant": self._tenant, "number": number, **to_row(one.memory, memories)}
            for one, number in zip(batch, drawn.memories, strict=True)
        ]
        try:
            with sheltered(self._connection) if len(rows) == 1 else self._connection.begin_nested():
                self._insert(_ADD, rows)
        except IntegrityError as problem:
            raise self._id_taken_error(batch) from problem
        lines = [Line(RowKind.MEMORY, row["id"], row["number"]) for row in rows]
        lines += self._chunks.insert(batch, drawn.chunks)
        self._changes.append(Operation.INSERT, lines)
        self._triggers.keep([one.memory for one in batch])
        self._indexed.put_many(batch)

    def update(
        self,
        memory: MemoryRecord,
        pieces: Sequence[Chunk] | None = None,
        *,
        vectors: Sequence[ChunkVector | None] | None = None,
        model: str | None = None,
    ) -> None:
        """Replace a memory's fields; with pieces, its chunks too, and their vectors."""
        saved = Saved(memory, pieces or (), vectors, model)
        check(saved)
        known = select(memories.c.number, memories.c.title, memories.c.triggers)
        mine = (self._mine(memories), memories.c.id == memory.id)
        before = self._connection.execute(known.where(*mine)).one_or_none()
        if before is None:
            raise _missing(memory.id)
        self._connection.execute(update(memories).where(*mine).values(to_row(memory, memories)))
        self._changes.append(Operation.UPDATE, [Line(RowKind.MEMORY, memory.id, before.number)])
        new_triggers = tuple(before.triggers) != memory.triggers
        if new_triggers:
            self._triggers.replace(memory)
        if pieces is not None:
            self._chunks.erase(memory.id)
            drawn = draw(self._connection, chunks=len(pieces))
            self._changes.append(Operation.INSERT, self._chunks.insert([saved], drawn.chunks))
        elif new_triggers or before.title != memory.title:
            self._chunks.reword(memory)

    def remove(self, memory_id: str) -> None:
        """Delete a memory with its chunks and edges, and whatever else hangs on it."""
        touching = or_(edges.c.source_id == memory_id, edges.c.target_id == memory_id)
        self._connection.execute(delete(edges).where(self._mine(edges), touching))
        self._chunks.erase(memory_id)
        mine = (self._mine(memories), memories.c.id == memory_id)
        number = self._connection.execute(select(memories.c.number).where(*mine)).scalar_one_or_none()
        if number is None:
            raise _missing(memory_id)
        self._connection.execute(delete(memories).where(*mine))
        self._changes.append(Operation.DELETE, [Line(RowKind.MEMORY, memory_id, number)])

    def get(self, memory_id: str) -> MemoryRecord:
        """The memory with that id."""
        found = self.find(memory_id)
        if found is None:
            raise _missing(memory_id)
        return found

    def find(self, memory_id: str) -> MemoryRecord | None:
        """The memory with that id, if there is one."""
        row = self._connection.execute(self._select(memories, memories.c.id == memory_id)).one_or_none()
        return None if row is None else from_row(MemoryRecord, row, memories)

    def by_ids(self, ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The memories with these ids; an id that is not there is absent."""
        rows = self._connection.execute(self._select(memories, self._among(memories.c.id, list(ids))))
        return {row.id: from_row(MemoryRecord, row, memories) for row in rows}

    def authors_of(self, ids: Iterable[str]) -> dict[str, Authorship]:
        """Who wrote these memories; an id that is not there is absent."""
        return {
            row.id: Authorship(author_of(row.written_by, row.written_with, row.metadata), row.superseded_at is None)
            for row in self._rows(_AUTHORS, ids=list(ids))
        }

    def by_source(self, source_id: str) -> list[MemoryRecord]:
        """Every version that came from one source, oldest first."""
        wanted = self._select(memories, memories.c.source_id == source_id).order_by(memories.c.version, memories.c.id)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def current_of_source(self, source_id: str) -> MemoryRecord | None:
        """The newest version from a source that nothing has superseded, if there is one."""
        held = (memories.c.source_id == source_id, memories.c.superseded_at.is_(None))
        wanted = self._select(memories, *held).order_by(memories.c.version.desc(), memories.c.number.desc()).limit(1)
        row = self._connection.execute(wanted).one_or_none()
        return None if row is None else from_row(MemoryRecord, row, memories)

    def current_hashes(self) -> dict[str, str | None]:
        """The content hash of every source whose memory nothing has superseded: what need not be taken in again."""
        held = (memories.c.source_id.is_not(None), memories.c.superseded_at.is_(None))
        columns = (memories.c.source_id, memories.c.source_hash)
        wanted = select(*columns).where(self._mine(memories), *held).order_by(memories.c.version, memories.c.number)
        return {row.source_id: row.source_hash for row in self._connection.execute(wanted)}

    def constitutional(self, *, include_superseded: bool = False) -> list[MemoryRecord]:
        """Every constitutional memory that still holds, oldest first; with a word, also those that once did."""
        # Spelt out, not bound: only then does the database know that its index of these rows will do.
        wanted = _EVERY_LAW if include_superseded else _CURRENT_LAWS
        return [from_row(MemoryRecord, row, memories) for row in self._rows(wanted)]

    def never_held(self) -> list[MemoryRecord]:
        """Memories that were superseded the moment they would have been valid, oldest first: those set apart."""
        wanted = self._select(memories, memories.c.superseded_at == memories.c.valid_from)
        return [
            from_row(MemoryRecord, row, memories)
            for row in self._connection.execute(wanted.order_by(memories.c.number))
        ]

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, MemoryRecord]:
        """The memories with these numbers; a number that is gone is absent."""
        return {row.number: from_row(MemoryRecord, row, memories) for row in self._rows(_BY_NUMBERS, numbers=numbers)}

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of these memories; an id that is not there is absent."""
        return {row.id: row.number for row in self._rows(_NUMBERS, ids=ids)}

    def page(self, *, after: str = "", limit: int = PAGE, folder: str | None = None) -> list[MemoryRecord]:
        """Up to `limit` memories in the order of their ids, beginning after one of them."""
        wanted = self._select(memories, memories.c.id > after).order_by(memories.c.id).limit(limit)
        if folder is not None:
            wanted = wanted.where(memories.c.folder == folder)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def matching(self, wanted: MemoryFilter, *, after: str | None = None, limit: int = PAGE) -> list[MemoryRecord]:
        """Up to `limit` memories that a filter lets through, newest first (by id), beginning after one of them."""
        chosen = self._select(memories, *memory_filters.conditions(self._connection, wanted))
        if after is not None:
            chosen = chosen.where(memories.c.id < after)
        rows = self._connection.execute(chosen.order_by(memories.c.id.desc()).limit(limit))
        return [from_row(MemoryRecord, row, memories) for row in rows]

    def count_matching(self, wanted: MemoryFilter) -> dict[MemoryStatus, int]:
        """How many memories a filter lets through, by status; a status that none has is absent."""
        status = memory_filters.status_of(self._connection).label("status")
        chosen = select(status).where(self._mine(memories), *memory_filters.conditions(self._connection, wanted))
        inner = chosen.subquery()
        counted = select(inner.c.status, func.count()).group_by(inner.c.status)
        found = {MemoryStatus(row[0]): int(row[1]) for row in self._connection.execute(counted)}
        return {one: found[one] for one in MemoryStatus if one in found}

    def forgotten_sources(self) -> set[tuple[str, str | None]]:
        """Source id and content hash of every forgotten memory: taking a file in again must not bring it back."""
        hidden = (memories.c.source_id.is_not(None), memory_filters.is_forgotten(self._connection))
        wanted = select(memories.c.source_id, memories.c.source_hash).where(self._mine(memories), *hidden)
        return {(row.source_id, row.source_hash) for row in self._connection.execute(wanted)}

    def mentioning(self, words: str, *, limit: int = 20) -> list[MemoryRecord]:
        """Memories whose title or body contains these words, letter for letter but for ASCII case; by id."""
        words = values.optional_label(words, "words")
        held = or_(
            memories.c.title.icontains(words, autoescape=True), memories.c.body.icontains(words, autoescape=True)
        )
        wanted = self._select(memories, held).order_by(memories.c.id).limit(limit)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def count(self) -> int:
        """How many memories there are; forgotten ones do not count."""
        known = (self._mine(memories), not_(memory_filters.is_forgotten(self._connection)))
        counted = select(func.count()).select_from(memories).where(*known)
        return int(self._connection.execute(counted).scalar_one())

    def chunks_of(self, memory_id: str) -> list[Chunk]:
        """A memory's chunks in document order."""
        return [from_row(Chunk, row, chunks) for row in self._rows(_CHUNKS, memory_id=memory_id)]

    def headings_of(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """The heading paths of these memories' chunks, in document order; a memory without chunks is absent."""
        found: dict[str, list[str]] = {}
        for memory_id, path in self._rows(_HEADINGS, ids=ids):
            found.setdefault(memory_id, []).append(path)
        return found

    def count_chunks(self) -> int:
        """How many chunks there are in all."""
        counted = select(func.count()).select_from(chunks).where(self._mine(chunks))
        return int(self._connection.execute(counted).scalar_one())

    def _id_taken_error(self, batch: Sequence[Saved]) -> RecordExists:
        seen: set[str] = set()
        for one in batch:
            if one.memory.id in seen or self.find(one.memory.id) is not None:
                break
            seen.add(one.memory.id)
        return RecordExists(
            f"the memory id {one.memory.id!r} is already taken in this scope",
            remedy="Use another id, or update the memory that is there.",
        )


def _missing(memory_id: str) -> RecordNotFound:
    return RecordNotFound(f"there is no memory {memory_id!r} in this scope", remedy="Check the id and the tenant.")
