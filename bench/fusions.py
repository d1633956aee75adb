"""Which fusion is best: every candidate replayed from logged channel lists, and one chosen by nested cross-validation.

A candidate is a method, the weight of `bm25` (`vector` has the rest of 1) and the weight of `fts5`. Methods: convex as
the engine scales scores, convex over scores scaled from least to best of their list, and RRF. Nothing is fitted within
a candidate, so choosing is all that has to be validated: for each collection and each fifth of the questions, one is
chosen on the other fifths of the other collections and measured on what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.memory.searching.fusion import replay
from assay.records import Channel, ChannelCandidates, FusionMethod

WEIGHTS = tuple(tenths / 10 for tenths in range(1, 10))
PRECISE_WEIGHTS = (0.0, 0.05, 0.1, 0.2)
FOLDS = 5
SHOWN = 10

Values = NDArray[np.float64]


class Candidate(NamedTuple):
    """One way to fuse."""

    scaling: str
    """`convex`, `min-max` or `rrf`."""
    bm25: float
    fts5: float

    def __str__(self) -> str:
        return f"{self.scaling} {self.bm25:g} + {self.fts5:g}"

    @property
    def weights(self) -> dict[Channel, float]:
        """By channel, without those that weigh nothing."""
        given = {Channel.VECTOR: 1.0 - self.bm25, Channel.BM25: self.bm25, Channel.FTS5: self.fts5}
        return {channel: weight for channel, weight in given.items() if weight}


SCALINGS = ("convex", "min-max", "rrf")
ALL = [Candidate(how, bm25, fts5) for how in SCALINGS for bm25 in WEIGHTS for fts5 in PRECISE_WEIGHTS]


def ranking(lists: Sequence[ChannelCandidates], candidate: Candidate) -> list[str]:
    """The ids of the memories that a candidate would have shown, each at its best passage."""
    weights = candidate.weights
    used = [one for one in lists if Channel(one.channel) in weights]
    if candidate.scaling == "min-max":
        used = [replace(one, scores=_from_least_to_best(one.scores)) for one in used]
    method = FusionMethod.RRF if candidate.scaling == "rrf" else FusionMethod.CONVEX
    memories: dict[str, None] = {}
    for passage in replay(used, method, weights):
        if passage.fused > 0.0:
            memories.setdefault(passage.number.rsplit("#", 1)[0])
        if len(memories) == SHOWN:
            break
    return list(memories)


def _from_least_to_best(scores: Sequence[float]) -> tuple[float, ...]:
    least, best = min(scores, default=0.0), max(scores, default=0.0)
    return tuple((score - least) / (best - least) if best > least else 1.0 for score in scores)


class Chosen(NamedTuple):
    """What nested cross-validation chose, and how that did on what it had not seen."""

    times: Counter[Candidate]
    means: dict[str, float]
    """By collection."""

    @property
    def macro(self) -> float:
        """Each collection counts alike."""
        return float(np.mean(list(self.means.values())))


def choose(measured: Mapping[str, Values], among: Callable[[Candidate], bool] = lambda _: True) -> Chosen:
    """Nested cross-validation. `measured` has a row for each of `ALL` and a column for each question."""
    rng = np.random.default_rng(1)
    fold_of = {name: rng.permutation(values.shape[1]) % FOLDS for name, values in measured.items()}
    allowed = [place for place, candidate in enumerate(ALL) if among(candidate)]
    times: Counter[Candidate] = Counter()
    kept: dict[str, list[float]] = {name: [] for name in measured}
    for held_out, values in measured.items():
        others = [name for name in measured if name != held_out] or [held_out]
        for fold in range(FOLDS):
            means = np.mean([measured[one][:, fold_of[one] != fold].mean(axis=1) for one in others], axis=0)
            best = max(allowed, key=means.__getitem__)
            times[ALL[best]] += 1
            kept[held_out] += values[best, fold_of[held_out] == fold].tolist()
    return Chosen(times, {name: float(np.mean(found)) for name, found in kept.items()})
