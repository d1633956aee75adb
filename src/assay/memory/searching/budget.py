"""Budget: what is left out so that the hits fit the caller's context.

Passages are taken whole, in the order of the hits and within a hit best first, up to the first that does not fit: what
is behind it is dropped too, so that a larger budget never shows less. The best passage of the first hit is always kept,
since a search that found something must not look like one that found nothing; if it alone is over the budget, `overrun`
says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from assay.records import Hit, HitPassage


class Fitted(NamedTuple):
    """Hits that fit."""

    kept: tuple[Hit, ...]
    """With their remaining passages, in document order."""
    tokens: int
    dropped: int
    """Passages left out."""
    overrun: int
    """Tokens above the budget: not 0 only when the first passage alone is too long."""


def fit(
    hits: Sequence[Hit], token_budget: int | None, *, best_first: Mapping[str, Sequence[int]] | None = None
) -> Fitted:
    """The hits within a budget; None is no budget.

    `best_first` gives positions by memory id; a memory that is not in it has its passages taken in document order.
    """
    total = sum(hit.tokens for hit in hits)
    if token_budget is None or total <= token_budget:
        return Fitted(tuple(hits), total, dropped=0, overrun=0)
    taken, tokens = _taken(hits, token_budget, best_first or {})
    kept = tuple(_with_passages(hit, taken[hit.memory_id]) for hit in hits if hit.memory_id in taken)
    offered = sum(len(hit.passages) for hit in hits)
    shown = sum(len(positions) for positions in taken.values())
    return Fitted(kept, tokens, dropped=offered - shown, overrun=max(tokens - token_budget, 0))


def _taken(
    hits: Sequence[Hit], token_budget: int, best_first: Mapping[str, Sequence[int]]
) -> tuple[dict[str, set[int]], int]:
    taken: dict[str, set[int]] = {}
    tokens = 0
    for hit, passage in _in_turn(hits, best_first):
        if taken and tokens + passage.tokens > token_budget:
            break
        taken.setdefault(hit.memory_id, set()).add(passage.position)
        tokens += passage.tokens
    return taken, tokens


def _in_turn(hits: Sequence[Hit], best_first: Mapping[str, Sequence[int]]) -> Iterator[tuple[Hit, HitPassage]]:
    for hit in hits:
        place = {position: at for at, position in enumerate(best_first.get(hit.memory_id, ()))}
        for passage in sorted(hit.passages, key=lambda one: place.get(one.position, len(place))):
            yield hit, passage


def _with_passages(hit: Hit, positions: set[int]) -> Hit:
    return replace(hit, passages=tuple(one for one in hit.passages if one.position in positions))
