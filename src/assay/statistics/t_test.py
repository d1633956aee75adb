"""The paired t test: exact for normal differences, close for any of moderate spread and number.

Differences that never vary have no t statistic: the result then carries None, and p is 1 only if nothing differed.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from assay.statistics.checks import numbers, one_of
from assay.statistics.clusters import Labels, units_of
from assay.statistics.permutation import SIDES, Side
from assay.statistics.special import t_tail


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
