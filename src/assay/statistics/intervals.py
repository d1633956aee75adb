"""Confidence intervals of means, proportions, differences and ratios.

- Student t, Wilson, Clopper-Pearson, and values that never vary.
- Bootstrap over independent units.
- The ratio of two means.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.records.evaluations import Interval, Method
from assay.statistics.inputs import Floats, Labels, Units, numbers, open_share, same_length, units_of, whole
from assay.statistics.resampling import STEP, Sample, draw_places
from assay.statistics.special import beta_quantile, normal_cdf, normal_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

# --- Student t, Wilson, Clopper-Pearson, and values that never vary ---
#
# An interval says how it was made. Where a sample cannot limit one side at all, that side is None: unknown must not
# look like certain. `no_variance` is the rule of three made exact: n equal values leave room for a part of the
# population, at most 1 - (risk/2)^(1/n) of it, that was never seen and may lie anywhere within the bounds.


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
    array = check_within_bounds(values, bounds)
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


def check_within_bounds(values: ArrayLike, bounds: Sequence[float] | None) -> Floats:
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


# --- Bootstrap over independent units ---
#
# Expanded percentile interval (Hesterberg 2015): the percentiles are pushed out by the factor that turns the normal
# quantile into the t quantile and the 1/n variance into the 1/(n-1) one. Plain percentiles come out too short on
# skewed samples of 50, BCa too long on shares near 0 or 1; `bench/calibration.py` measures the coverage of this one.
# Below 50 independent units a bootstrap promises more than it has: then the t interval is given, and its name with it.
# Equal values get the exact bound of `intervals.no_variance`.

RESAMPLES = 10_000
FEWEST_UNITS = 50
"""Below so many pairs (or clusters) no bootstrap interval is given."""
_BLOCK = 1_000_000
"""Draws held in memory at once."""


def bootstrap_mean(
    values: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    clusters: Labels | None = None,
    bounds: Sequence[float] | None = None,
) -> Interval:
    """The mean of per-query values with its interval; whole clusters are drawn where labels are given."""
    array, limits = check_within_bounds(values, bounds), as_bounds(bounds)
    units = units_of(array, clusters)
    open_share(level, "level")
    whole(resamples, "resamples", least=100)
    if units.count < FEWEST_UNITS or not units.vary:
        return t_interval(array, units, level=level, bounds=limits)
    tail = tail_share(units.count, level)
    low, high = np.quantile(resample_means(units, resamples, rng), [tail, 1.0 - tail])
    method: Method = "clustered_bootstrap" if units.clustered else "bootstrap"
    kept = cut(float(low), float(high), limits)
    return Interval(estimate=units.mean, low=kept.low, high=kept.high, level=level, n=len(array), method=method)


def bootstrap_difference(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    clusters: Labels | None = None,
    bounds: Sequence[float] | None = DIFFERENCE,
) -> Interval:
    """The mean of treatment minus control over the same queries; `bounds` are those of one difference."""
    differences = paired_differences(control, treatment)
    return bootstrap_mean(differences, rng=rng, level=level, resamples=resamples, clusters=clusters, bounds=bounds)


def paired_differences(control: ArrayLike, treatment: ArrayLike) -> Floats:
    """Treatment minus control, query by query."""
    before, after = numbers(control, "control"), numbers(treatment, "treatment")
    same_length(before, "control", after, "treatment")
    return after - before


def tail_share(n: int, level: float) -> float:
    """The share to leave out at each end of the resampled means."""
    return normal_cdf(-math.sqrt(n / (n - 1)) * t_quantile(0.5 + level / 2.0, n - 1))


def resample_means(units: Units, resamples: int, rng: np.random.Generator) -> Floats:
    """Means of so many samples drawn with replacement from the units."""
    if units.count > STEP:
        return _large_means(units, resamples, rng)
    return np.concatenate([_means(units, rows, rng) for rows in _blocks(resamples, units.count)])


def _means(units: Units, rows: int, rng: np.random.Generator) -> Floats:
    drawn = rng.integers(0, units.count, size=(rows, units.count))
    sums = units.sums[drawn].sum(axis=1)
    sizes = units.sizes[drawn].sum(axis=1) if units.clustered else float(units.count)
    means: Floats = sums / sizes
    return means


def _large_means(units: Units, resamples: int, rng: np.random.Generator) -> Floats:
    """The same means of samples that are drawn in steps."""
    sums, sizes = Sample(units.sums), Sample(units.sizes) if units.clustered else None
    means: Floats = np.empty(resamples)
    for place in range(resamples):
        for part, drawn in draw_places(units.count, rng):
            sums.pick(part, drawn)
            if sizes is not None:
                sizes.pick(part, drawn)
        means[place] = sums.drawn.sum() / (float(units.count) if sizes is None else sizes.drawn.sum())
    return means


def _blocks(resamples: int, width: int) -> Iterator[int]:
    """How many samples to draw at a time so that memory stays bounded."""
    rows = max(1, _BLOCK // width)
    for done in range(0, resamples, rows):
        yield min(rows, resamples - done)


# --- The ratio of two means ---
#
# The interval is that of the logarithm of the ratio by the delta method, with the t quantile of the smaller sample:
# two independent errors add up, and a ratio is as likely to be doubled as to be halved.

_FEWEST = 2


def ratio_interval(numerator: ArrayLike, denominator: ArrayLike, *, level: float = 0.95) -> Interval:
    """The mean of the first over the mean of the second; both means must be above 0 to have an interval."""
    above, below = numbers(numerator, "numerator"), numbers(denominator, "denominator")
    open_share(level, "level")
    if min(len(above), len(below)) < _FEWEST:
        raise BadValue(
            f"a ratio of means of {len(above)} and {len(below)} values", remedy="Give two values or more on each side."
        )
    tops, bottoms = float(above.mean()), float(below.mean())
    if bottoms <= 0.0:
        raise BadValue(f"the mean of the denominator is {bottoms:g}", remedy="Give values with a mean above 0.")
    estimate, n = tops / bottoms, len(above)
    if tops <= 0.0:
        return Interval(estimate=estimate, low=None, high=None, level=level, n=n, method="not_computable")
    error = math.sqrt(_relative_variance(above, tops) + _relative_variance(below, bottoms))
    reach = math.exp(t_quantile(0.5 + level / 2.0, min(n, len(below)) - 1) * error)
    return Interval(estimate=estimate, low=estimate / reach, high=estimate * reach, level=level, n=n, method="t")


def _relative_variance(values: Floats, mean: float) -> float:
    return float(np.var(values, ddof=1)) / len(values) / mean**2
