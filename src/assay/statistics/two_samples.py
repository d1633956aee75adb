"""Two independent samples: the difference of their means by Welch, its p-value by permutation, its size by Hedges.

Unlike `comparison` nothing is paired: the samples may differ in size and in what was asked. The p-value is exact for
exchangeable samples whatever their shape; the interval is Welch's and is None where a sample cannot say how it varies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats, numbers, open_share, whole
from assay.statistics.effect_size import hedges_factor
from assay.statistics.special import t_quantile

SHUFFLES = 5_000
LEAST = 2
"""Values of one sample that can say how it varies."""
ROUNDING = 1e-18
"""A smaller variance is what rounding leaves of equal values: it would make an interval without width."""
_BLOCK = 2_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanDifference:
    """Treatment minus control."""

    control: float
    treatment: float
    delta: float
    low: float | None
    """Welch's interval; None: a sample has one value, or neither varies."""
    high: float | None
    p: float
    """Two-sided; never 0."""
    hedges_g: float | None
    """In standard deviations, without the bias of small samples; None where nothing varies."""
    sizes: tuple[int, int]


def mean_difference(
    control: ArrayLike, treatment: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, shuffles: int = SHUFFLES
) -> MeanDifference:
    """Compare the means of two samples."""
    first, second = numbers(control, "control"), numbers(treatment, "treatment")
    open_share(level, "level")
    whole(shuffles, "shuffles", least=100)
    delta = float(second.mean() - first.mean())
    half = half_width(_spread(first), _spread(second), level)
    return MeanDifference(
        control=float(first.mean()),
        treatment=float(second.mean()),
        delta=delta,
        low=None if half is None else delta - half,
        high=None if half is None else delta + half,
        p=_p(first, second, shuffles, rng),
        hedges_g=_hedges(first, second, delta),
        sizes=(len(first), len(second)),
    )


def half_width(first: tuple[float, float], second: tuple[float, float], level: float) -> float | None:
    """Half of Welch's interval from the size and variance of each sample; None where these cannot say."""
    (n, v), (m, w) = first, second
    if min(n, m) < LEAST or v + w <= ROUNDING:
        return None
    a, b = v / n, w / m
    df = (a + b) ** 2 / (a * a / (n - 1) + b * b / (m - 1))
    return t_quantile(0.5 + level / 2.0, df) * math.sqrt(a + b)


def _spread(values: Floats) -> tuple[int, float]:
    return len(values), float(values.var(ddof=1)) if len(values) >= LEAST else 0.0


def _p(first: Floats, second: Floats, shuffles: int, rng: np.random.Generator) -> float:
    everything = np.concatenate([first, second])
    seen = abs(second.mean() - everything.mean())
    # Equal sums reached by another order of additions differ in the last bits; they must count as equal.
    slack = 1e-10 * max(1.0, float(np.abs(everything).max()))
    rows = max(1, _BLOCK // len(everything))
    extreme = sum(
        _extreme(everything, len(second), seen - slack, min(rows, shuffles - done), rng)
        for done in range(0, shuffles, rows)
    )
    return (extreme + 1) / (shuffles + 1)


def _extreme(everything: Floats, size: int, seen: float, rows: int, rng: np.random.Generator) -> int:
    drawn = rng.permuted(np.broadcast_to(everything, (rows, len(everything))), axis=1)[:, :size]
    return int(np.count_nonzero(np.abs(drawn.mean(axis=1) - everything.mean()) >= seen))


def _hedges(first: Floats, second: Floats, delta: float) -> float | None:
    df = len(first) + len(second) - 2
    if df < 1:
        return None
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    if squares <= 1e-24 * max(1.0, float(np.abs(first).max()) ** 2):
        return None
    return delta / math.sqrt(squares / df) * hedges_factor(df)
