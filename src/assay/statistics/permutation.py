"""The sign-flip permutation test of a paired difference.

If treatment and control do not differ, each difference could as well have had the other sign. Up to 16 units every
assignment of signs is tried and the p-value is exact; above, signs are drawn and p = (b + 1) / (n + 1), which is never
0 and never too small (Phipson and Smyth 2010). `floor` is the smallest p-value that any outcome could have reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats, numbers, one_of, open_share, whole
from assay.statistics.clusters import Labels, units_of

Side = Literal["two-sided", "greater", "less"]
"""What the alternative says of treatment minus control."""
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
    sums = all_flips(units.sums) if exact else drawn_flips(units.sums, flips, rng)
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
    """The smallest p-value that so many units could give, whatever they say."""
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


def drawn_flips(sums: Floats, flips: int, rng: np.random.Generator) -> Floats:
    """The total under sign assignments drawn at random."""
    rows = max(1, _BLOCK // len(sums))
    return np.concatenate([_draw_totals(sums, min(rows, flips - done), rng) for done in range(0, flips, rows)])


def _draw_totals(sums: Floats, rows: int, rng: np.random.Generator) -> Floats:
    width = -(-len(sums) // 8)
    bits = np.frombuffer(rng.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    kept = np.unpackbits(bits, axis=1, count=len(sums)).astype(np.float64)
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
