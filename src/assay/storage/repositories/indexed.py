"""What became of each document when it was split and embedded: which chunker did it, and what it left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import and_, select

from assay.storage.repositories.base import Repository
from assay.storage.repositories.chunk_writing import Saved
from assay.storage.rows import upsert
from assay.storage.tables import chunks, indexed_documents, vectors


class IndexedRow(NamedTuple):
    """One document as it is indexed under one model."""

    memory_id: str
    chunker: str
    doc_type: str
    skipped: Mapping[str, int]
    chunk_tokens: tuple[int, ...]
    """Tokens of each chunk that has a vector, in document order."""


class Indexed(Repository):
    """The indexed documents of one tenant."""

    def put_many(self, batch: Sequence[Saved]) -> None:
        """Keep how documents were split; one that is there is told anew. Those without a chunker are passed over."""
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": one.memory.id,
                "chunker": one.chunker,
                "doc_type": one.doc_type,
                "skipped": dict(one.skipped),
            }
            for one in batch
            if one.chunker is not None
        ]
        if not rows:
            return
        key, fresh = ("memory_id", "tenant"), ("chunker", "doc_type", "skipped")
        self._insert(upsert(self._connection, indexed_documents, key=key, fresh=fresh), rows)

    def documents(self, model: str) -> list[IndexedRow]:
        """Every document with the chunks that search can find by vector under a model; by memory id."""
        told, piece, made = indexed_documents.c, chunks.c, vectors.c
        own = and_(piece.tenant == told.tenant, piece.memory_id == told.memory_id)
        embedded = and_(made.number == piece.number, made.model == model)
        wanted = (
            select(told.memory_id, told.chunker, told.doc_type, told.skipped, piece.token_count, made.number)
            .select_from(indexed_documents.outerjoin(chunks, own).outerjoin(vectors, embedded))
            .where(self._mine(indexed_documents))
            .order_by(told.memory_id, piece.position)
        )
        rows = self._connection.execute(wanted).all()
        return [
            IndexedRow(*first[:4], tuple(row.token_count for row in some if row.number is not None))
            for some in (list(group) for _, group in groupby(rows, key=lambda row: str(row.memory_id)))
            for first in some[:1]
        ]
