"""Prediction-powered inference: a mean from a few human labels and many judge labels.

The judge's mean over everything is corrected by how far the judge was off where a human looked too (Angelopoulos et al.
2023). The interval is valid however bad the judge is; a good judge makes it shorter. `tuned` chooses how much to listen
to the judge (PPI++, 2024): weight 0 is the plain human mean, 1 the full correction.

All of it holds for labels that are a random sample of the cases. Labels that a person picked, the clear cases or those
that looked wrong, give a mean of the picked cases whatever the interval says; `PpiMean.caution` says so, and warns of
few labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import BadValue
from assay.records.interval import Interval
from assay.statistics.checks import Floats, numbers, open_share, same_length
from assay.statistics.clusters import units_of
from assay.statistics.intervals import Bounds, as_bounds, cut, mean_interval, unseen_share
from assay.statistics.special import t_quantile

FEW_LABELS = 20
"""Fewer labels than this correct a mean only with a warning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PpiMean:
    """A mean that humans and a judge measured together."""

    interval: Interval
    human_only: Interval
    """What the human labels say alone, for comparison."""
    judge_bias: float
    """Judge minus human, where both looked."""
    weight: float
    labels: int
    """How many cases a human labelled."""

    @property
    def caution(self) -> str:
        """What must be read beside the interval."""
        sample = "The interval holds only if the labelled cases are a random sample of all cases."
        if self.labels >= FEW_LABELS:
            return sample
        return f"{self.labels} labels are few: below {FEW_LABELS}, one odd label moves the mean too far. {sample}"


def ppi_mean(
    human: ArrayLike,
    judge_same: ArrayLike,
    judge_rest: ArrayLike,
    *,
    level: float = 0.95,
    tuned: bool = False,
    bounds: Sequence[float] | None = None,
) -> PpiMean:
    """The mean of what humans would have said over all cases.

    Args:
        human: labels of the few cases a human judged.
        judge_same: the judge's labels of the same cases, in the same order.
        judge_rest: the judge's labels of the many other cases.
        level: of the interval.
        tuned: choose the weight that makes the interval shortest, instead of 1.
        bounds: the range of one label; needed for an interval where judge and humans never disagreed.
    """
    y = numbers(human, "human", least=2)
    f, rest = numbers(judge_same, "judge_same"), numbers(judge_rest, "judge_rest", least=2)
    same_length(y, "human", f, "judge_same")
    open_share(level, "level")
    limits = _holding(as_bounds(bounds), y, f, rest)
    weight = tuned_weight(y, f, rest) if tuned else 1.0
    return PpiMean(
        interval=_interval(y - weight * f, weight * rest, level, limits, weight),
        human_only=mean_interval(y, level=level, bounds=bounds),
        judge_bias=float(np.mean(f - y)),
        weight=weight,
        labels=len(y),
    )


def tuned_weight(human: Floats, judge_same: Floats, judge_rest: Floats) -> float:
    """The weight, from 0 to 1, that gives the smallest variance."""
    spread = float(np.var(np.concatenate([judge_same, judge_rest]), ddof=1))
    if spread == 0.0:
        return 0.0
    shared = float(np.cov(human, judge_same, ddof=1)[0, 1])
    return min(1.0, max(0.0, shared / (spread * (1.0 + len(human) / len(judge_rest)))))


def _interval(corrections: Floats, judged: Floats, level: float, bounds: Bounds | None, weight: float) -> Interval:
    n = len(corrections)
    estimate = float(corrections.mean() + judged.mean())
    if not units_of(corrections).vary:
        return _never_disagreed(corrections, judged, level, bounds, weight)
    of_correction, of_judge = corrections.var(ddof=1) / n, judged.var(ddof=1) / len(judged)
    error = of_correction + of_judge
    # Welch and Satterthwaite: few human labels must not be given the normal quantile of the many judge labels.
    df = error**2 / (of_correction**2 / (n - 1) + of_judge**2 / (len(judged) - 1))
    half = t_quantile(0.5 + level / 2.0, df) * math.sqrt(error)
    kept = cut(estimate - half, estimate + half, bounds)
    return Interval(estimate=estimate, low=kept.low, high=kept.high, level=level, n=n + len(judged), method="ppi")


def _never_disagreed(
    corrections: Floats, judged: Floats, level: float, bounds: Bounds | None, weight: float
) -> Interval:
    """No error of the judge was seen; unseen ones are bounded exactly, each part taking half of the risk."""
    n, total = len(corrections), len(corrections) + len(judged)
    offset, estimate = float(corrections[0]), float(corrections.mean() + judged.mean())
    if bounds is None:
        return Interval(estimate=estimate, low=None, high=None, level=level, n=total, method="not_computable")
    half_risk = 1.0 - (1.0 - level) / 2.0
    half = t_quantile(0.5 + half_risk / 2.0, len(judged) - 1) * math.sqrt(judged.var(ddof=1) / len(judged))
    unseen = unseen_share(n, half_risk)
    furthest_low, furthest_high = bounds.low - weight * bounds.high, bounds.high - weight * bounds.low
    low = estimate - half - unseen * (offset - furthest_low)
    high = estimate + half + unseen * (furthest_high - offset)
    kept = cut(low, high, bounds)
    return Interval(estimate=estimate, low=kept.low, high=kept.high, level=level, n=total, method="ppi_no_variance")


def _holding(bounds: Bounds | None, *columns: Floats) -> Bounds | None:
    if bounds is not None:
        low, high = min(c.min() for c in columns), max(c.max() for c in columns)
        if low < bounds.low or high > bounds.high:
            raise BadValue(
                f"labels run from {low:g} to {high:g}, outside the bounds [{bounds.low:g}, {bounds.high:g}]",
                remedy="Give the range of one label.",
            )
    return bounds
