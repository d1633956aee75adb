"""The ratio of two means of independent samples, with its interval.

The interval is that of the logarithm of the ratio by the delta method, with the t quantile of the smaller sample: two
independent errors add up, and a ratio is as likely to be doubled as to be halved.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import BadValue
from assay.records.interval import Interval
from assay.statistics.checks import Floats, numbers, open_share
from assay.statistics.special import t_quantile

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
