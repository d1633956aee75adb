"""How far a judge can be trusted: calibration of its confidence, and means corrected by human labels.

- Calibration error, Brier score, temperature scaling.
- Prediction-powered inference: a mean from few human and many judge labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.records.evaluations import Interval
from assay.statistics.inputs import Floats, Ints, binary, numbers, open_share, same_length, units_of, whole, within
from assay.statistics.intervals import Bounds, as_bounds, cut, mean_interval, unseen_share
from assay.statistics.special import t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

# --- Calibration error, Brier score, temperature scaling ---
#
# Bins are of equal width over [0, 1]; the last one includes 1. The Brier score splits (Murphy 1973) into reliability
# minus resolution plus uncertainty, and a part within bins that is 0 when all forecasts of a bin are equal (Stephenson
# 2008).

BINS = 10
COLDEST, HOTTEST = 0.01, 100.0
"""Temperatures searched: beyond them every softmax is a step or flat."""
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Bin(NamedTuple):
    """The forecasts of one bin; empty bins do not appear."""

    n: int
    confidence: float
    """Mean forecast."""
    accuracy: float
    """Share that came true."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationError:
    """How far confidence lies from accuracy."""

    ece: float
    """Mean gap over cases."""
    mce: float
    """Largest gap of a bin."""
    bins: tuple[Bin, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BrierScore:
    """score = reliability - resolution + uncertainty + within_bin."""

    score: float
    reliability: float
    """Lower is better: 0 when each bin's confidence is its accuracy."""
    resolution: float
    """Higher is better: how far bins differ from the base rate."""
    uncertainty: float
    within_bin: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Temperature:
    """What to divide logits by."""

    value: float
    loss: float
    """Mean negative log likelihood after scaling."""
    loss_before: float
    at_limit: bool
    """The best temperature is an end of the searched range: labels are separable, or the logits say nothing."""


def calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> CalibrationError:
    """Expected and maximum calibration error of forecasts in [0, 1] against what came true (0 or 1)."""
    forecast, truth, codes = _assign_bins(confidence, correct, bins)
    found = tuple(_bin(forecast[codes == code], truth[codes == code]) for code in np.unique(codes))
    gaps = [abs(group.confidence - group.accuracy) for group in found]
    ece = math.fsum(group.n * gap for group, gap in zip(found, gaps, strict=True)) / len(forecast)
    return CalibrationError(ece=ece, mce=max(gaps), bins=found)


def brier_score(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> BrierScore:
    """The mean squared error of forecasts, and what it is made of."""
    forecast, truth, codes = _assign_bins(confidence, correct, bins)
    base, n = float(truth.mean()), len(truth)
    groups = [_bin(forecast[codes == code], truth[codes == code]) for code in np.unique(codes)]
    score = float(np.mean((forecast - truth) ** 2))
    reliability = math.fsum(g.n * (g.confidence - g.accuracy) ** 2 for g in groups) / n
    resolution = math.fsum(g.n * (g.accuracy - base) ** 2 for g in groups) / n
    uncertainty = base * (1.0 - base)
    return BrierScore(
        score=score,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        within_bin=score - (reliability - resolution + uncertainty),
    )


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature with the smallest loss (Guo et al. 2017).

    Args:
        logits: one logit a case with labels 0 or 1, or a row of class logits a case with class numbers as labels.
        labels: what came true.
    """
    rows, classes = _class_logits(logits, labels)
    low, high = math.log(COLDEST), math.log(HOTTEST)

    def loss(log_temperature: float) -> float:
        return _loss(rows, classes, math.exp(log_temperature))

    found = golden_section(loss, low, high)
    # A flat loss has no minimum inside; the ends are looked at so that a separable set is told apart.
    best = min((found, low, high), key=loss)
    return Temperature(
        value=math.exp(best),
        loss=loss(best),
        loss_before=_loss(rows, classes, 1.0),
        at_limit=min(best - low, high - best) < 1e-6,
    )


def golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is smallest."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-9:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return 0.5 * (low + high)


class _Binned(NamedTuple):
    forecast: Floats
    truth: Floats
    codes: Ints


def _assign_bins(confidence: ArrayLike, correct: ArrayLike, bins: int) -> _Binned:
    forecast, truth = within(confidence, "confidence", 0.0, 1.0), binary(correct, "correct")
    same_length(forecast, "confidence", truth, "correct")
    count = whole(bins, "bins", least=1)
    return _Binned(forecast, truth, np.minimum((forecast * count).astype(np.int64), count - 1))


def _bin(forecast: Floats, truth: Floats) -> Bin:
    return Bin(len(forecast), float(forecast.mean()), float(truth.mean()))


class _Classes(NamedTuple):
    rows: NDArray[np.float64]
    labels: Ints


def _class_logits(logits: ArrayLike, labels: ArrayLike) -> _Classes:
    rows = np.array(logits, dtype=np.float64)
    if rows.ndim == 1:
        # One logit against a fixed 0 is the two-class softmax.
        rows = np.column_stack([np.zeros(len(rows)), rows])
    if rows.ndim != 2 or rows.shape[1] < 2 or not len(rows) or not np.isfinite(rows).all():
        raise BadValue(f"logits of shape {rows.shape} are not finite rows", remedy="Give one row of logits a case.")
    classes = within(labels, "labels", 0, rows.shape[1] - 1)
    same_length(rows, "logits", classes, "labels")
    if (classes != np.floor(classes)).any():
        raise BadValue("labels are not whole numbers", remedy="Give class numbers from 0.")
    return _Classes(rows, classes.astype(np.int64))


def _loss(rows: NDArray[np.float64], labels: Ints, temperature: float) -> float:
    scaled = rows / temperature
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    chosen = scaled[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(scaled).sum(axis=1)) - chosen))


# --- Prediction-powered inference: a mean from few human and many judge labels ---
#
# The judge's mean over everything is corrected by how far the judge was off where a human looked too (Angelopoulos et
# al. 2023). The interval is valid however bad the judge is; a good judge makes it shorter. `tuned` chooses how much to
# listen to the judge (PPI++, 2024): weight 0 is the plain human mean, 1 the full correction.
#
# All of it holds for labels that are a random sample of the cases. Labels that a person picked, the clear cases or
# those that looked wrong, give a mean of the picked cases whatever the interval says; `PpiMean.caution` says so, and
# warns of few labels.

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
    """The mean of the labels humans would give over all cases.

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
    weight = tune_weight(y, f, rest) if tuned else 1.0
    return PpiMean(
        interval=_interval(y - weight * f, weight * rest, level, limits, weight),
        human_only=mean_interval(y, level=level, bounds=bounds),
        judge_bias=float(np.mean(f - y)),
        weight=weight,
        labels=len(y),
    )


def tune_weight(human: Floats, judge_same: Floats, judge_rest: Floats) -> float:
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
