"""Chunks with all that hangs on them: full-text rows and vectors. Used by `Memories` alone.

Numbers are drawn before, so that every row of a batch is written by one statement for each table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, delete

from assay.errors import BadValue
from assay.records import Chunk, MemoryRecord, Operation, RowKind
from assay.storage.full_text import AnalysedPassage, analysed_body, analysed_triggers
from assay.storage.repositories.base import Bound, Repository
from assay.storage.repositories.changes import Changes, Line
from assay.storage.repositories.full_text import full_text
from assay.storage.rows import to_row
from assay.storage.tables import chunks, vectors
from assay.text.terms import normalised_phrase

_ADD = chunks.insert()
_ADD_VECTORS = vectors.insert()


class ChunkVector(NamedTuple):
    """A chunk's vector and the hash of the text it was made of."""

    text_hash: str
    vector: NDArray[np.float32]


class Saved(NamedTuple):
    """A memory and its chunks, in order, with what was made of them."""

    memory: MemoryRecord
    chunks: Sequence[Chunk] = ()
    vectors: Sequence[ChunkVector | None] | None = None
    """One for each chunk; None where a chunk has none."""
    model: str | None = None
    """Which embedder made the vectors."""
    chunker: str | None = None
    """Which chunker made the chunks; with it, the document is kept in the list of indexed documents."""
    skipped: Mapping[str, int] = {}
    """How many chunks were left out, by reason."""
    doc_type: str = ""


class ChunkWriter(Repository):
    """Writes and erases chunks of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)
        self._full_text = full_text(self._connection, self._tenant)

    def insert(self, batch: Sequence[Saved], numbers: Sequence[int]) -> list[Line]:
        """Keep the chunks of these memories, which are written already; the lines to tell the change log."""
        if not numbers:
            return []
        ends = np.cumsum([0, *(len(one.chunks) for one in batch)]).tolist()
        numbered = [(one, numbers[start:end]) for one, (start, end) in zip(batch, pairwise(ends), strict=True)]
        rows = [
            {"tenant": self._tenant, "number": number, **to_row(piece, chunks)}
            for one, own in numbered
            for piece, number in zip(one.chunks, own, strict=True)
        ]
        self._insert(_ADD, rows)
        self._full_text.write([passage for one, own in numbered for passage in analysed(one.memory, one.chunks, own)])
        if embedded := [row for one, own in numbered for row in self._vector_rows(one, own)]:
            self._insert(_ADD_VECTORS, embedded)
        return [_line(row["memory_id"], row["position"], row["number"]) for row in rows]

    def erase(self, memory_id: str) -> None:
        """Delete a memory's chunks; their vectors go with them."""
        gone = [_line(memory_id, row.position, row.number) for row in self._rows_of(memory_id)]
        if not gone:
            return
        self._full_text.erase([line.number for line in gone])
        self._connection.execute(delete(chunks).where(self._mine(chunks), chunks.c.memory_id == memory_id))
        self._changes.append(Operation.DELETE, gone)

    def reword(self, memory: MemoryRecord) -> None:
        """Write a memory's full-text rows anew after its title or triggers changed."""
        rows = self._rows_of(memory.id)
        numbers = [row.number for row in rows]
        self._full_text.erase(numbers)
        self._full_text.write(analysed(memory, rows, numbers))
        self._changes.append(Operation.UPDATE, [_line(memory.id, row.position, row.number) for row in rows])

    def _rows_of(self, memory_id: str) -> Sequence[Row[Any]]:
        wanted = self._select(chunks, chunks.c.memory_id == memory_id).order_by(chunks.c.position)
        return self._connection.execute(wanted).all()

    def _vector_rows(self, one: Saved, numbers: Sequence[int]) -> list[dict[str, Any]]:
        return [
            vector_row(self._tenant, one.model or "", number, made)
            for number, made in zip(numbers, one.vectors or (), strict=False)
            if made is not None
        ]


def _line(memory_id: str, position: int, number: int) -> Line:
    return Line(RowKind.CHUNK, f"{memory_id}#{position}", number)


def vector_row(tenant: str, model: str, number: int, made: ChunkVector) -> dict[str, Any]:
    """A vector as it is kept."""
    return {
        "tenant": tenant,
        "number": number,
        "model": model,
        "dimension": len(made.vector),
        "text_hash": made.text_hash,
        "vector": made.vector,
    }


def analysed(memory: MemoryRecord, pieces: Sequence[Any], numbers: Sequence[int]) -> list[AnalysedPassage]:
    """The words of a memory's chunks."""
    title = normalised_phrase(memory.title)
    triggers = analysed_triggers(memory.triggers)
    return [
        AnalysedPassage(number, title, triggers, analysed_body(piece.heading_path, piece.text))
        for piece, number in zip(pieces, numbers, strict=True)
    ]


def check(saved: Saved) -> None:
    """Refuse chunks out of order, and vectors that do not fit them."""
    expected = [(saved.memory.id, position) for position in range(len(saved.chunks))]
    if [(piece.memory_id, piece.position) for piece in saved.chunks] != expected:
        raise BadValue(
            f"the chunks of {saved.memory.id} are not its positions 0 to {len(saved.chunks) - 1} in order",
            remedy="Number the chunks of a memory from 0 without gaps.",
        )
    if saved.vectors is None:
        return
    if len(saved.vectors) != len(saved.chunks) or not saved.model:
        raise BadValue(
            f"{saved.memory.id} has {len(saved.chunks)} chunks and {len(saved.vectors)} vectors of {saved.model!r}",
            remedy="Give one vector (or None) for each chunk, and the model that made them.",
        )
