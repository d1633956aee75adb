"""Answered questions by day and week: cut to the range, with what cannot be computed left open."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from assay.analysis.over_time import find_percentile, list_periods, sum_periods
from assay.records.research_log import AskedAgain, DayOfResearch, DayOfTokens, QuestionOutcome, Spread, TimedSession

NOTHING = Spread(0, 0.0, 0.0, None, None)


def test_a_few_days_are_days_and_more_are_weeks_cut_to_the_range() -> None:
    wednesday = date(2026, 11, 4)
    assert [one.first for one in list_periods(wednesday, wednesday + timedelta(days=2))] == [
        wednesday + timedelta(days=place) for place in range(3)
    ]
    weeks = list_periods(wednesday, wednesday + timedelta(days=20))
    assert [(one.first.day, one.last.day) for one in weeks] == [(4, 8), (9, 15), (16, 22), (23, 24)]
    assert weeks[1].name == "09 Nov to 15 Nov 2026"


def test_what_a_period_adds_up_to_and_what_is_not_known_of_it() -> None:
    monday = date(2026, 11, 9)
    days = [
        DayOfResearch(monday, 3, 2, 1, NOTHING, {QuestionOutcome.ANSWERED: 2}),
        DayOfResearch(monday + timedelta(days=1), 1, 0, 0, NOTHING, {}),
    ]
    tokens = [DayOfTokens(monday, 3, 1, 7), DayOfTokens(monday + timedelta(days=1), 1, 0, 0)]
    times = [TimedSession(monday, 10.0), TimedSession(monday, 30.0)]
    periods = list_periods(monday, monday + timedelta(days=1))
    first, second = sum_periods(periods, days, tokens, times, AskedAgain(4, 4, 0.0))
    assert (first.sessions, first.judged, first.passed, first.p50_ms) == (3, 2, 1, 10.0)
    assert (first.tokens, first.counted, first.timed) == (7, 1, 2)
    assert first.p95_ms is None
    assert first.pass_rate is not None
    assert (second.pass_rate, second.p50_ms, second.tokens) == (None, None, None)


@pytest.mark.parametrize(("percent", "value"), [(50, 5.0), (95, 10.0), (10, 1.0)])
def test_percentiles_are_values_that_were_seen(percent: int, value: float) -> None:
    assert find_percentile([float(number) for number in range(10, 0, -1)], percent) == value
    assert find_percentile([], percent) is None
