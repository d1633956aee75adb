"""Whether stated confidence is earned: expected calibration error, Brier score with its parts, temperature scaling.

Bins are of equal width over [0, 1]; the last one includes 1. The Brier score splits (Murphy 1973) into reliability
minus resolution plus uncertainty, and a part within bins that is 0 when all forecasts of a bin are equal (Stephenson
2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue
from assay.statistics.checks import Floats, Ints, binary, same_length, whole, within

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
    gaps = [abs(one.confidence - one.accuracy) for one in found]
    ece = math.fsum(one.n * gap for one, gap in zip(found, gaps, strict=True)) / len(forecast)
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
