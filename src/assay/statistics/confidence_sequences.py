"""The interval of a running mean that may be looked at after every value.

A t interval of the mean so far is honest at one look that was fixed beforehand. Whoever watches a number and stops
when they like needs an interval that holds at all looks together: a confidence sequence. This one bets (Waudby-Smith
and Ramdas 2024). A candidate mean m is excluded when a gambler who bets that values lie above m, or one who bets that
they lie below, multiplies the stake by 2/alpha; if m is the mean, that ever happens with a chance of at most alpha.

Gamblers stake fixed shares c of what they can lose, so wealth is the mean over c of the product of 1 + c (x - m) / m,
and of 1 + c (m - x) / (1 - m) for the other side. The first falls and the second rises with m, so each end of the
interval is found by bisection. Values must lie within known bounds and come in an order that is random or fixed
without knowing them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.records.evaluations import Interval
from assay.statistics.inputs import Floats, open_share
from assay.statistics.intervals import UNIT, as_bounds, check_within_bounds

SHARES: Floats = np.arange(1, 20, dtype=np.float64) * 0.05
"""The shares c that gamblers stake: 0.05, 0.10, ..., 0.95."""
SHARES.setflags(write=False)
_STEPS = 30
"""Halvings of the range: the ends are exact to a billionth of it."""


def sequence_interval(values: ArrayLike, *, level: float = 0.95, bounds: Sequence[float] = UNIT) -> Interval:
    """The mean of the values so far, with an interval that holds at every look together."""
    limits = as_bounds(bounds)
    array = check_within_bounds(values, bounds)
    risk = 1.0 - open_share(level, "level")
    assert limits is not None  # noqa: S101 - for the type checker: bounds are given
    width = limits.high - limits.low
    scaled = (array - limits.low) / width
    # The other side is the same question about 1 - x.
    low, high = _lower_end(scaled, risk), 1.0 - _lower_end(1.0 - scaled, risk)
    return Interval(
        estimate=float(array.mean()),
        low=limits.low + width * low,
        high=limits.low + width * high,
        level=level,
        n=len(array),
        method="confidence_sequence",
    )


def _lower_end(values: Floats, risk: float) -> float:
    """Return the smallest mean that no bet on higher values excludes."""
    bound = math.log(2.0 / risk)
    low, high = 0.0, float(values.mean())
    if high == 0.0:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if middle > 0.0 and _log_wealth(values, middle) < bound:
            high = middle
        else:
            low = middle
    return low


def _log_wealth(values: Floats, mean: float) -> float:
    """Return the logarithm of the wealth of those who bet that values lie above `mean`."""
    logs = np.log1p(np.outer(SHARES, values / mean - 1.0)).sum(axis=1)
    largest = float(logs.max())
    return largest + math.log(float(np.exp(logs - largest).mean()))
