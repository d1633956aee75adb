"""Tests of independent samples: two groups, one group against the rest, and a series that changed.

- Two samples: Welch's interval, permutation p-value, Hedges' g.
- Whether a group has a lower mean than chance would give it.
- Where the mean of a series changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.statistics import inputs
from assay.statistics.inputs import Floats, numbers, open_share, same_length, whole
from assay.statistics.paired_tests import hedges_factor
from assay.statistics.special import t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# --- Two samples: Welch's interval, permutation p-value, Hedges' g ---
#
# Unlike `comparison` nothing is paired: the samples may differ in size and in what was asked. The p-value is exact for
# exchangeable samples whatever their shape; the interval is Welch's and is None where a sample cannot say how it
# varies.

SHUFFLES = 5_000
LEAST_FOR_VARIANCE = 2
"""Values of one sample that can say how it varies."""
ROUNDING = 1e-18
"""A smaller variance is what rounding leaves of equal values: it would make an interval without width."""
_SHUFFLE_BLOCK = 2_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanDifference:
    """Treatment minus control."""

    control: float
    treatment: float
    delta: float
    low: float | None
    """Welch's interval; None: a sample has one value, or neither varies."""
    high: float | None
    p: float
    """Two-sided; never 0."""
    hedges_g: float | None
    """In standard deviations, without the bias of small samples; None where nothing varies."""
    sizes: tuple[int, int]


def mean_difference(
    control: ArrayLike, treatment: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, shuffles: int = SHUFFLES
) -> MeanDifference:
    """Compare the means of two samples."""
    first, second = numbers(control, "control"), numbers(treatment, "treatment")
    open_share(level, "level")
    whole(shuffles, "shuffles", least=100)
    delta = float(second.mean() - first.mean())
    half = half_width(_count_and_variance(first), _count_and_variance(second), level)
    return MeanDifference(
        control=float(first.mean()),
        treatment=float(second.mean()),
        delta=delta,
        low=None if half is None else delta - half,
        high=None if half is None else delta + half,
        p=_p(first, second, shuffles, rng),
        hedges_g=_hedges(first, second, delta),
        sizes=(len(first), len(second)),
    )


def half_width(first: tuple[float, float], second: tuple[float, float], level: float) -> float | None:
    """Half of Welch's interval from the size and variance of each sample; None where these cannot say."""
    (n, v), (m, w) = first, second
    if min(n, m) < LEAST_FOR_VARIANCE or v + w <= ROUNDING:
        return None
    a, b = v / n, w / m
    df = (a + b) ** 2 / (a * a / (n - 1) + b * b / (m - 1))
    return t_quantile(0.5 + level / 2.0, df) * math.sqrt(a + b)


def _count_and_variance(values: Floats) -> tuple[int, float]:
    return len(values), float(values.var(ddof=1)) if len(values) >= LEAST_FOR_VARIANCE else 0.0


def _p(first: Floats, second: Floats, shuffles: int, rng: np.random.Generator) -> float:
    everything = np.concatenate([first, second])
    seen = abs(second.mean() - everything.mean())
    # Equal sums reached by another order of additions differ in the last bits; they must count as equal.
    slack = 1e-10 * max(1.0, float(np.abs(everything).max()))
    rows = max(1, _SHUFFLE_BLOCK // len(everything))
    extreme = sum(
        _extreme(everything, len(second), seen - slack, min(rows, shuffles - done), rng)
        for done in range(0, shuffles, rows)
    )
    return (extreme + 1) / (shuffles + 1)


def _extreme(everything: Floats, size: int, seen: float, rows: int, rng: np.random.Generator) -> int:
    drawn = rng.permuted(np.broadcast_to(everything, (rows, len(everything))), axis=1)[:, :size]
    return int(np.count_nonzero(np.abs(drawn.mean(axis=1) - everything.mean()) >= seen))


def _hedges(first: Floats, second: Floats, delta: float) -> float | None:
    df = len(first) + len(second) - 2
    if df < 1:
        return None
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    if squares <= 1e-24 * max(1.0, float(np.abs(first).max()) ** 2):
        return None
    return delta / math.sqrt(squares / df) * hedges_factor(df)


# --- Whether a group has a lower mean than chance would give it ---
#
# If belonging to the group had nothing to do with the values, the group would be a draw without replacement from all
# of them. The moment generating function of its sum is then at most that of a draw with replacement (Hoeffding 1963,
# theorem 4), so Chernoff's bound holds for every tilt t > 0: p <= exp(-n (t d - K(t))), where d is how far the group's
# mean lies below the mean of all and K(t) is the logarithm of the mean of exp(t (mean - value)). Nothing is assumed of
# the values: ties, few levels and long tails are all in K. The best tilt is looked for on a grid, and since any tilt
# is valid, so is the best of them. Many groups share one K, so thousands cost hardly more than one. The bound is about
# ten times the p-value, and more for groups of nearly half of all; `drawn_p` draws groups instead and comes as close
# as the number of draws allows.

STEP = 1.1
"""Between two tilts; the best of the grid gives away less than 1 % of the exponent."""
WEAKEST, STRONGEST = 0.01, 2_000.0
"""Tilts in units of one over the range of the values."""
_MOST_EXPONENT = 700.0
"""Beyond it the exponential would round to 0, which no p-value is."""
_DRAW_BLOCK = 4_000_000


class LowerMean:
    """All values, prepared for tests of groups among them."""

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
        rows = max(1, _DRAW_BLOCK // len(self._values))
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
        rows = max(1, _DRAW_BLOCK // len(deviations))
        blocks = [self._tilts[start : start + rows] for start in range(0, len(self._tilts), rows)]
        return np.concatenate([_log_mean_exp(np.outer(block, deviations)) for block in blocks])


def _log_mean_exp(rows: NDArray[np.float64]) -> Floats:
    largest = rows.max(axis=1)
    found: Floats = largest + np.log(np.exp(rows - largest[:, None]).mean(axis=1))
    return found


# --- Where the mean of a series changed ---
#
# The statistic is the largest standardised difference between the means before and after any split (the CUSUM of a
# series with one change). Its chance under no change comes from permutations, so nothing is assumed of the values'
# distribution. They are taken to be exchangeable when nothing changes: a daily rhythm has to be averaged away before.

LEAST_FOR_CHANGE = 10
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
    series = inputs.numbers(values, "values", least=0)
    if series.size < LEAST_FOR_CHANGE or np.ptp(series) == 0.0:
        return None
    spread = _split_spread(series[np.newaxis, :])[0]
    at = int(np.argmax(spread)) + EDGE
    shuffled = rng.permuted(np.tile(series, (permutations, 1)), axis=1)
    reached = int(np.sum(_split_spread(shuffled).max(axis=1) >= spread.max() - 1e-12))
    return ChangePoint(
        at=at,
        before=float(series[:at].mean()),
        after=float(series[at:].mean()),
        p_value=(reached + 1) / (permutations + 1),
    )


def _split_spread(rows: Floats) -> Floats:
    """For each row and each split, the squared difference of the means by what it would be by chance."""
    n = rows.shape[1]
    before = np.arange(EDGE, n - EDGE + 1)
    centred = rows - rows.mean(axis=1, keepdims=True)
    sums = np.cumsum(centred, axis=1)[:, before - 1]
    spread: Floats = sums**2 * n / (before * (n - before))
    return spread
