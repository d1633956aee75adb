"""Alerts when the rate of an outcome changes, decided by the e-process of the sequential tests.

Each week, from Monday 00:00 UTC, is one watch. The rate it is compared with is that of the four weeks before it, and
the questions of the week are votes in the order they came: 1 where the question has the outcome, else 0. The bet is
that the rate is above the upper end of the earlier rate's interval, or below its lower end, so that too few earlier
questions cause no alert. One may look after every question: all watches of a week together raise a false alert in at
most 2 of 100 weeks. A question asked again in the same week is no second vote.

Alerts are a function of the log: computing them again finds the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from assay.records.alerts import RateAlert, WatchedRate
from assay.records.research_log import BriefSession, QuestionOutcome
from assay.statistics.inputs import Floats
from assay.statistics.intervals import clopper_pearson
from assay.statistics.sequential import STAKES, EProcessRule, log_mean_exp, stake_paths
from assay.text.terms import normalise_phrase

ALPHA = 0.01
"""The chance that a week of unchanged rates raises an alert, by the e-processes of all rates together."""
LEVEL = 0.99
"""The level of the intervals of earlier rates, all of them together."""
BEFORE_WEEKS = 4
LEAST_BEFORE = 20
"""Distinct questions in the weeks before that a comparison needs."""
_WEEK = timedelta(days=7)


def find_alerts(sessions: Sequence[BriefSession], now: datetime, *, weeks: int = 1) -> list[RateAlert]:
    """Return the alerts of the current week and of the weeks before it, newest first.

    `sessions` come oldest first and reach `BEFORE_WEEKS` further back than the first week that is watched.
    """
    monday = now.astimezone(UTC).date() - timedelta(days=now.astimezone(UTC).weekday())
    found = [alert for place in range(weeks) for alert in _watch_week(sessions, monday - _WEEK * place)]
    return sorted(found, key=lambda alert: alert.seen_at, reverse=True)


def first_needed(now: datetime, *, weeks: int = 1) -> datetime:
    """Return the moment from which sessions are needed to watch so many weeks."""
    monday = now.astimezone(UTC).date() - timedelta(days=now.astimezone(UTC).weekday())
    return _midnight(monday - _WEEK * (weeks - 1 + BEFORE_WEEKS))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _watch_week(sessions: Sequence[BriefSession], monday: date) -> Iterable[RateAlert]:
    begins, ends = _midnight(monday), _midnight(monday + _WEEK)
    earlier = _distinct(one for one in sessions if begins - _WEEK * BEFORE_WEEKS <= one.created_at < begins)
    own = _distinct(one for one in sessions if begins <= one.created_at < ends)
    for rate in WatchedRate:
        before = [vote for one in earlier if (vote := _vote(rate, one)) is not None]
        votes = [(one, vote) for one in own if (vote := _vote(rate, one)) is not None]
        if len(before) >= LEAST_BEFORE and votes:
            alert = _watch_rate(rate, monday, before, votes)
            if alert is not None:
                yield alert


def _distinct(sessions: Iterable[BriefSession]) -> list[BriefSession]:
    """Return the first session of each question."""
    first: dict[str, BriefSession] = {}
    for session in sessions:
        first.setdefault(normalise_phrase(session.question) or session.question, session)
    return list(first.values())


_OUTCOMES: Mapping[WatchedRate, QuestionOutcome] = {
    WatchedRate.ANSWERED: QuestionOutcome.ANSWERED,
    WatchedRate.REFUSED: QuestionOutcome.REFUSED,
    WatchedRate.REFUSED_DESPITE_EVIDENCE: QuestionOutcome.REFUSED_DESPITE_EVIDENCE,
    WatchedRate.ANSWERED_WITHOUT_EVIDENCE: QuestionOutcome.ANSWERED_WITHOUT_EVIDENCE,
    WatchedRate.FAILED: QuestionOutcome.FAILED,
}


def _vote(rate: WatchedRate, session: BriefSession) -> int | None:
    """Return whether a session counts for a rate; None: it says nothing about it."""
    if rate is WatchedRate.PASSED:
        return None if session.passed is None else int(session.passed)
    return None if session.outcome is None else int(session.outcome is _OUTCOMES[rate])


def _watch_rate(
    rate: WatchedRate, monday: date, before: Sequence[int], votes: Sequence[tuple[BriefSession, int]]
) -> RateAlert | None:
    watched = len(WatchedRate)
    earlier = clopper_pearson(sum(before), len(before), level=1.0 - (1.0 - LEVEL) / watched)
    seen = np.array([vote for _, vote in votes], dtype=np.float64)
    bound = EProcessRule(alpha=ALPHA / watched).log_bound
    # Each of the two bets has half of alpha, as `better` and `worse` of one test have.
    low, high = (0.0 if earlier.low is None else earlier.low), (1.0 if earlier.high is None else earlier.high)
    rose, fell = (_first_over(differences, bound) for differences in (seen - high, low - seen))
    decided = min((place for place in (rose, fell) if place is not None), default=None)
    if decided is None:
        return None
    return RateAlert(
        rate=rate,
        rose=decided == rose,
        week=monday,
        seen_at=votes[decided][0].created_at,
        after=decided + 1,
        before_share=earlier.estimate,
        before_low=low,
        before_high=high,
        before_questions=len(before),
        share=float(seen.mean()),
        questions=len(votes),
    )


def _first_over(differences: Floats, bound: float) -> int | None:
    """Return the first vote after which the evidence reaches the bound; None: it never does."""
    evidence = log_mean_exp(stake_paths((0.0,) * len(STAKES), differences))
    reached = np.flatnonzero(evidence >= bound)
    return int(reached[0]) if len(reached) else None
