"""Stores of any size to search in: real documents through the real engine, then passages made of their sentences.

`take_in` saves the Kubernetes documentation and scifact as `assay ingest` would. `fill` copies them into a store of a
wanted size and writes the rest in bulk through the store's repositories, since embedding a million passages takes days.
A made passage is put together from sentences of three real ones, so that words are as frequent as in real text; its
vector is a mixture of their three vectors plus noise, at length 1. Below the size of the real ones only those are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.memory.engine import Engine
from assay.records import Chunk, Draft, Edge, EdgeKind, Format, MemoryRecord, Scope
from assay.records.memory import INGESTED_WITH
from assay.storage import ChunkVector, Saved, Store
from bench.collections import load

SCOPE = Scope()
BATCH = 1_000
NOISE = 0.35
"""Length of the noise beside a mixture of length 1: a made passage's nearest real one then has a cosine of about .8."""
PER_MEMORY = 3
"""Chunks of a made memory."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n{2,}")


class Material(NamedTuple):
    """Real memories with their chunks and vectors."""

    saved: list[Saved]

    @property
    def chunks(self) -> list[Chunk]:
        """Every chunk, in order."""
        return [chunk for one in self.saved for chunk in one.chunks]

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Their vectors, one row each."""
        return np.stack([made.vector for one in self.saved for made in one.vectors or () if made is not None])


def take_in(engine: Engine, data: Path) -> None:
    """Save the real documents, unless they are there."""
    vault = data / "docs_kubernetes" / "vault"
    engine.ingest(SCOPE, [vault], root=vault)
    drafts = (
        Draft(title=one.title, body=one.text, format=Format.TEXT, folder="scifact", source_id=f"scifact:{one.id}")
        for one in load(data, "scifact").documents
    )
    for _ in engine.saver.save_many(SCOPE, drafts, batch=200):
        pass


def material(store: Store) -> Material:
    """What `take_in` saved, as rows."""
    with store.reading(SCOPE) as work:
        model = work.vectors.active() or ""
        page = work.vectors.page(model, limit=1_000_000)
        vector_of = dict(zip(page.numbers.tolist(), page.vectors, strict=True))
        rows = work.passages.page(limit=1_000_000)
        records = work.memories.by_numbers(sorted({row.memory_number for row in rows}))
        saved = []
        for number, own in groupby(rows, key=lambda row: row.memory_number):
            made = [ChunkVector(f"real:{row.number}", vector_of[row.number]) for row in own]
            saved.append(_copy(records[number], work.memories.chunks_of(records[number].id), made, model))
    return Material(saved)


def _copy(memory: MemoryRecord, chunks: Sequence[Chunk], made: Sequence[ChunkVector], model: str) -> Saved:
    return Saved(memory, chunks, made, model, "bench", doc_type=str(memory.format))


def fill(engine: Engine, real: Material, size: int, *, seed: int = 1) -> None:
    """Write a store of so many chunks, real ones first, and fold its indexes."""
    rng = np.random.default_rng(seed)
    with engine.store.writing(SCOPE) as work:
        work.vectors.activate(real.saved[0].model or "")
    waiting = _until(size, (*_shuffled(real.saved, rng),), rng)
    while some := list(islice(waiting, BATCH)):
        with engine.store.writing(SCOPE) as work:
            work.memories.add_many(some)
    engine.indexes.compact(SCOPE)


def _shuffled(saved: Sequence[Saved], rng: np.random.Generator) -> list[Saved]:
    return [saved[place] for place in rng.permutation(len(saved))]


def _until(size: int, real: Sequence[Saved], rng: np.random.Generator) -> Iterator[Saved]:
    written = 0
    for one in real:
        if written + len(one.chunks) > size:
            return
        written += len(one.chunks)
        yield one
    maker = Maker(Material(list(real)), rng)
    while written < size:
        one = maker.memory(min(PER_MEMORY, size - written))
        written += len(one.chunks)
        yield one


class Maker:
    """Makes memories of the sentences of real ones."""

    def __init__(self, real: Material, rng: np.random.Generator) -> None:
        self._like = real.saved
        self._rng = rng
        self._chunks = real.chunks
        self._vectors = real.vectors
        self._sentences = [SENTENCE.split(chunk.text) for chunk in self._chunks]
        self._made = 0

    def memory(self, chunks: int) -> Saved:
        """One memory of so many chunks."""
        self._made += 1
        like = self._like[int(self._rng.integers(len(self._like)))]
        own_id = f"m_made{self._made:08d}"
        made = [self._chunk(own_id, position) for position in range(chunks)]
        body = "\n\n".join(chunk.text for chunk, _ in made)
        memory = replace(
            like.memory,
            id=own_id,
            body=body,
            source_id=f"made:{self._made}",
            rel_path="",
            # As if it had been taken in from a file: no facts are read from such, which is most of the time of saving.
            written_with=INGESTED_WITH,
        )
        vectors = [ChunkVector(f"made:{chunk.id}", vector) for chunk, vector in made]
        return _copy(memory, [chunk for chunk, _ in made], vectors, like.model or "")

    def _chunk(self, memory_id: str, position: int) -> tuple[Chunk, NDArray[np.float32]]:
        sources = self._rng.integers(len(self._chunks), size=3)
        shares = self._rng.dirichlet([0.6] * 3)
        length = len(self._sentences[sources[0]])
        taken = [
            sentences[int(place)]
            for source, share in zip(sources, shares, strict=True)
            for sentences in [self._sentences[source]]
            for place in self._rng.integers(len(sentences), size=max(1, round(share * length)))
        ]
        tokens = self._chunks[int(sources[0])].token_count
        chunk = Chunk(memory_id=memory_id, position=position, text=" ".join(taken), token_count=tokens)
        return chunk, self._mixed(sources, shares)

    def _mixed(self, sources: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float32]:
        mixture = _unit(np.asarray(shares.astype(np.float32) @ self._vectors[sources]))
        noise = self._rng.standard_normal((self._vectors.shape[1],), dtype=np.float32)
        return _unit(mixture + NOISE * _unit(noise))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vector / np.float32(np.linalg.norm(vector))
    return unit


def join(store: Store, edges: int, *, seed: int = 2) -> None:
    """Edges between memories; some memories have many, as in real graphs."""
    rng = np.random.default_rng(seed)
    kinds = list(EdgeKind)
    with store.writing(SCOPE) as work:
        known = work.memories.page(limit=edges)
        ends = (len(known) * rng.random((edges, 2)) ** 2).astype(int)
        for place, (source, target) in enumerate(ends.tolist()):
            edge = Edge(
                source_id=known[source].id,
                target_id=known[target].id,
                kind=kinds[place % len(kinds)],
                strength=0.5 + 0.5 * float(rng.random()),
                created_at=known[0].created_at,
            )
            if source != target:
                work.edges.put(edge)
