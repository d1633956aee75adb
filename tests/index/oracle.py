"""What the indexes should answer, worked out from the tables one row at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.index import Found
from assay.index.scoring import LENGTHS
from assay.records import Filters
from assay.storage import Work
from assay.storage.repositories.passages import MemoryColumns
from assay.text.terms import stems


def lexical(
    work: Work,
    terms: Mapping[str, float],
    limit: int,
    filters: Filters,
    *,
    base: Mapping[int, list[str]] | None = None,
    tail: Collection[int] | None = None,
) -> list[Found]:
    """By BM25 over the tables. Frequencies count what the base was made of and what stands in the tail."""
    alive = bags(work)
    of_base = list((base or {}).values())
    of_tail = [bag for number, bag in alive.items() if tail is None or number in tail]
    counted = of_base + of_tail
    lengths = [len(bag) for bag in of_base or of_tail]
    average = sum(lengths) / max(len(lengths), 1)
    idf = {stem: _idf(len(counted), sum(stem in bag for bag in counted)) for stem in terms}
    passing = numbers_passing(work, filters)
    found = []
    for number, bag in alive.items():
        held = Counter(bag)
        if number in passing and any(held[stem] for stem in terms):
            norm = 1.2 * (0.25 + 0.75 * _kept(len(bag)) / max(average, 1e-9))
            parts = (terms[stem] * idf[stem] * 2.2 * held[stem] / (held[stem] + norm) for stem in terms)
            found.append(Found(number, sum(parts)))
    return sorted(found, key=lambda one: (-round(one.score, 4), one.number))[:limit]


def nearest(work: Work, model: str, query: NDArray[np.float32], limit: int, filters: Filters) -> list[Found]:
    """By the vectors in the table."""
    numbers, matrix = work.vectors.page(model, limit=100_000)
    passing = numbers_passing(work, filters)
    wanted = query.astype(np.float16).astype(np.float64)
    found = [
        Found(number, float(vector @ wanted / np.linalg.norm(vector) / np.linalg.norm(wanted)))
        for number, vector in zip(numbers.tolist(), matrix.astype(np.float64), strict=True)
        if number in passing
    ]
    return sorted(found, key=lambda one: (-round(one.score, 6), one.number))[:limit]


def bags(work: Work) -> dict[int, list[str]]:
    """The stems of every passage."""
    return {
        row.number: stems("\n".join((row.title, *row.triggers, row.heading_path, row.text)))
        for row in work.passages.page(limit=100_000)
    }


def numbers_passing(work: Work, filters: Filters) -> set[int]:
    """The passages whose memories pass."""
    kept = {row.number for row in work.passages.memory_columns(limit=100_000) if _passes(row, filters)}
    return {row.number for row in work.passages.page(limit=100_000) if row.memory_number in kept}


def _passes(row: MemoryColumns, filters: Filters) -> bool:
    superseded = row.superseded_at is not None
    if filters.as_of is not None:
        superseded = row.superseded_at is not None and row.superseded_at <= filters.as_of
    return (
        (filters.folder is None or row.folder == filters.folder or row.folder.startswith(filters.folder + "/"))
        and (not filters.tiers or row.tier in {str(tier) for tier in filters.tiers})
        and (filters.since is None or row.valid_from >= filters.since)
        and (filters.until is None or row.valid_from < filters.until)
        and (filters.as_of is None or row.valid_from <= filters.as_of)
        and (filters.include_superseded or not superseded)
    )


def _idf(documents: int, frequency: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def _kept(length: int) -> int:
    return max(int(one) for one in LENGTHS if one <= length)


def same(found: Sequence[Found], expected: Sequence[Found], error: float) -> None:
    """The same passages in the same order, but that those whose scores differ by less than the error may swap."""
    assert len(found) == len(expected), (found, expected)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    for one, other in zip(found, expected, strict=True):
        assert abs(one.score - other.score) <= error, (found, expected)
    lowest = expected[-1].score if expected else 0.0
    clear = {one.number for one in expected if one.score > lowest + error}
    assert clear <= {one.number for one in found}, (found, expected)
    for one, after in pairwise(found):
        assert one.score > after.score or one.number < after.number, found
