"""Week by week: sessions, pass rate and mean score, and whether the last weeks differ from those before.

A week begins on Monday, UTC. A week in which nothing was asked stands in the line with no score. The direction compares
the last four weeks with the four before by Welch's interval; it is `unclear` while that interval holds 0. Sessions that
asked the same question count as little as they say (`AskedAgain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from assay.analysis.score_summary import LEVEL, summarize
from assay.records.analysis import Direction, Trend, Week
from assay.records.research_log import AskedAgain, DayOfResearch, Spread
from assay.statistics.two_samples import half_width

RECENT = 4
"""Weeks compared with as many before."""
LONGEST_GAP = 104
"""Empty weeks in a row that are shown; a longer silence is left out."""
_WEEK = timedelta(days=7)
_NOTHING = Spread(0, 0.0, 0.0, None, None)


class _WeekSums(NamedTuple):
    """What one week adds up to."""

    begins: date
    sessions: int
    judged: int
    passed: int
    score: Spread
    """Overall."""


def trend_of(days: Iterable[DayOfResearch], asked_again: AskedAgain) -> Trend:
    """Weeks of days that come in order."""
    sums = list(_without_gaps(list(_weeks(days))))
    weeks = tuple(_week(week, asked_again) for week in sums)
    recent = _sum(week.score for week in sums[-RECENT:])
    before = _sum(week.score for week in sums[-2 * RECENT : -RECENT])
    if recent.mean is None or before.mean is None:
        return Trend(weeks, Direction.TOO_FEW, None, None, None)
    change = recent.mean - before.mean
    half = half_width(_variance(before, asked_again), _variance(recent, asked_again), LEVEL)
    if half is None:
        return Trend(weeks, Direction.TOO_FEW, change, None, None)
    low, high = change - half, change + half
    direction = Direction.RISING if low > 0.0 else Direction.FALLING if high < 0.0 else Direction.UNCLEAR
    return Trend(weeks, direction, change, low, high)


def _week(sums: _WeekSums, asked_again: AskedAgain) -> Week:
    return Week(
        begins=sums.begins,
        sessions=sums.sessions,
        judged=sums.judged,
        passed=sums.passed,
        pass_rate=sums.passed / sums.judged if sums.judged else None,
        score=summarize(sums.score, asked_again.independent),
    )


def _weeks(days: Iterable[DayOfResearch]) -> Iterator[_WeekSums]:
    open_week: _WeekSums | None = None
    for day in days:
        begins = day.day - timedelta(days=day.day.weekday())
        if open_week is None or open_week.begins != begins:
            if open_week is not None:
                yield open_week
            open_week = _WeekSums(begins, 0, 0, 0, _NOTHING)
        open_week = _WeekSums(
            begins,
            open_week.sessions + day.sessions,
            open_week.judged + day.judged,
            open_week.passed + day.passed,
            _sum((open_week.score, day.score)),
        )
    if open_week is not None:
        yield open_week


def _without_gaps(weeks: Sequence[_WeekSums]) -> Iterator[_WeekSums]:
    last: date | None = None
    for week in weeks:
        missing = 0 if last is None else (week.begins - last) // _WEEK - 1
        if last is not None and missing <= LONGEST_GAP:
            yield from (_WeekSums(last + _WEEK * (step + 1), 0, 0, 0, _NOTHING) for step in range(missing))
        yield week
        last = week.begins


def _sum(spreads: Iterable[Spread]) -> Spread:
    found = [one for one in spreads if one.count]
    if not found:
        return _NOTHING
    return Spread(
        sum(one.count for one in found),
        sum(one.total for one in found),
        sum(one.squares for one in found),
        min(one.least for one in found if one.least is not None),
        max(one.most for one in found if one.most is not None),
    )


def _variance(spread: Spread, asked_again: AskedAgain) -> tuple[float, float]:
    """How many independent sessions there are, and how much one varies."""
    n = spread.count
    squares = max(0.0, spread.squares - spread.total**2 / n)
    return asked_again.independent(n), squares / (n - 1) if n > 1 else 0.0
