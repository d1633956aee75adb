"""What many sessions add up to: pass rate, scores with their range and interval, failures, iterations, escalations.

The database counts and sums (`ResearchRows.totals`); here shares, means and intervals are made of it. A session that
nobody could judge is in no rate: it is counted beside it. Sessions that asked the same question are not independent:
intervals are as wide as if they all said the same (`AskedAgain.independent`), so one question asked two hundred times
is worth one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay.analysis.trends import Trend, trend_of
from assay.records.research_log import AskedAgain, ResearchTotals, Spread
from assay.statistics.intervals import UNIT, Interval, cut, unseen_share, wilson
from assay.statistics.special import t_quantile

LEVEL = 0.95
_NO_SPREAD = 1e-12
Worth = Callable[[float], float]
"""Tells how many independent sessions so many are worth."""


class ScoreSummary(NamedTuple):
    """A score over the sessions that have one."""

    mean: Interval
    least: float
    most: float


class FailedDimension(NamedTuple):
    """How often a dimension was below its bar."""

    dimension: str
    sessions: int
    share: float | None
    """Of the sessions in which it was scored; None for a custom dimension, of which only failures are counted."""


class IterationSummary(NamedTuple):
    """How many plans were made."""

    mean: float | None
    sessions: Mapping[int, int]
    """By the number of plans."""
    exhausted: Interval | None
    """Share of sessions whose last allowed attempt failed too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregates:
    """Everything in numbers; a rate of nothing is None."""

    sessions: int
    asked_again: AskedAgain
    """How many distinct questions the newest of them asked."""
    independent: float
    """How many independent sessions they are worth; what intervals go by."""
    judged: int
    """Passed or failed: what the pass rate is over."""
    passed: int
    skipped: int
    """A checkpoint could not be evaluated; such a session is not in the pass rate."""
    judge_failed: int
    """A checkpoint was let pass because its scores could not be read; not in the pass rate either."""
    pass_rate: Interval | None
    scores: Mapping[str, ScoreSummary | None]
    """`overall`, `plan`, `retrieval`, `answer`."""
    dimensions: Mapping[str, ScoreSummary | None]
    histogram: tuple[int, ...]
    """Overall scores, bins of equal width from 0 to 1."""
    failures: tuple[FailedDimension, ...]
    """The most frequent first."""
    failure_types: Mapping[str, int]
    iterations: IterationSummary
    escalated: Interval | None
    """Share of sessions."""
    severe: int
    regenerated: int
    abstained: int
    withheld: int
    trend: Trend


def aggregate(totals: ResearchTotals, asked_again: AskedAgain) -> Aggregates:
    """Rates, means and intervals of counts and sums, and of how often the same questions were asked."""
    worth = asked_again.independent
    return Aggregates(
        sessions=totals.sessions,
        asked_again=asked_again,
        independent=worth(totals.sessions),
        judged=totals.judged,
        passed=totals.passed,
        skipped=totals.skipped,
        judge_failed=totals.judge_failed,
        pass_rate=_rate(totals.passed, totals.judged, worth),
        scores={name: summary(spread, worth) for name, spread in totals.stages.items()},
        dimensions={name.value: summary(spread, worth) for name, spread in totals.dimensions.items()},
        histogram=totals.histogram,
        failures=_failures(totals),
        failure_types=dict(sorted(totals.failure_types.items(), key=lambda one: (-one[1], one[0]))),
        iterations=_iterations(totals, worth),
        escalated=_rate(totals.escalated, totals.sessions, worth),
        severe=totals.severe,
        regenerated=totals.regenerated,
        abstained=totals.abstained,
        withheld=totals.withheld,
        trend=trend_of(totals.days, asked_again),
    )


def summary(spread: Spread, worth: Worth) -> ScoreSummary | None:
    """A mean with its interval and range; None: nobody scored. `worth` tells how many independent ones n are."""
    if spread.mean is None or spread.least is None or spread.most is None:
        return None
    return ScoreSummary(_interval(spread, spread.mean, worth(spread.count)), spread.least, spread.most)


def _interval(spread: Spread, mean: float, independent: float) -> Interval:
    """The t interval from sums; the exact bound where no spread was seen, or hardly two sessions are independent."""
    n = spread.count
    squares = max(0.0, spread.squares - spread.total * mean)
    if independent < 2 or squares <= _NO_SPREAD * n:
        unseen = unseen_share(independent, LEVEL)
        low, high = mean - unseen * mean, mean + unseen * (1.0 - mean)
        return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="no_variance")
    half = t_quantile(0.5 + LEVEL / 2.0, independent - 1) * (squares / (n - 1) / independent) ** 0.5
    low, high = cut(mean - half, mean + half, UNIT)
    return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="t")


def _rate(some: int, of: int, worth: Worth) -> Interval | None:
    return wilson(some, of, level=LEVEL, independent=worth(of)) if of else None


def _failures(totals: ResearchTotals) -> tuple[FailedDimension, ...]:
    scored = {name.value: spread.count for name, spread in totals.dimensions.items()}
    found = (
        FailedDimension(name, count, count / scored[name] if scored.get(name) else None)
        for name, count in totals.failed_dimensions.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.sessions, one.dimension)))


def _iterations(totals: ResearchTotals, worth: Worth) -> IterationSummary:
    made = sum(count * sessions for count, sessions in totals.iterations.items())
    mean = made / totals.sessions if totals.sessions else None
    return IterationSummary(mean, dict(totals.iterations), _rate(totals.exhausted, totals.sessions, worth))
