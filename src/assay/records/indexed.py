"""What became of one document when it was indexed, and by which versions of chunker, embedder and index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.records import values
from assay.records.checked import require


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class IndexVersions:
    """What an index was made with. Numbers from two of these are not comparable without a word about it."""

    chunker: str
    embedder: str
    index: str

    def __post_init__(self) -> None:
        require(self, values.label, "chunker", "embedder", "index")


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedDocument:
    """One document and its chunks."""

    chunk_tokens: tuple[int, ...] = ()
    """Tokens of each chunk that was embedded."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many chunks were not embedded, by reason: `context` is the embedder's context limit."""
    doc_type: str = ""
    versions: IndexVersions | None = None

    def __post_init__(self) -> None:
        require(self, _counts, "chunk_tokens")
        require(self, _skipped, "skipped")
        require(self, values.optional_label, "doc_type")

    @property
    def embedded(self) -> int:
        """Chunks that search can find."""
        return len(self.chunk_tokens)

    @property
    def attempted(self) -> int:
        """Chunks the chunker made, embedded or not."""
        return self.embedded + sum(self.skipped.values())


def _counts(numbers: Any, field: str) -> tuple[int, ...]:
    return tuple(values.count(number, field) for number in numbers)


def _skipped(reasons: Any, field: str) -> dict[str, int]:
    return {values.label(reason, field): values.count(count, field) for reason, count in reasons.items()}
