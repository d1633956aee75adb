"""Estimates with their intervals, and how the intervals were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal[
    "t",
    "clustered_t",
    "bootstrap",
    "clustered_bootstrap",
    "no_variance",
    "wilson",
    "clopper_pearson",
    "ppi",
    "ppi_no_variance",
    "not_computable",
]
"""How an interval was made."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate and the range that its data leave open."""

    estimate: float
    low: float | None
    """None: these data put no limit on that side."""
    high: float | None
    level: float
    n: int
    method: Method

    def contains(self, value: float) -> bool:
        """Whether these data leave that value open."""
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Agreement beyond chance: 1 is perfect, 0 is chance, below is worse than chance."""

    value: float | None
    """None where chance alone would agree always."""
    low: float | None
    high: float | None
    level: float
    n: int
    """Items that count: those with at least two ratings."""
    undefined: int
    """Resamples that had no value and are left out of the interval."""
    method: Literal["bootstrap", "no_disagreement", "not_computable"]
