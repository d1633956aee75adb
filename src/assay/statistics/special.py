"""The few special functions the tests need, so that nothing but numpy is installed: beta, Student t, normal.

`beta_cdf` is the regularised incomplete beta function by Lentz's continued fraction (Numerical Recipes, 6.4). Student t
follows from it. Quantiles are found by bisection: slower than a rational approximation, and exact to the last digits of
the distribution function they invert. `t_power` integrates the noncentral t over the spread of the sample deviation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

_NORMAL = NormalDist()
_TINY = 1e-300
_MOST_TERMS = 10_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


def normal_cdf(x: float) -> float:
    """The share of a standard normal below x; `erfc` keeps the far tail exact."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(share: float) -> float:
    """The value below which that share of a standard normal lies."""
    return _NORMAL.inv_cdf(share)


def log_beta(a: float, b: float) -> float:
    """The logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The share of Beta(a, b) below x: the regularised incomplete beta function."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b))
    # The fraction converges fast on this side of the mean only; the other side is its mirror.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_quantile(share: float, a: float, b: float) -> float:
    """The value below which that share of Beta(a, b) lies."""
    return bisect(lambda x: beta_cdf(x, a, b) - share, 0.0, 1.0)


def t_cdf(t: float, df: float) -> float:
    """The share of Student's t below a value."""
    if t * t < df:
        # Near the middle df / (df + t^2) rounds to 1; its mirror keeps the digits of t.
        tail = 0.5 - 0.5 * beta_cdf(t * t / (df + t * t), 0.5, df / 2.0)
    else:
        tail = 0.5 * beta_cdf(df / (df + t * t), df / 2.0, 0.5)
    return tail if t < 0.0 else 1.0 - tail


def t_tail(t: float, df: float) -> float:
    """The share of Student's t above a value, exact where `1 - t_cdf` would round to 0."""
    return t_cdf(-t, df)


@lru_cache(maxsize=4_096)
def t_quantile(share: float, df: float) -> float:
    """The value below which that share of Student's t lies. Cached: a page of intervals needs the same few."""
    if share == 0.5:
        return 0.0
    if share < 0.5:
        return -t_quantile(1.0 - share, df)
    high = 2.0
    while t_tail(high, df) > 1.0 - share:
        high *= 2.0
    return bisect(lambda t: (1.0 - share) - t_tail(t, df), 0.0, high)


def t_power(shift: float, df: float, critical: float) -> float:
    """The chance that a noncentral t with this shift lies above a critical value.

    T = (Z + shift) / S with S = sqrt(chi-square(df) / df), so the chance is the mean over S of the normal tail above
    critical * S - shift. Gauss-Legendre over the ten standard deviations of S that hold all of its mass, in three parts
    because that tail falls from 1 to 0 within a few 1/critical of shift/critical.
    """
    spread = 10.0 / math.sqrt(2.0 * df)
    low, high = max(0.0, 1.0 - spread), 1.0 + spread
    turn, width = shift / critical, 9.0 / critical
    ends = [low, *(min(max(end, low), high) for end in (turn - width, turn + width)), high]
    return sum(_tail_mass(shift, df, critical, a, b) for a, b in itertools.pairwise(ends) if b > a)


def _tail_mass(shift: float, df: float, critical: float, low: float, high: float) -> float:
    s = 0.5 * (high - low) * _NODES + 0.5 * (high + low)
    log_scale = math.log(2.0) + 0.5 * df * math.log(0.5 * df) - math.lgamma(0.5 * df)
    density = np.exp(log_scale + (df - 1.0) * np.log(s) - 0.5 * df * s * s)
    tails = np.array([normal_cdf(shift - critical * x) for x in s])
    return float(0.5 * (high - low) * np.sum(_WEIGHTS * density * tails))


def bisect(rising: Callable[[float], float], low: float, high: float, *, steps: int = 200) -> float:
    """Where a rising function crosses 0 between two ends; to the last bit unless fewer steps are given."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
