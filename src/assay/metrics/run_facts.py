"""What a metric of a whole run is computed from: times, failures, judging, the index, and the cases' outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.records.outcome import Outcome, OutcomeKind
from assay.records.rate import Rate

if TYPE_CHECKING:
    from assay.metrics.spec import MetricSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySummary:
    """How long one stage takes. None where no case was timed."""

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    timed: int
    """Cases that were answered and timed."""
    left_out: Mapping[OutcomeKind, int]
    timed_out: int = 0
    """Cases that count with the time after which they were given up."""
    at_least: tuple[str, ...] = ()
    """Which of `p50`, `p95`, `p99` and `mean` are lower bounds, because of cases that timed out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """One run as its own metrics look at it."""

    latency: Mapping[str, LatencySummary]
    """By stage, `total` first; milliseconds."""
    rates: Mapping[str, Rate]
    """`error_rate`, `timeout_rate`, `empty_response_rate`."""
    elapsed_s: float | None = None
    """Seconds from the first question to the last answer; None: not known, as of a run that was resumed."""
    spent: Sequence[Mapping[str, Any]] = ()
    """What each judge of the run took: requests, tokens, cost."""
    indexed: Mapping[str, Any] | None = None
    """How the system split and embedded the documents; None: it does not tell."""
    per_case: Mapping[MetricSpec, Mapping[str, Outcome]] = field(default_factory=dict)
    confidences: Mapping[str, float | None] = field(default_factory=dict)
    """How sure the system said it was of its answer, by case."""
