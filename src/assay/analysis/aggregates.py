"""Summaries of many sessions: pass rate, scores with intervals, failures, and the trend by week.

- Summary of one score.
- Trend by week.
- Summary of all sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from assay.records.analysis import (
    Aggregates,
    Direction,
    FailedDimension,
    IterationSummary,
    OutcomeShare,
    ScoreSummary,
    Trend,
    Week,
)
from assay.records.evaluations import Interval
from assay.records.research_log import AskedAgain, DayOfResearch, QuestionOutcome, ResearchTotals, Spread
from assay.statistics.independent_samples import half_width
from assay.statistics.intervals import UNIT, cut, unseen_share, wilson
from assay.statistics.special import t_quantile

# --- Summary of one score ---

LEVEL = 0.95
_NO_SPREAD = 1e-12
Worth = Callable[[float], float]
"""Returns how many independent sessions a number of sessions is worth."""


def summarize(spread: Spread, worth: Worth) -> ScoreSummary | None:
    """Return a mean with its interval and range; None: no session has a score.

    `worth` returns how many independent sessions n sessions are worth.
    """
    if spread.mean is None or spread.least is None or spread.most is None:
        return None
    return ScoreSummary(_interval(spread, spread.mean, worth(spread.count)), spread.least, spread.most)


def _interval(spread: Spread, mean: float, independent: float) -> Interval:
    """Return the t interval; the exact bound where no spread was seen or hardly two sessions are independent."""
    n = spread.count
    squares = max(0.0, spread.squares - spread.total * mean)
    if independent < 2 or squares <= _NO_SPREAD * n:
        unseen = unseen_share(independent, LEVEL)
        low, high = mean - unseen * mean, mean + unseen * (1.0 - mean)
        return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="no_variance")
    half = t_quantile(0.5 + LEVEL / 2.0, independent - 1) * (squares / (n - 1) / independent) ** 0.5
    low, high = cut(mean - half, mean + half, UNIT)
    return Interval(estimate=mean, low=low, high=high, level=LEVEL, n=n, method="t")


# --- Trend by week ---
#
# A week begins on Monday, UTC. A week in which nothing was asked stands in the line with no score. The direction
# compares the last four weeks with the four before by Welch's interval; it is `unclear` while that interval holds 0.
# Sessions that asked the same question count as little as they say (`AskedAgain`).

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
    outcomes: Mapping[QuestionOutcome, int]


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
        outcomes=sums.outcomes,
    )


def _weeks(days: Iterable[DayOfResearch]) -> Iterator[_WeekSums]:
    open_week: _WeekSums | None = None
    for day in days:
        begins = day.day - timedelta(days=day.day.weekday())
        if open_week is None or open_week.begins != begins:
            if open_week is not None:
                yield open_week
            open_week = _WeekSums(begins, 0, 0, 0, _NOTHING, {})
        open_week = _WeekSums(
            begins,
            open_week.sessions + day.sessions,
            open_week.judged + day.judged,
            open_week.passed + day.passed,
            _sum((open_week.score, day.score)),
            dict(Counter(open_week.outcomes) + Counter(day.outcomes)),
        )
    if open_week is not None:
        yield open_week


def _without_gaps(weeks: Sequence[_WeekSums]) -> Iterator[_WeekSums]:
    last: date | None = None
    for week in weeks:
        missing = 0 if last is None else (week.begins - last) // _WEEK - 1
        if last is not None and missing <= LONGEST_GAP:
            yield from (_WeekSums(last + _WEEK * (step + 1), 0, 0, 0, _NOTHING, {}) for step in range(missing))
        yield week
        last = week.begins


def _sum(spreads: Iterable[Spread]) -> Spread:
    found = [spread for spread in spreads if spread.count]
    if not found:
        return _NOTHING
    return Spread(
        sum(spread.count for spread in found),
        sum(spread.total for spread in found),
        sum(spread.squares for spread in found),
        min(spread.least for spread in found if spread.least is not None),
        max(spread.most for spread in found if spread.most is not None),
    )


def _variance(spread: Spread, asked_again: AskedAgain) -> tuple[float, float]:
    """How many independent sessions there are, and how much one varies."""
    n = spread.count
    squares = max(0.0, spread.squares - spread.total**2 / n)
    return asked_again.independent(n), squares / (n - 1) if n > 1 else 0.0


# --- Summary of all sessions ---
#
# The database counts and sums (`ResearchRows.totals`); here shares, means and intervals are made of it. A session that
# nobody could judge is in no rate: it is counted beside it. Sessions that asked the same question are not independent:
# intervals are as wide as if they all said the same (`AskedAgain.independent`), so one question asked two hundred
# times is worth one.


def aggregate(totals: ResearchTotals, asked_again: AskedAgain) -> Aggregates:
    """Return rates, means and intervals from counts and sums, corrected for repeated questions."""
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
        failure_types=dict(sorted(totals.failure_types.items(), key=lambda entry: (-entry[1], entry[0]))),
        iterations=_iterations(totals, worth),
        escalated=_rate(totals.escalated, totals.sessions, worth),
        severe=totals.severe,
        regenerated=totals.regenerated,
        abstained=totals.abstained,
        withheld=totals.withheld,
        outcomes=_outcomes(totals, worth),
        without_outcome=totals.sessions - sum(totals.outcomes.values()),
        trend=trend_of(totals.days, asked_again),
    )


def _rate(some: int, of: int, worth: Worth) -> Interval | None:
    return wilson(some, of, level=LEVEL, independent=worth(of)) if of else None


def _outcomes(totals: ResearchTotals, worth: Worth) -> tuple[OutcomeShare, ...]:
    recorded = sum(totals.outcomes.values())
    counts = {outcome: totals.outcomes.get(outcome, 0) for outcome in QuestionOutcome}
    return tuple(OutcomeShare(outcome, count, _rate(count, recorded, worth)) for outcome, count in counts.items())


def _failures(totals: ResearchTotals) -> tuple[FailedDimension, ...]:
    scored = {name.value: spread.count for name, spread in totals.dimensions.items()}
    found = (
        FailedDimension(name, count, count / scored[name] if scored.get(name) else None)
        for name, count in totals.failed_dimensions.items()
    )
    return tuple(sorted(found, key=lambda failure: (-failure.sessions, failure.dimension)))


def _iterations(totals: ResearchTotals, worth: Worth) -> IterationSummary:
    made = sum(count * sessions for count, sessions in totals.iterations.items())
    mean = made / totals.sessions if totals.sessions else None
    return IterationSummary(mean, dict(totals.iterations), _rate(totals.exhausted, totals.sessions, worth))
