"""Where the time of a run goes, and how long its chunks are: a chunker and an embedder that count as they work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from assay.embedding.around import AroundEmbedder
from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.records import Format
from assay.text.chunking import Chunked, Chunker

Stopwatch = Callable[[], float]
"""Seconds since some moment."""


@dataclass(kw_only=True, slots=True)
class Meter:
    """What one run has cost so far."""

    stopwatch: Stopwatch
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    chunk_tokens: list[int] = field(default_factory=list)

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add what happens inside to one name."""
        begun = self.stopwatch()
        try:
            yield
        finally:
            self.seconds[name] += self.stopwatch() - begun

    def shares(self, total: float) -> dict[str, float]:
        """Seconds by name; what is neither reading, chunking nor embedding is writing."""
        known = {name: self.seconds.get(name, 0.0) for name in ("read", "chunk", "embed")}
        return {"total": total, **known, "write": max(0.0, total - sum(known.values()))}


class MeteredChunker(Chunker):
    """A chunker that counts what it makes."""

    def __init__(self, inner: Chunker, meter: Meter) -> None:
        self.version = inner.version
        self._inner = inner
        self._meter = meter

    def chunk(self, title: str, body: str, format: Format = Format.MARKDOWN) -> Chunked:  # noqa: A002 - the record's word
        """The passages of a document."""
        with self._meter.timing("chunk"):
            made = self._inner.chunk(title, body, format)
        self._meter.chunk_tokens += [piece.token_count for piece in made.pieces]
        return made


class MeteredEmbedder(AroundEmbedder):
    """An embedder that counts what it takes."""

    def __init__(self, inner: Embedder, meter: Meter) -> None:
        super().__init__(inner)
        self._meter = meter

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text."""
        with self._meter.timing("embed"):
            return self._inner.embed(texts, progress=progress)
