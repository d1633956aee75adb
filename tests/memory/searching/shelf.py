"""A store with memories in it and a searcher over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.embedding.protocol import Embedder
from assay.flags import Flags, Override
from assay.hashing import content_hash
from assay.index import Indexes, IndexOptions
from assay.memory.searching.searcher import Searcher
from assay.records import Chunk, Edge, EdgeKind, MemoryRecord, Scope, SearchRequest, SearchResult
from assay.storage import ChunkVector, Saved, Store
from assay.testing import FixedClock, HashedEmbedder


class Shelf:
    """Puts memories on one tenant's shelf and searches there. A paragraph is a passage."""

    def __init__(self, store: Store, scope: Scope, clock: FixedClock, *, embedder: Embedder | None = None) -> None:
        self.store = store
        self.scope = scope
        self.clock = clock
        self.embedder: Embedder = embedder or HashedEmbedder()
        self.indexes = Indexes(store, None, clock=clock, options=IndexOptions(background=False))
        self.searcher = self.searching()

    def searching(self, **given: Any) -> Searcher:
        """A searcher of which only what matters to the test has to be said."""
        parts: dict[str, Any] = {
            "store": self.store,
            "embedder": self.embedder,
            "indexes": self.indexes,
            "flags": Flags(clock=self.clock),
            "clock": self.clock,
        }
        return Searcher(**{**parts, **given})

    def flags(self, **percent: int) -> Flags:
        """Flags, some of them set as the environment would."""
        said = {name: Override(percent=value, layer="environment", place="a test") for name, value in percent.items()}
        return Flags(said, clock=self.clock)

    def put(self, *memories: MemoryRecord, scope: Scope | None = None, embedded: bool = True) -> None:
        """Keep memories with their passages and vectors."""
        with self.store.writing(scope or self.scope) as work:
            work.memories.add_many([self._saved(one, embedded=embedded) for one in memories])
            if embedded:
                work.vectors.activate(self.embedder.model)

    def replace(self, memory: MemoryRecord) -> None:
        """Give a memory other fields, not other text."""
        with self.store.writing(self.scope) as work:
            work.memories.update(memory)

    def join(self, source: str, kind: EdgeKind, target: str, strength: float = 1.0) -> None:
        """Put an edge between two memories."""
        edge = Edge(source_id=source, target_id=target, kind=kind, created_at=self.clock.now(), strength=strength)
        with self.store.writing(self.scope) as work:
            work.edges.put(edge)

    def search(self, query: str, **given: Any) -> SearchResult:
        """Ask, by default in focused mode."""
        return self.searcher.search(self.scope, SearchRequest(query=query, **{"mode": "focused", **given}))

    def _saved(self, memory: MemoryRecord, *, embedded: bool) -> Saved:
        texts = [part for part in memory.body.split("\n\n") if part.strip()]
        pieces = [
            Chunk(memory_id=memory.id, position=place, text=text, token_count=self.embedder.count_tokens(text))
            for place, text in enumerate(texts)
        ]
        if not embedded:
            return Saved(memory, pieces)
        rows = self.embedder.embed([f"{memory.title}\n{text}" for text in texts])
        vectors = [ChunkVector(content_hash(text), row) for text, row in zip(texts, rows, strict=True)]
        return Saved(memory, pieces, vectors, self.embedder.model)


def ids(result: SearchResult) -> list[str]:
    """The memories found, best first."""
    return list(result.ids)


def found_by(result: SearchResult, channel: str) -> dict[str, int]:
    """The stage's own count of what a channel found."""
    return {stage.name: stage.detail[channel]["found"] for stage in result.stages if channel in stage.detail}


def every(result: SearchResult) -> Iterable[str]:
    """Hits and pinned memories."""
    return {*result.ids, *(one.memory_id for one in result.pinned)}
