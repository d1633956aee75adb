"""The `trigger` channel: memories one of whose trigger phrases stands word for word in the query.

A phrase of n words scores 1 - 1/2^n (.5, .75, .875, ...), since a longer one is less likely to stand there by chance;
a phrase that is the whole query scores 1. A memory scores by its best phrase. Learned triggers are not phrases of this
channel; they are a boost.
"""

from __future__ import annotations

from assay.memory.searching.query import ParsedQuery
from assay.storage import Work


def search(work: Work, parsed: ParsedQuery, limit: int) -> list[tuple[str, float]]:
    """Ids of memories with scores, best first, ties by number."""
    if not parsed.runs:
        return []
    best: dict[tuple[int, str], float] = {}
    for found in work.triggers.matching(parsed.runs):
        key = (found.memory_number, found.memory_id)
        best[key] = max(best.get(key, 0.0), phrase_score(found.phrase.count(" ") + 1, len(parsed.words)))
    ranked = sorted(best.items(), key=lambda one: (-one[1], one[0]))[:limit]
    return [(memory_id, score) for (_, memory_id), score in ranked]


def phrase_score(length: int, query_length: int) -> float:
    """What a phrase of so many words is worth in a query of so many."""
    return 1.0 if length >= query_length else 1.0 - 0.5**length
