"""Reranking: MMR for variety, a cross-encoder for a second opinion. Both reorder; neither changes a score.

MMR (Carbonell and Goldstein, SIGIR 1998) picks, one after another, the candidate with the highest
`lambda * relevance - (1 - lambda) * likeness`, likeness being the highest cosine to what was picked before. The first
pick is the most relevant one. Only what repeats counts as alike: a cosine up to `alike` is no likeness, and above it
likeness grows from 0 to 1. Answers to one question are always related; punishing that costs recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue

Item = TypeVar("Item")


class CrossEncoder(Protocol):
    """Reads the query and a text together and says how well they fit."""

    @property
    def name(self) -> str:
        """Which model in which version."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.floating]:
        """One number for each text; a higher one fits better. The scale is the model's own."""
        ...


def mmr(
    candidates: Sequence[Item],
    relevance: Sequence[float],
    vectors: NDArray[np.floating],
    lambda_: float,
    k: int,
    *,
    alike: float = 0.0,
) -> list[Item]:
    """At most k candidates in the order of MMR; equals keep their order.

    One unit vector a row. A candidate whose vector is not known has a row of zeros: it is taken for unlike all others.
    """
    _same_length(len(candidates), relevance=len(relevance), vectors=len(vectors))
    worth = lambda_ * np.asarray(relevance, dtype=np.float64)
    likeness = np.zeros(len(candidates))
    left = np.ones(len(candidates), dtype=bool)
    picked: list[int] = []
    for _ in range(min(k, len(candidates))):
        place = int(np.argmax(np.where(left, worth - (1.0 - lambda_) * likeness, -np.inf)))
        similar = _likeness(vectors @ vectors[place], alike)
        # Before the first pick nothing is alike; after it, a candidate opposite to all picks may be below 0.
        likeness = np.maximum(likeness, similar) if picked else similar.astype(np.float64)
        left[place] = False
        picked.append(place)
    return [candidates[place] for place in picked]


def _likeness(cosines: NDArray[np.floating], alike: float) -> NDArray[np.floating]:
    if alike == 0.0:
        return cosines
    return np.maximum(cosines - alike, 0.0) / (1.0 - alike) if alike < 1.0 else np.zeros_like(cosines)


def rerank_with(
    encoder: CrossEncoder, query: str, candidates: Sequence[Item], texts: Sequence[str], depth: int
) -> list[Item]:
    """The first `depth` candidates in the cross-encoder's order, equals as they were; the others stay behind them."""
    _same_length(len(candidates), texts=len(texts))
    scores = np.asarray(encoder.score(query, texts[:depth]), dtype=np.float64)
    if scores.shape != (len(texts[:depth]),) or not np.isfinite(scores).all():
        raise BadValue(
            f"cross-encoder {encoder.name!r} gave {scores.shape} for {len(texts[:depth])} texts, or numbers not finite",
            remedy="It has to give one finite number for each text.",
        )
    order = np.argsort(-scores, kind="stable")
    return [candidates[place] for place in order] + list(candidates[depth:])


def _same_length(expected: int, **lengths: int) -> None:
    for name, length in lengths.items():
        if length != expected:
            raise BadValue(f"{expected} candidates have {length} {name}", remedy="Give one for each candidate.")
