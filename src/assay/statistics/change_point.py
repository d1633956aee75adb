"""Whether and where the mean of a series moved: the split that parts it best, held against shuffles of the same values.

The statistic is the largest standardised difference between the means before and after any split (the CUSUM of a
series with one change). Its chance under no change comes from permutations, so nothing is assumed of the values'
distribution. They are taken to be exchangeable when nothing changes: a daily rhythm has to be averaged away before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics import checks
from assay.statistics.checks import Floats

LEAST = 10
"""Fewer values cannot show a change."""
EDGE = 5
"""Values on each side of a split, at least."""
PERMUTATIONS = 2_000


class ChangePoint(NamedTuple):
    """The best split of a series."""

    at: int
    """The first value of what comes after."""
    before: float
    after: float
    p_value: float

    @property
    def difference(self) -> float:
        """How far the mean moved."""
        return self.after - self.before


def change_point(
    values: ArrayLike, *, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> ChangePoint | None:
    """The split that parts a series best; None when there are too few values, or all are the same."""
    series = checks.numbers(values, "values", least=0)
    if series.size < LEAST or np.ptp(series) == 0.0:
        return None
    spread = _spread(series[np.newaxis, :])[0]
    at = int(np.argmax(spread)) + EDGE
    shuffled = rng.permuted(np.tile(series, (permutations, 1)), axis=1)
    reached = int(np.sum(_spread(shuffled).max(axis=1) >= spread.max() - 1e-12))
    return ChangePoint(
        at=at,
        before=float(series[:at].mean()),
        after=float(series[at:].mean()),
        p_value=(reached + 1) / (permutations + 1),
    )


def _spread(rows: Floats) -> Floats:
    """For each row and each split, the squared difference of the means by what it would be by chance."""
    n = rows.shape[1]
    before = np.arange(EDGE, n - EDGE + 1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1)[:, before - 1]
    spread: Floats = sums**2 * n / (before * (n - before))
    return spread
