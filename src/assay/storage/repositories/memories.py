"""Memories and the chunks they are split into.

Every change of a row is told to the change log in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from assay.errors import BadValue, RecordExists, RecordNotFound
from assay.records import Chunk, MemoryRecord, Operation, RowKind, values
from assay.storage.repositories.base import Bound, Repository
from assay.storage.repositories.changes import Changes
from assay.storage.rows import from_row, to_row
from assay.storage.tables import chunks, edges, memories

PAGE = 1_000


class Saved(NamedTuple):
    """A memory and its chunks, in order."""

    memory: MemoryRecord
    chunks: Sequence[Chunk] = ()


class Memories(Repository):
    """The memories of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)

    def add(self, memory: MemoryRecord, pieces: Sequence[Chunk] = ()) -> None:
        """Keep a new memory. An id that is taken is refused."""
        self.add_many([Saved(memory, pieces)])

    def add_many(self, saved: Iterable[Saved]) -> None:
        """Keep many new memories, in order, in one go: all of them, or none when an id is taken."""
        batch = list(saved)
        if not batch:
            return
        for one in batch:
            _check_pieces(one)
        rows = [{"tenant": self._tenant, **to_row(one.memory, memories)} for one in batch]
        try:
            # Inside a savepoint, so that the unit of work outlives a refusal on PostgreSQL too.
            with self._connection.begin_nested():
                self._connection.execute(memories.insert(), rows)
        except IntegrityError as problem:
            raise self._taken(batch) from problem
        self._insert_chunks([piece for one in batch for piece in one.chunks])
        self._changes.append(RowKind.MEMORY, Operation.INSERT, [one.memory.id for one in batch])
        self._changes.append(RowKind.CHUNK, Operation.INSERT, [piece.id for one in batch for piece in one.chunks])

    def update(self, memory: MemoryRecord, pieces: Sequence[Chunk] | None = None) -> None:
        """Replace a memory's fields; with pieces, its chunks too."""
        if pieces is not None:
            _check_pieces(Saved(memory, pieces))
        row = to_row(memory, memories)
        found = self._connection.execute(
            update(memories).where(self._mine(memories), memories.c.id == memory.id).values(row)
        )
        if not found.rowcount:
            raise _missing(memory.id)
        self._changes.append(RowKind.MEMORY, Operation.UPDATE, [memory.id])
        if pieces is not None:
            self._delete_chunks(memory.id)
            self._insert_chunks(pieces)
            self._changes.append(RowKind.CHUNK, Operation.INSERT, [piece.id for piece in pieces])

    def remove(self, memory_id: str) -> None:
        """Delete a memory with its chunks and edges."""
        touching = or_(edges.c.source_id == memory_id, edges.c.target_id == memory_id)
        self._connection.execute(delete(edges).where(self._mine(edges), touching))
        self._delete_chunks(memory_id)
        found = self._connection.execute(delete(memories).where(self._mine(memories), memories.c.id == memory_id))
        if not found.rowcount:
            raise _missing(memory_id)
        self._changes.append(RowKind.MEMORY, Operation.DELETE, [memory_id])

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

    def by_source(self, source_id: str) -> list[MemoryRecord]:
        """Every version that came from one source, oldest first."""
        wanted = self._select(memories, memories.c.source_id == source_id).order_by(memories.c.version, memories.c.id)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def page(self, *, after: str = "", limit: int = PAGE, folder: str | None = None) -> list[MemoryRecord]:
        """Up to `limit` memories in the order of their ids, beginning after one of them."""
        wanted = self._select(memories, memories.c.id > after).order_by(memories.c.id).limit(limit)
        if folder is not None:
            wanted = wanted.where(memories.c.folder == folder)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def mentioning(self, words: str, *, limit: int = 20) -> list[MemoryRecord]:
        """Memories whose title or body contains these words, letter for letter but for ASCII case; by id."""
        words = values.optional_label(words, "words")
        held = or_(
            memories.c.title.icontains(words, autoescape=True), memories.c.body.icontains(words, autoescape=True)
        )
        wanted = self._select(memories, held).order_by(memories.c.id).limit(limit)
        return [from_row(MemoryRecord, row, memories) for row in self._connection.execute(wanted)]

    def count(self) -> int:
        """How many memories there are."""
        counted = select(func.count()).select_from(memories).where(self._mine(memories))
        return int(self._connection.execute(counted).scalar_one())

    def chunks_of(self, memory_id: str) -> list[Chunk]:
        """A memory's chunks in document order."""
        wanted = self._select(chunks, chunks.c.memory_id == memory_id).order_by(chunks.c.position)
        return [from_row(Chunk, row, chunks) for row in self._connection.execute(wanted)]

    def count_chunks(self) -> int:
        """How many chunks there are in all."""
        counted = select(func.count()).select_from(chunks).where(self._mine(chunks))
        return int(self._connection.execute(counted).scalar_one())

    def _taken(self, batch: Sequence[Saved]) -> RecordExists:
        seen: set[str] = set()
        for one in batch:
            if one.memory.id in seen or self.find(one.memory.id) is not None:
                break
            seen.add(one.memory.id)
        return RecordExists(
            f"the memory id {one.memory.id!r} is already taken in this scope",
            remedy="Use another id, or update the memory that is there.",
        )

    def _insert_chunks(self, pieces: Sequence[Chunk]) -> None:
        if pieces:
            rows = [{"tenant": self._tenant, **to_row(piece, chunks)} for piece in pieces]
            self._connection.execute(chunks.insert(), rows)

    def _delete_chunks(self, memory_id: str) -> None:
        gone = [piece.id for piece in self.chunks_of(memory_id)]
        if gone:
            self._connection.execute(delete(chunks).where(self._mine(chunks), chunks.c.memory_id == memory_id))
            self._changes.append(RowKind.CHUNK, Operation.DELETE, gone)


def _check_pieces(saved: Saved) -> None:
    expected = [(saved.memory.id, position) for position in range(len(saved.chunks))]
    if [(piece.memory_id, piece.position) for piece in saved.chunks] != expected:
        raise BadValue(
            f"the chunks of {saved.memory.id} are not its positions 0 to {len(saved.chunks) - 1} in order",
            remedy="Number the chunks of a memory from 0 without gaps.",
        )


def _missing(memory_id: str) -> RecordNotFound:
    return RecordNotFound(f"there is no memory {memory_id!r} in this scope", remedy="Check the id and the tenant.")
