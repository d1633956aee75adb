"""The mean of a score over many sessions, with its interval, from counts and sums alone."""

from __future__ import annotations

from collections.abc import Callable

from assay.records.analysis import ScoreSummary
from assay.records.interval import Interval
from assay.records.research_log import Spread
from assay.statistics.intervals import UNIT, cut, unseen_share
from assay.statistics.special import t_quantile

LEVEL = 0.95
_NO_SPREAD = 1e-12
Worth = Callable[[float], float]
"""Tells how many independent sessions so many are worth."""


def summarize(spread: Spread, worth: Worth) -> ScoreSummary | None:
    """Return a mean with its interval and range; None: no session has a score.

    `worth` tells how many independent sessions n are.
    """
    if spread.mean is None or spread.least is None or spread.most is None:
        return None
    return ScoreSummary(_interval(spread, spread.mean, worth(spread.count)), spread.least, spread.most)


def _interval(spread: Spread, mean: float, independent: float) -> Interval:
    """Return the t interval; the exact bound where no spread was seen or hardly two sessions are independent."""
    n = spread.count
    squares = max(0.0, spread.squares - spread.total * mean)
    if independent < 2 or squares <= _NO_SPREAD * n:
        unseen = unseen_share(independent, LEVEL)
        low, high = mean - unseen * mean, mean + unseen * (1.0 - mean)
        return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="no_variance")
    half = t_quantile(0.5 + LEVEL / 2.0, independent - 1) * (squares / (n - 1) / independent) ** 0.5
    low, high = cut(mean - half, mean + half, UNIT)
    return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="t")
