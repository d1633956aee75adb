"""Bootstrap intervals of a mean and of a paired mean difference, resampling independent units.

Expanded percentile interval (Hesterberg 2015): the percentiles are pushed out by the factor that turns the normal
quantile into the t quantile and the 1/n variance into the 1/(n-1) one. Plain percentiles come out too short on skewed
samples of 50, BCa too long on shares near 0 or 1; `bench/calibration.py` measures the coverage of this one. Below 50
independent units a bootstrap promises more than it has: then the t interval is given, and its name with it. Equal
values get the exact bound of `intervals.no_variance`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.records.interval import Interval, Method
from assay.statistics.checks import Floats, numbers, open_share, same_length, whole
from assay.statistics.clusters import Labels, Units, units_of
from assay.statistics.intervals import (
    DIFFERENCE,
    as_bounds,
    bounded_values,
    cut,
    t_interval,
)
from assay.statistics.special import normal_cdf, t_quantile

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
    array, limits = bounded_values(values, bounds), as_bounds(bounds)
    units = units_of(array, clusters)
    open_share(level, "level")
    whole(resamples, "resamples", least=100)
    if units.count < FEWEST_UNITS or not units.vary:
        return t_interval(array, units, level=level, bounds=limits)
    tail = expanded_tail(units.count, level)
    low, high = np.quantile(resampled_means(units, resamples, rng), [tail, 1.0 - tail])
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


def expanded_tail(n: int, level: float) -> float:
    """The share to leave out at each end of the resampled means."""
    return normal_cdf(-math.sqrt(n / (n - 1)) * t_quantile(0.5 + level / 2.0, n - 1))


def resampled_means(units: Units, resamples: int, rng: np.random.Generator) -> Floats:
    """Means of so many samples drawn with replacement from the units."""
    return np.concatenate([_means(units, rows, rng) for rows in _blocks(resamples, units.count)])


def _means(units: Units, rows: int, rng: np.random.Generator) -> Floats:
    drawn = rng.integers(0, units.count, size=(rows, units.count))
    sums = units.sums[drawn].sum(axis=1)
    sizes = units.sizes[drawn].sum(axis=1) if units.clustered else float(units.count)
    means: Floats = sums / sizes
    return means


def _blocks(resamples: int, width: int) -> Iterator[int]:
    """How many samples to draw at a time so that memory stays bounded."""
    rows = max(1, _BLOCK // width)
    for done in range(0, resamples, rows):
        yield min(rows, resamples - done)
