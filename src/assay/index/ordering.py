"""What an index answers with, and the one order of its answers: score descending, then number ascending.

Scores are rounded where float sums of the same parts may differ, so that equal passages tie wherever they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Whole

Scores = NDArray[np.float64]


class Found(NamedTuple):
    """One passage and its score on the channel's own scale."""

    number: int
    score: float


_found: Callable[[tuple[int, float]], Found] = partial(tuple.__new__, Found)
"""Hundreds are made in a search: without a call in Python for each."""


class Scored(NamedTuple):
    """Passages with their scores, in no order."""

    numbers: Whole
    scores: Scores


def best(parts: Sequence[Scored], limit: int, *, digits: int) -> list[Found]:
    """The best of all parts together."""
    numbers = np.concatenate([part.numbers for part in parts])
    scores = np.round(np.concatenate([part.scores for part in parts]), digits)
    real = np.isfinite(scores)
    numbers, scores = numbers[real], scores[real]
    order = np.lexsort((numbers, -scores))[:limit]
    return list(map(_found, zip(numbers[order].tolist(), scores[order].tolist(), strict=True)))
