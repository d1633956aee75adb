"""Query expansion by pseudo-relevance feedback: the terms that the first results share and other passages lack.

A relevance model in the manner of RM3 (Abdul-Jaleel and others, TREC 2004): a term is worth the mean of its share in
each feedback passage, times its idf. The best `count` new terms are added, the best of them with `weight`, the others
in proportion. Original terms keep weight 1, so that expansion adds to a query and never takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence


def expand(
    stems: Iterable[str],
    feedback_docs: Sequence[Mapping[str, int]],
    idf: Callable[[str], float],
    count: int = 10,
    weight: float = 0.3,
) -> dict[str, float]:
    """Terms with weights: the original ones first, then the added ones, best first."""
    original = dict.fromkeys(stems, 1.0)
    worth = {term: share * idf(term) for term, share in _shares(feedback_docs).items() if term not in original}
    chosen = sorted((term for term in worth if worth[term] > 0.0), key=lambda term: (-worth[term], term))[:count]
    return original | {term: weight * worth[term] / worth[chosen[0]] for term in chosen}


def _shares(documents: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The mean share of each term that can tell something: over two letters long, in two passages if there are two."""
    least = min(2, len(documents))
    lengths = [sum(document.values()) for document in documents]
    found: dict[str, list[float]] = {}
    for document, length in zip(documents, lengths, strict=True):
        for term, times in document.items():
            if len(term) > 2 and not term.isdigit():
                found.setdefault(term, []).append(times / length)
    return {term: math.fsum(shares) / len(documents) for term, shares in found.items() if len(shares) >= least}
