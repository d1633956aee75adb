"""Aggregation: the fused passages of a memory become its one score (MPAB), before any boost.

With N passages: none 0, one its own score, more `best + c * sum(the others) / sqrt(N)`. The best is taken out once,
by place, so that of two equals the other still counts.

Scores stay high far down a list: by RRF rank 50 is worth more than half of rank 1, and a long memory gathers by the
dozen what nobody would be shown. So the others count by what they have above the floor: the score of the first passage
behind the best `COUNTED`. Where there are no more than these, everything counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

from assay.memory.searching.fusion import FusedPassage

_SCORE = itemgetter(1)
COUNTED = 10
"""How many of the best passages can add to their memory; what stands behind them is the floor."""


class AggregatedMemory(NamedTuple):
    """One memory with its passages."""

    memory: int
    score: float
    """On the scale of the fusion; may exceed its ceiling when several passages add up."""
    ranked: tuple[FusedPassage[int], ...]
    """Its passages, best first, ties in document order."""

    @property
    def best(self) -> FusedPassage[int]:
        """Its best passage."""
        return self.ranked[0]


def mpab(scores: Sequence[float], coefficient: float) -> float:
    """The score of a memory whose passages score this."""
    if not scores:
        return 0.0
    place = max(range(len(scores)), key=scores.__getitem__)
    others = [score for at, score in enumerate(scores) if at != place]
    return _joined(scores[place], others, coefficient)


def floor_of(fused: Sequence[FusedPassage[int]], memory_of: Mapping[int, int]) -> float:
    """What a further passage has to be above to count."""
    counting = (passage.fused for passage in fused if passage.number in memory_of)
    return next(islice(counting, COUNTED, None), 0.0)


def aggregate(
    fused: Sequence[FusedPassage[int]],
    memory_of: Mapping[int, int],
    enabled: bool,
    coefficient: float,
    *,
    floor: float = 0.0,
    position_of: Callable[[int], int] = int,
) -> list[AggregatedMemory]:
    """Memories, best first; equals by their best passage's place in `fused`.

    Passages that `memory_of` does not know were filtered out. Without `position_of`, numbers grow with the document.
    Not `enabled`: a memory scores what its best passage scores.
    """
    first: dict[int, FusedPassage[int]] = {}
    several: dict[int, list[FusedPassage[int]]] = {}
    for passage in fused:
        memory = memory_of.get(passage.number)
        if memory is not None and first.setdefault(memory, passage) is not passage:
            several.setdefault(memory, [first[memory]]).append(passage)
    weight = coefficient if enabled else 0.0
    # Most memories are found by one passage, and hundreds are made in a search: without a call in Python for each.
    new = tuple.__new__
    found = [
        _aggregated(memory, several[memory], weight, floor, position_of)
        if memory in several
        else new(AggregatedMemory, (memory, only.fused, (only,)))
        for memory, only in first.items()
    ]
    # Stable: memories were met in the order of their best passages.
    return sorted(found, key=_SCORE, reverse=True)


def _aggregated(
    memory: int,
    passages: Sequence[FusedPassage[int]],
    coefficient: float,
    floor: float,
    position_of: Callable[[int], int],
) -> AggregatedMemory:
    in_document = sorted(passages, key=lambda one: position_of(one.number))
    ranked = sorted(in_document, key=attrgetter("fused"), reverse=True)
    score = _joined(ranked[0].fused, [max(one.fused - floor, 0.0) for one in ranked[1:]], coefficient)
    return AggregatedMemory(memory, score, tuple(ranked))


def _joined(best: float, others: Sequence[float], coefficient: float) -> float:
    return best + coefficient * math.fsum(others) / math.sqrt(len(others) + 1) if others else best
