"""The tail's words: for each stem the passages that hold it and how often, only ever added to.

One writer adds while many read: a reader names how many passages it knows of and sees no others.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.index import bm25
from assay.index.columns import Mask, Whole


class Postings:
    """Stem to pairs of place and frequency, places growing."""

    def __init__(self) -> None:
        self._pairs: dict[str, array[int]] = {}

    def add(self, place: int, stems: Sequence[str]) -> None:
        """The passage at a place holds these stems."""
        for stem, frequency in Counter(stems).items():
            pairs = self._pairs.get(stem)
            if pairs is None:
                pairs = self._pairs[stem] = array("i")
            # One call for both numbers: a reader never sees half a pair.
            pairs.extend((place, frequency))

    def bags(self, known: int) -> list[list[str]]:
        """The stems of each of the first `known` passages, in no order."""
        found: list[list[str]] = [[] for _ in range(known)]
        for stem, pairs in list(self._pairs.items()):
            numbers = pairs.tolist()
            for place, frequency in zip(numbers[::2], numbers[1::2], strict=True):
                if place < known:
                    found[place] += [stem] * frequency
        return found

    def of(self, stem: str, known: int) -> tuple[Whole, Whole]:
        """Places and frequencies among the first `known` passages."""
        found = self._pairs.get(stem)
        if found is None:
            return _NOTHING, _NOTHING
        pairs = np.frombuffer(found.tobytes(), dtype=np.intc).astype(np.int64).reshape(-1, 2)
        pairs = pairs[: np.searchsorted(pairs[:, 0], known)]
        return pairs[:, 0], pairs[:, 1]


_NOTHING: Whole = np.zeros(0, np.int64)


def score(
    postings: Postings, weights: Mapping[str, float], norms: NDArray[np.float64], passing: Mask
) -> tuple[Whole, NDArray[np.float64]]:
    """The passing places that hold any of the terms, and their scores. Weights include the idf."""
    total = np.zeros(len(passing))
    met = np.zeros(len(passing), bool)
    for stem, weight in weights.items():
        places, frequencies = postings.of(stem, len(passing))
        total[places] += weight * bm25.term_scores(frequencies, norms[places])
        met[places] = True
    found = np.flatnonzero(met & passing)
    return found, total[found]
