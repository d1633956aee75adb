"""Tests of paired differences, their effect sizes, their power, and corrections for many tests.

- Sign-flip permutation test.
- Paired t test.
- Effect sizes and counts of wins and losses.
- Power: the smallest difference that can be detected.
- Adjusted p-values of many tests.
- Metrics that are the same test under several names.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

import numpy as np

from assay.errors import BadValue
from assay.statistics.inputs import (
    Floats,
    Labels,
    finite,
    numbers,
    one_of,
    open_share,
    positive,
    units_of,
    whole,
    within,
)
from assay.statistics.resampling import STEP, unpack_signs
from assay.statistics.special import bisect, normal_quantile, t_power, t_quantile, t_tail

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import ArrayLike, NDArray


# --- Sign-flip permutation test ---
#
# If treatment and control do not differ, each difference could as well have had the other sign. Up to 16 units every
# assignment of signs is tried and the p-value is exact; above, signs are drawn and p = (b + 1) / (n + 1), which is
# never 0 and never too small (Phipson and Smyth 2010). `floor` is the smallest p-value that any outcome could have
# reached.

Side = Literal["two-sided", "greater", "less"]
"""The alternative hypothesis about treatment minus control."""
SIDES: tuple[Side, ...] = get_args(Side)
FLIPS = 10_000
MOST_EXACT = 16
"""Up to so many units all 2^n sign assignments are tried."""
_BLOCK = 2_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PermutationTest:
    """How often chance alone gives a difference like the one seen."""

    p: float
    floor: float
    """No outcome of this many units and flips has a smaller p-value."""
    mean: float
    side: Side
    units: int
    flips: int
    """Sign assignments that were tried."""
    exact: bool


def sign_flip_test(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    side: Side = "two-sided",
    flips: int = FLIPS,
    clusters: Labels | None = None,
) -> PermutationTest:
    """Test that the mean difference is 0; with labels, whole clusters change sign together."""
    array = numbers(differences, "differences")
    one_of(side, "side", SIDES)
    whole(flips, "flips", least=100)
    units = units_of(array, clusters)
    exact = units.count <= MOST_EXACT
    sums = all_flips(units.sums) if exact else draw_flips(units.sums, flips, rng)
    as_extreme = _count_as_extreme(sums, units.sums, side)
    p = as_extreme / len(sums) if exact else (as_extreme + 1) / (flips + 1)
    floor = smallest_p(units.count, side=side, flips=flips)
    return PermutationTest(
        p=max(p, floor),
        floor=floor,
        mean=units.mean,
        side=side,
        units=units.count,
        flips=len(sums),
        exact=exact,
    )


def smallest_p(units: int, *, side: Side = "two-sided", flips: int = FLIPS) -> float:
    """The smallest p-value that this many units can give."""
    by_signs = _tails(side) * 2.0**-units
    return min(1.0, by_signs) if units <= MOST_EXACT else max(by_signs, 1.0 / (flips + 1))


def units_for_p(p: float, *, side: Side = "two-sided") -> int:
    """The fewest units of which some outcome has a p-value this small."""
    open_share(p, "p")
    units = 1
    while _tails(side) * 2.0**-units > p:
        units += 1
    return units


def _tails(side: Side) -> float:
    return 2.0 if side == "two-sided" else 1.0


def all_flips(sums: Floats) -> Floats:
    """The total under each of the 2^n sign assignments."""
    totals = np.zeros(1)
    for value in sums:
        totals = np.concatenate([totals + value, totals - value])
    return totals


def draw_flips(sums: Floats, flips: int, rng: np.random.Generator) -> Floats:
    """The total under sign assignments drawn at random."""
    rows = max(1, _BLOCK // len(sums))
    kept = np.empty((min(rows, flips), len(sums)))
    return np.concatenate([_draw_totals(sums, kept[: min(rows, flips - done)], rng) for done in range(0, flips, rows)])


def _draw_totals(sums: Floats, kept: NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """The totals of as many assignments as `kept` has rows; it is written over."""
    rows, width = len(kept), -(-len(sums) // 8)
    bits = np.frombuffer(rng.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    if len(sums) > STEP:
        for row, signs in zip(kept, bits, strict=True):
            unpack_signs(signs, row)
    else:
        kept[:] = np.unpackbits(bits, axis=1, count=len(sums))
    totals: Floats = 2.0 * (kept @ sums) - sums.sum()
    return totals


def _count_as_extreme(flipped: Floats, sums: Floats, side: Side) -> int:
    seen = sums.sum()
    # Equal totals reached by another order of additions differ in the last bits; they must count as equal.
    slack = 1e-10 * max(float(np.abs(sums).sum()), 1e-300)
    if side == "greater":
        return int(np.count_nonzero(flipped >= seen - slack))
    if side == "less":
        return int(np.count_nonzero(flipped <= seen + slack))
    return int(np.count_nonzero(np.abs(flipped) >= abs(seen) - slack))


# --- Paired t test ---
#
# Differences that never vary have no t statistic: the result then carries None, and p is 1 only if nothing differed.


@dataclass(frozen=True, kw_only=True, slots=True)
class TTest:
    """Whether a mean difference is more than its spread explains."""

    t: float | None
    """None where the differences do not vary."""
    p: float | None
    df: int
    mean: float
    side: Side


def paired_t_test(differences: ArrayLike, *, side: Side = "two-sided", clusters: Labels | None = None) -> TTest:
    """Test that the mean difference is 0; with labels, degrees of freedom are counted in clusters."""
    array = numbers(differences, "differences")
    one_of(side, "side", SIDES)
    units = units_of(array, clusters)
    df = units.count - 1
    if not units.vary:
        nothing_differed = df >= 1 and not array.any()
        return TTest(t=None, p=1.0 if nothing_differed else None, df=df, mean=units.mean, side=side)
    t = units.mean / units.standard_error
    return TTest(t=t, p=_p_of(t, df, side), df=df, mean=units.mean, side=side)


def _p_of(t: float, df: int, side: Side) -> float:
    if side == "greater":
        return t_tail(t, df)
    if side == "less":
        return t_tail(-t, df)
    return min(1.0, 2.0 * t_tail(abs(t), df))


# --- Effect sizes and counts of wins and losses ---

TIE = 1e-9
"""Differences up to this size are ties: rounding of the arithmetic, not a change."""


class Score(NamedTuple):
    """On how many queries the treatment won, tied and lost."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectSize:
    """A mean difference in units of its standard deviation; None where there is no spread to measure with."""

    cohen_dz: float | None
    hedges_gz: float | None
    """Cohen's dz without its small-sample bias."""


