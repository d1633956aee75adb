"""Whether a group has a lower mean than chance would give it: the permutation test, bounded and drawn.

If belonging to the group had nothing to do with the values, the group would be a draw without replacement from all of
them. The moment generating function of its sum is then at most that of a draw with replacement (Hoeffding 1963,
theorem 4), so Chernoff's bound holds for every tilt t > 0: p <= exp(-n (t d - K(t))), where d is how far the group's
mean lies below the mean of all and K(t) is the logarithm of the mean of exp(t (mean - value)). Nothing is assumed of
the values: ties, few levels and long tails are all in K. The best tilt is looked for on a grid, and since any tilt is
valid, so is the best of them. Many groups share one K, so thousands cost hardly more than one. The bound is about ten
times the p-value, and more for groups of nearly half of all; `drawn_p` draws groups instead and comes as close as the
number of draws allows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue
from assay.statistics.checks import Floats, numbers, same_length, whole

STEP = 1.1
"""Between two tilts; the best of the grid gives away less than 1 % of the exponent."""
WEAKEST, STRONGEST = 0.01, 2_000.0
"""Tilts in units of one over the range of the values."""
_MOST_EXPONENT = 700.0
"""Beyond it the exponential would round to 0, which no p-value is."""
_BLOCK = 4_000_000


class LowerMean:
    """All values, ready to be asked about groups of them."""

    def __init__(self, values: ArrayLike) -> None:
        self._values = numbers(values, "values")
        self._mean = float(self._values.mean())
        self._range = float(np.ptp(self._values))

    def bound(self, sizes: ArrayLike, means: ArrayLike) -> Floats:
        """For each group at most how likely chance gives it a mean as low as it has; 1 where it is not lower at all."""
        n, mean = numbers(sizes, "sizes", least=0), numbers(means, "means", least=0)
        same_length(n, "sizes", mean, "means")
        everything = len(self._values)
        if n.size and (n.min() < 1 or n.max() > everything):
            raise BadValue(f"sizes are not from 1 to {everything}", remedy="Give groups of the values themselves.")
        if self._range == 0.0 or not n.size:
            return np.ones(len(n))
        below = self._mean - mean
        # The rest of a large group is the smaller draw; that the rest lies higher says the same.
        large = 2 * n > everything
        rest = np.maximum(everything - n, 1.0)
        exponents = np.where(
            large, rest * self._best(below * n / rest, self._above), n * self._best(below, self._below)
        )
        unlike = (below > 0.0) & (n < everything)
        return np.where(unlike, np.exp(-np.clip(exponents, 0.0, _MOST_EXPONENT)), 1.0)

    def drawn_p(self, size: int, mean: float, *, draws: int, rng: np.random.Generator) -> float:
        """How likely chance gives a group of this size a mean as low, from so many drawn groups: (b + 1) / (n + 1)."""
        everything = len(self._values)
        if not 1 <= whole(size, "size", least=1) < everything:
            raise BadValue(f"size is {size}", remedy=f"Give a group of less than all {everything} values.")
        whole(draws, "draws", least=1)
        # The smaller side is drawn: the rest of a group lies as far above the mean of all, in sum, as the group below.
        shortfall = size * (self._mean - mean)
        # Equal sums reached by another order of additions differ in the last bits; they must count as equal.
        least = shortfall - 1e-9 * max(1.0, self._range)
        if 2 * size <= everything:
            sums = -self._draw_sums(size, draws, rng)
        else:
            sums = self._draw_sums(everything - size, draws, rng)
        return (int(np.count_nonzero(sums >= least)) + 1) / (draws + 1)

    def _draw_sums(self, size: int, draws: int, rng: np.random.Generator) -> Floats:
        """Sums of deviations; one shuffle gives as many groups as fit into the values side by side."""
        fit = len(self._values) // size
        shuffles = -(-draws // fit)
        rows = max(1, _BLOCK // len(self._values))
        deviations = self._values - self._mean
        blocks = []
        for done in range(0, shuffles, rows):
            tiled = np.tile(deviations, (min(rows, shuffles - done), 1))
            rng.permuted(tiled, axis=1, out=tiled)
            blocks.append(tiled[:, : fit * size].reshape(-1, size).sum(axis=1))
        return np.concatenate(blocks)[:draws]

    def _best(self, distance: Floats, cumulants: Floats) -> Floats:
        """The largest exponent of one draw that any tilt of the grid gives."""
        best = np.zeros(len(distance))
        for tilt, cumulant in zip(self._tilts, cumulants, strict=True):
            np.maximum(best, tilt * distance - cumulant, out=best)
        return best

    @cached_property
    def _tilts(self) -> Floats:
        steps = int(np.log(STRONGEST / WEAKEST) / np.log(STEP)) + 1
        return np.asarray(WEAKEST * STEP ** np.arange(steps) / self._range, dtype=np.float64)

    @cached_property
    def _below(self) -> Floats:
        return self._cumulants(self._mean - self._values)

    @cached_property
    def _above(self) -> Floats:
        return self._cumulants(self._values - self._mean)

    def _cumulants(self, deviations: Floats) -> Floats:
        """The logarithm of mean exp(t x) at each tilt, a block of tilts at a time."""
        rows = max(1, _BLOCK // len(deviations))
        blocks = [self._tilts[start : start + rows] for start in range(0, len(self._tilts), rows)]
        return np.concatenate([_log_mean_exp(np.outer(block, deviations)) for block in blocks])


def _log_mean_exp(rows: NDArray[np.float64]) -> Floats:
    largest = rows.max(axis=1)
    found: Floats = largest + np.log(np.exp(rows - largest[:, None]).mean(axis=1))
    return found
