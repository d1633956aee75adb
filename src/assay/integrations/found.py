"""What a search of a memory found, with the facts that documents of other frameworks carry as metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.calls import MemoryCalls


class FoundMemory(NamedTuple):
    """One memory that was found."""

    id: str
    text: str
    """The passages that matched."""
    score: float
    facts: dict[str, Any]
    """Id, title, score and where it belongs, as plain values."""


def find_memories(
    memory: MemoryCalls, query: str, *, k: int, folder: str | None = None, tags: Sequence[str] = ()
) -> list[FoundMemory]:
    """Search a memory, best first. Standing rules are not among the results: `Memory.context` gives those."""
    return [
        FoundMemory(
            id=hit.memory_id,
            text=hit.text,
            score=hit.score,
            facts={
                "id": hit.memory_id,
                "title": hit.title,
                "score": hit.score,
                "tier": hit.tier.value,
                "folder": hit.folder,
                "rel_path": hit.rel_path,
                "tags": list(hit.tags),
            },
        )
        for hit in memory.search(query, k=k, folder=folder, tags=tags)
    ]