def effect_size(differences: ArrayLike) -> EffectSize:
    """Cohen's dz of paired differences and its Hedges correction."""
    array = numbers(differences, "differences")
    if not units_of(array).vary:
        return EffectSize(cohen_dz=None, hedges_gz=None)
    dz = float(array.mean() / array.std(ddof=1))
    return EffectSize(cohen_dz=dz, hedges_gz=dz * hedges_factor(len(array) - 1))


def hedges_factor(df: int) -> float:
    """Hedges' exact correction; about 1 - 3 / (4 df - 1). With one degree of freedom no unbiased value exists: 0."""
    if df < 2:
        return 0.0
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def wins_ties_losses(differences: ArrayLike, *, tie: float = TIE) -> Score:
    """Count the queries on each side."""
    array: Floats = numbers(differences, "differences", least=0)
    wins, losses = int(np.count_nonzero(array > tie)), int(np.count_nonzero(array < -tie))
    return Score(wins, len(array) - wins - losses, losses)


# --- Power: the smallest difference that can be detected ---
#
# The exact answer is the power of the paired t test, through the noncentral t; the normal approximation forgets that
# sigma is estimated too. For a difference of 0.05 at sigma 0.15, alpha 0.05, power 0.8: 73 queries exact, 71 normal.

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
    return t_quantile(1.0 - open_share(alpha, "alpha") / _count_tails(side), whole(n, "n", least=2) - 1)


def _power_of(ratio: float, n: int, critical: float, side: Side) -> float:
    """Power for a difference in units of sigma."""
    shift = ratio * math.sqrt(n)
    upper = t_power(shift, n - 1, critical)
    return upper + t_power(-shift, n - 1, critical) if side == "two-sided" else upper


def _normal_distance(alpha: float, power: float, side: Side) -> float:
    z_alpha = normal_quantile(1.0 - open_share(alpha, "alpha") / _count_tails(side))
    return max(z_alpha + normal_quantile(open_share(power, "power")), 1e-9)


def _count_tails(side: Side) -> float:
    one_of(side, "side", ("two-sided", "greater"))
    return 2.0 if side == "two-sided" else 1.0


# --- Adjusted p-values of many tests ---
#
# Holm keeps the chance of any false alarm below alpha, whatever the tests share; gates use it. Benjamini-Hochberg
# keeps the expected share of false alarms among the alarms, for independent or positively dependent tests; searches
# use it.


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    p = within(p_values, "p_values", 0.0, 1.0, least=0)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_order(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini-Hochberg adjusted p-values: the i-th smallest of m times m / i, never rising backwards."""
    p = within(p_values, "p_values", 0.0, 1.0, least=0)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    return _in_order(stepped, order)


def _in_order(stepped: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    adjusted = np.empty(len(stepped))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


# --- Metrics that are the same test under several names ---
#
# With one gold document a query, `precision@5` is `recall@5` divided by 5, and `mrr` is `mrr@10` whenever nothing
# stands below place 10. Such metrics are the same hypothesis: counted several times, they would make Holm's correction
# stricter without anything more being asked. Two metrics are one test when, over the same queries, the values of one
# are an increasing linear function of the other's on both sides (a decreasing one where less is better). Where it is
# not said which queries they are over, metrics are never taken for one.

_DIGITS = 9
"""Decimals in which standardised values must agree; computing a value two ways loses no more."""


class PairedValues(Protocol):
    """What is looked at of the pairs of one metric."""

    @property
    def control(self) -> ArrayLike: ...  # noqa: D102 - as in Pairs
    @property
    def treatment(self) -> ArrayLike: ...  # noqa: D102 - as in Pairs
    @property
    def higher_is_better(self) -> bool: ...  # noqa: D102 - as in Pairs
    @property
    def over(self) -> Hashable: ...  # noqa: D102 - as in Pairs


def first_of_each_test(metrics: Mapping[str, PairedValues]) -> dict[str, str]:
    """Each metric with the first metric that is the same test; one that is no other's has its own name."""
    firsts: dict[Hashable, str] = {}
    return {
        name: name if pairs.over is None else firsts.setdefault(_standardise(pairs), name)
        for name, pairs in metrics.items()
    }


def _standardise(pairs: PairedValues) -> Hashable:
    """Which queries, and a hash of the values, moved and scaled so that linear functions of each other are equal."""
    values: Floats = np.concatenate([np.asarray(pairs.control, dtype=float), np.asarray(pairs.treatment, dtype=float)])
    if not len(values):
        return pairs.over, b""
    oriented = values if pairs.higher_is_better else -values
    moved = oriented - oriented.min()
    spread = float(moved.max())
    scaled = moved / spread if spread > 0 else moved
    # Adding 0.0 turns -0.0 into 0.0: their bytes differ.
    return pairs.over, hashlib.sha256((np.round(scaled, _DIGITS) + 0.0).data).digest()
