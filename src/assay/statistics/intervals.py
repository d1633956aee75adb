"""Intervals: of a mean by Student t, of a proportion by Wilson and Clopper-Pearson, and of values that never vary.

An interval says how it was made. Where a sample cannot limit one side at all, that side is None: unknown must not look
like certain. `no_variance` is the rule of three made exact: n equal values leave room for a part of the population,
at most 1 - (risk/2)^(1/n) of it, that was never seen and may lie anywhere within the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from assay.errors import BadValue
from assay.records.interval import Interval, Method
from assay.statistics.checks import Floats, numbers, open_share, whole
from assay.statistics.clusters import Labels, Units, units_of
from assay.statistics.special import beta_quantile, normal_quantile, t_quantile


class Bounds(NamedTuple):
    """The range a single value can take."""

    low: float
    high: float


UNIT = Bounds(0.0, 1.0)
"""The range of most metrics."""
DIFFERENCE = Bounds(-1.0, 1.0)
"""The range of a difference of two of them."""


def mean_interval(
    values: ArrayLike, *, level: float = 0.95, clusters: Labels | None = None, bounds: Sequence[float] | None = None
) -> Interval:
    """The mean with its t interval, cut at the bounds; equal values get the exact bound instead of a point."""
    array = bounded_values(values, bounds)
    return t_interval(array, units_of(array, clusters), level=open_share(level, "level"), bounds=as_bounds(bounds))


def t_interval(values: Floats, units: Units, *, level: float, bounds: Bounds | None) -> Interval:
    """The t interval over independent units, for values that have been checked."""
    if not units.vary:
        return no_variance(values, units, level=level, bounds=bounds)
    half = t_quantile(0.5 + level / 2.0, units.count - 1) * units.standard_error
    low, high = cut(units.mean - half, units.mean + half, bounds)
    method: Method = "clustered_t" if units.clustered else "t"
    return Interval(estimate=units.mean, low=low, high=high, level=level, n=len(values), method=method)


def no_variance(values: Floats, units: Units, *, level: float, bounds: Bounds | None) -> Interval:
    """The exact interval when no spread was seen; without bounds there is none."""
    n, mean = len(values), units.mean
    if bounds is None:
        return Interval(estimate=mean, low=None, high=None, level=level, n=n, method="not_computable")
    unseen = unseen_share(units.count, level)
    low, high = mean - unseen * (mean - bounds.low), mean + unseen * (bounds.high - mean)
    return Interval(estimate=mean, low=low, high=high, level=level, n=n, method="no_variance")


def unseen_share(n: float, level: float) -> float:
    """The largest part of a population that n draws may all have missed, one side of a two-sided level."""
    return 1.0 - math.pow((1.0 - level) / 2.0, 1.0 / n)


def wilson(successes: int, n: int, *, level: float = 0.95, independent: float | None = None) -> Interval:
    """Wilson's score interval of a proportion: short, close to its level on average (Wilson 1927).

    `independent` is how many independent draws the n are worth, where some of them belong together.
    """
    _check_counts(successes, n)
    z = normal_quantile(0.5 + open_share(level, "level") / 2.0)
    share, draws = successes / n, float(n) if independent is None else min(independent, n)
    centre = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    half = z / (1 + z * z / draws) * math.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws))
    # At 0 and n the algebra gives exactly 0 and 1; rounding does not.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(estimate=share, low=low, high=high, level=level, n=n, method="wilson")


def clopper_pearson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """The exact interval of a proportion: never below its level (Clopper and Pearson 1934)."""
    _check_counts(successes, n)
    risk = (1.0 - open_share(level, "level")) / 2.0
    low = 0.0 if successes == 0 else beta_quantile(risk, successes, n - successes + 1)
    high = 1.0 if successes == n else beta_quantile(1.0 - risk, successes + 1, n - successes)
    return Interval(estimate=successes / n, low=low, high=high, level=level, n=n, method="clopper_pearson")


def bounded_values(values: ArrayLike, bounds: Sequence[float] | None) -> Floats:
    """Values that lie within the bounds they claim."""
    array = numbers(values, "values")
    limits = as_bounds(bounds)
    if limits is not None and (array.min() < limits.low or array.max() > limits.high):
        worst = array.min() if array.min() < limits.low else array.max()
        raise BadValue(
            f"values hold {worst:g}, outside the bounds [{limits.low:g}, {limits.high:g}]",
            remedy="Give the bounds of a single value, or none where there are none.",
        )
    return array


def as_bounds(bounds: Sequence[float] | None) -> Bounds | None:
    """Two finite ends in order, or none."""
    if bounds is None:
        return None
    low, high = numbers(bounds, "bounds", least=2)[:2]
    if len(bounds) != 2 or low >= high:
        raise BadValue(f"bounds are {tuple(bounds)!r}", remedy="Give two numbers, the lower first, such as (0, 1).")
    return Bounds(float(low), float(high))


def cut(low: float, high: float, bounds: Bounds | None) -> Bounds:
    """An interval without the part that no value can reach."""
    return Bounds(low, high) if bounds is None else Bounds(max(low, bounds.low), min(high, bounds.high))


def _check_counts(successes: int, n: int) -> None:
    whole(n, "n", least=1)
    if whole(successes, "successes", least=0) > n:
        raise BadValue(f"successes are {successes} of {n}", remedy="Give at most n successes.")
