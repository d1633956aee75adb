"""Many cases in one line: the mean with everything that says how much it is worth.

A case without a value is never averaged in and never forgotten. `worst` and `best` are the mean if each such case had
come out as badly or as well as the metric allows; questions that do not arise (`not_applicable`) cannot come out at all
and stay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from assay.metrics.entry import Better
from assay.metrics.fingerprint import Instrument
from assay.metrics.scores import KINDS, Scores
from assay.metrics.spec import MetricSpec
from assay.records.outcome import OutcomeKind
from assay.statistics import Interval, mean_interval

LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregate:
    """One metric over many cases."""

    spec: MetricSpec
    value: float | None
    """The mean of the scored cases; None when there is none."""
    scored: int
    others: Mapping[OutcomeKind, int]
    """How many cases ended in each other way; all of them are named, also with 0."""
    worst: float | None
    """None: unbounded on that side, or nothing to bound."""
    best: float | None
    interval: Interval | None
    fingerprint: str

    @property
    def cases(self) -> int:
        """Every case, scored or not."""
        return self.scored + sum(self.others.values())

    def as_json(self) -> dict[str, object]:
        """The one shape of an aggregate on every surface."""
        interval = self.interval
        return {
            "metric": str(self.spec),
            "value": self.value,
            "scored": self.scored,
            "others": {kind.value: count for kind, count in self.others.items()},
            "worst": self.worst,
            "best": self.best,
            "interval": None if interval is None else [interval.low, interval.high],
            "interval_level": None if interval is None else interval.level,
            "interval_method": None if interval is None else interval.method,
            "fingerprint": self.fingerprint,
        }


def aggregate(scores: Scores, instrument: Instrument | None = None) -> Aggregate:
    """The mean of a metric's cases, its counts, its bounds and its interval."""
    values = scores.values[scores.scored]
    others: dict[OutcomeKind, int] = {kind: scores.count(kind) for kind in KINDS if kind is not OutcomeKind.SCORED}
    missing = sum(others.values()) - others[OutcomeKind.NOT_APPLICABLE]
    entry = scores.spec.entry
    ends = (entry.lowest, entry.highest)
    worst_end, best_end = ends[::-1] if entry.better is Better.LOWER else ends
    return Aggregate(
        spec=scores.spec,
        value=float(values.mean()) if values.size else None,
        scored=int(values.size),
        others=MappingProxyType(others),
        worst=_filled(values, missing, worst_end),
        best=_filled(values, missing, best_end),
        interval=mean_interval(values, level=LEVEL, bounds=_bounds(ends)) if values.size else None,
        fingerprint=(instrument or Instrument()).fingerprint(scores.spec),
    )


def _filled(values: np.ndarray[tuple[int], np.dtype[np.float64]], missing: int, end: float | None) -> float | None:
    """The mean if every missing case had this value."""
    if values.size + missing == 0 or (missing and end is None):
        return None
    return float((values.sum() + missing * (end or 0.0)) / (values.size + missing))


def _bounds(ends: tuple[float | None, float | None]) -> tuple[float, float] | None:
    low, high = ends
    return None if low is None or high is None else (low, high)
