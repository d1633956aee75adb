"""Answered questions over time: outcomes, pass rate, waiting times and tokens of each day or week.

- Periods: the days or weeks of a time range.
- What each period adds up to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from assay.records.evaluations import Interval
from assay.records.research_log import AskedAgain, DayOfResearch, DayOfTokens, QuestionOutcome, TimedSession
from assay.statistics.intervals import wilson

# --- Periods ---

MOST_DAYS = 14
"""Up to this many days are shown day by day; more are shown by week."""
MOST_PERIODS = 60
"""Weeks that are shown; of a longer history, the newest."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Period:
    """A day or a week, both ends included."""

    first: date
    last: date

    @property
    def name(self) -> str:
        """The period in words."""
        if self.first == self.last:
            return f"{self.first:%d %b %Y}"
        return f"{self.first:%d %b} to {self.last:%d %b %Y}"


def list_periods(first: date, last: date) -> list[Period]:
    """Return every day, or every week that begins on a Monday, from the first day to the last.

    The first and the last week are cut to the range, so that what they count is what a filter by these days finds.
    """
    if (last - first).days < MOST_DAYS:
        return [Period(first + _DAY * place, first + _DAY * place) for place in range((last - first).days + 1)]
    found = []
    begins = first
    while begins <= last:
        ends = begins + _DAY * (6 - begins.weekday())
        found.append(Period(begins, min(ends, last)))
        begins = ends + _DAY
    return found[-MOST_PERIODS:]


# --- What each period adds up to ---

LEAST_TIMED = 5
"""Questions from which a period has a 95th percentile: of fewer it is only the slowest one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodSums:
    """What the questions of a period add up to; None: nothing to compute it from."""

    period: Period
    sessions: int = 0
    judged: int = 0
    passed: int = 0
    pass_rate: Interval | None = None
    outcomes: Mapping[QuestionOutcome, int] = field(default_factory=dict)
    timed: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    tokens: int | None = None
    """Of the questions whose tokens were counted; None: of none."""
    counted: int = 0
    """Questions whose tokens were counted."""


def sum_periods(
    periods: Sequence[Period],
    days: Iterable[DayOfResearch],
    tokens: Iterable[DayOfTokens],
    times: Iterable[TimedSession],
    asked_again: AskedAgain,
) -> list[PeriodSums]:
    """Return what each period adds up to; `times` may be those of some of the questions only."""
    by_day = {day.day: day for day in days}
    used = {day.day: day for day in tokens}
    timed: dict[date, list[float]] = {}
    for session in times:
        timed.setdefault(session.day, []).append(session.latency_ms)
    return [_sum_period(period, by_day, used, timed, asked_again) for period in periods]


def _sum_period(
    period: Period,
    by_day: Mapping[date, DayOfResearch],
    used: Mapping[date, DayOfTokens],
    timed: Mapping[date, Sequence[float]],
    asked_again: AskedAgain,
) -> PeriodSums:
    days = [period.first + _DAY * place for place in range((period.last - period.first).days + 1)]
    own = [by_day[day] for day in days if day in by_day]
    outcomes: Counter[QuestionOutcome] = Counter()
    for day in own:
        outcomes.update(day.outcomes)
    judged, passed = sum(day.judged for day in own), sum(day.passed for day in own)
    times = [time for day in days for time in timed.get(day, ())]
    counted = sum(used[day].counted for day in days if day in used)
    return PeriodSums(
        period=period,
        sessions=sum(day.sessions for day in own),
        judged=judged,
        passed=passed,
        pass_rate=wilson(passed, judged, independent=asked_again.independent(judged)) if judged else None,
        outcomes=dict(outcomes),
        timed=len(times),
        p50_ms=find_percentile(times, 50),
        p95_ms=find_percentile(times, 95) if len(times) >= LEAST_TIMED else None,
        tokens=sum(used[day].tokens for day in days if day in used) if counted else None,
        counted=counted,
    )


def find_percentile(values: Sequence[float], percent: int) -> float | None:
    """Return the smallest value that so many per cent do not exceed; None: there is none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else None
