"""Which questions to label by hand, when only a few can be: those that lie farthest from each other.

Farthest-point traversal: the first is the one nearest to the middle; each next one is the one whose nearest neighbour
among the picked is farthest away. Every intent has its share, so that no common intent takes all the places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.harvesting.harvest import largest_remainder
from assay.text.terms import words

Matrix = NDArray[np.floating]


def most_diverse(vectors: Matrix, intents: Sequence[str], count: int) -> list[int]:
    """The places of so many questions, in the order they were picked. One unit vector a row."""
    left = largest_remainder({name: intents.count(name) for name in sorted(set(intents))}, count)
    far = 1.0 - vectors @ _middle(vectors)
    picked: list[int] = []
    nearest = np.full(len(vectors), np.inf)
    while len(picked) < min(count, len(vectors)):
        open_ = np.array([left[name] > 0 and place not in picked for place, name in enumerate(intents)])
        # Before the first pick, the most typical; later, the farthest from all picks.
        worth = -far if not picked else nearest
        place = int(np.argmax(np.where(open_, worth, -np.inf)))
        picked.append(place)
        left[intents[place]] -= 1
        nearest = np.minimum(nearest, 1.0 - vectors @ vectors[place])
    return picked


def word_vectors(queries: Sequence[str]) -> Matrix:
    """Questions by their words alone, for where there is no embedder."""
    told = [set(words(one)) for one in queries]
    vocabulary = {word: place for place, word in enumerate(sorted(set().union(*told)))}
    rows = np.zeros((len(queries), max(1, len(vocabulary))))
    for row, found in zip(rows, told, strict=True):
        row[[vocabulary[word] for word in found]] = 1.0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return unit


def _middle(vectors: Matrix) -> Matrix:
    mean: Matrix = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0 else mean
