"""How small a difference a set of queries can see, and how many queries a difference needs.

The exact answer is the power of the paired t test, through the noncentral t; the normal approximation forgets that
sigma is estimated too. For a difference of 0.05 at sigma 0.15, alpha 0.05, power 0.8: 73 queries exact, 71 normal.
"""

from __future__ import annotations

import math

from assay.errors import BadValue
from assay.statistics.checks import finite, one_of, open_share, positive, whole
from assay.statistics.permutation import Side
from assay.statistics.special import bisect, normal_quantile, t_power, t_quantile

ALPHA = 0.05
POWER = 0.80
MOST_QUERIES = 10_000_000
"""A difference that needs more is refused: no dataset will show it."""


def paired_t_power(n: int, effect: float, sigma: float, *, alpha: float = ALPHA, side: Side = "two-sided") -> float:
    """The chance that n pairs show a true mean difference of this size as significant."""
    critical = _critical(n, alpha, side)
    return _power_of(abs(finite(effect, "effect")) / positive(sigma, "sigma"), n, critical, side)


def required_pairs(
    effect: float, sigma: float, *, alpha: float = ALPHA, power: float = POWER, side: Side = "two-sided"
) -> int:
    """The fewest pairs with which the paired t test sees this difference with this power."""
    open_share(power, "power")
    low = 1
    high = max(2, required_pairs_normal(effect, sigma, alpha=alpha, power=power, side=side))
    while paired_t_power(high, effect, sigma, alpha=alpha, side=side) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = paired_t_power(middle, effect, sigma, alpha=alpha, side=side) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def required_pairs_normal(
    effect: float, sigma: float, *, alpha: float = ALPHA, power: float = POWER, side: Side = "two-sided"
) -> int:
    """The same by the normal approximation, ((z_alpha + z_power) sigma / effect)^2 rounded up."""
    if finite(effect, "effect") == 0.0:
        raise BadValue("effect is 0", remedy="Give the smallest difference that would matter, such as 0.05.")
    ratio = _normal_distance(alpha, power, side) * positive(sigma, "sigma") / abs(effect)
    if ratio * ratio > MOST_QUERIES:
        raise BadValue(
            f"effect {effect:g} at sigma {sigma:g} needs more than {MOST_QUERIES:,} queries",
            remedy="Ask for a larger effect.",
        )
    return max(1, math.ceil(ratio * ratio))


def minimum_detectable_effect(
    n: int, sigma: float, *, alpha: float = ALPHA, power: float = POWER, side: Side = "two-sided"
) -> float:
    """The smallest true mean difference that n pairs show with this power, by the exact paired t."""
    critical = _critical(n, alpha, side)
    positive(sigma, "sigma")
    high = _normal_distance(alpha, power, side) / math.sqrt(n)
    while _power_of(high, n, critical, side) < power:
        high *= 2.0
    return sigma * bisect(lambda ratio: _power_of(ratio, n, critical, side) - power, 0.0, high, steps=36)


def _critical(n: int, alpha: float, side: Side) -> float:
    return t_quantile(1.0 - open_share(alpha, "alpha") / _tails(side), whole(n, "n", least=2) - 1)


def _power_of(ratio: float, n: int, critical: float, side: Side) -> float:
    """Power for a difference in units of sigma."""
    shift = ratio * math.sqrt(n)
    upper = t_power(shift, n - 1, critical)
    return upper + t_power(-shift, n - 1, critical) if side == "two-sided" else upper


def _normal_distance(alpha: float, power: float, side: Side) -> float:
    z_alpha = normal_quantile(1.0 - open_share(alpha, "alpha") / _tails(side))
    return max(z_alpha + normal_quantile(open_share(power, "power")), 1e-9)


def _tails(side: Side) -> float:
    one_of(side, "side", ("two-sided", "greater"))
    return 2.0 if side == "two-sided" else 1.0
