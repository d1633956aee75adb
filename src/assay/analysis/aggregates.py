"""What many sessions add up to: pass rate, scores with their range and interval, failures, iterations, escalations.

The database counts and sums (`ResearchRows.totals`); here shares, means and intervals are made of it. A session that
nobody could judge is in no rate: it is counted beside it. Sessions that asked the same question are not independent:
intervals are as wide as if they all said the same (`AskedAgain.independent`), so one question asked two hundred times
is worth one.
"""

from __future__ import annotations

from assay.analysis.score_summary import LEVEL, Worth, summarize
from assay.analysis.trends import trend_of
from assay.records.analysis import Aggregates, FailedDimension, IterationSummary
from assay.records.interval import Interval
from assay.records.research_log import AskedAgain, ResearchTotals
from assay.statistics.intervals import wilson


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
        scores={name: summarize(spread, worth) for name, spread in totals.stages.items()},
        dimensions={name.value: summarize(spread, worth) for name, spread in totals.dimensions.items()},
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
