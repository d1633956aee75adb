"""Weeks begin on Monday, empty ones stand in the line, and a direction needs more than chance."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from assay.analysis import aggregates
from assay.analysis.aggregates import LONGEST_GAP
from assay.records.analysis import Direction, Trend
from assay.records.research_log import AskedAgain, DayOfResearch, Spread
from assay.statistics.intervals import mean_interval

MONDAY = date(2026, 3, 2)
ALL_DISTINCT = AskedAgain(240, 240, 0.0)


def trend_of(days: list[DayOfResearch], asked_again: AskedAgain = ALL_DISTINCT) -> Trend:
    return aggregates.trend_of(days, asked_again)


def day(offset: int, *scores: float) -> DayOfResearch:
    values = np.array(scores)
    spread = (
        Spread(len(values), float(values.sum()), float((values**2).sum()), float(values.min()), float(values.max()))
        if len(values)
        else Spread(0, 0.0, 0.0, None, None)
    )
    passed = int((values >= 0.7).sum())
    return DayOfResearch(MONDAY + timedelta(days=offset), max(1, len(values)), len(values), passed, spread)


def test_days_of_a_week_are_added_up() -> None:
    weeks = trend_of([day(0, 0.5, 0.9), day(6, 0.7), day(7, 0.1)]).weeks
    assert [one.begins for one in weeks] == [MONDAY, MONDAY + timedelta(days=7)]
    assert (weeks[0].sessions, weeks[0].judged, weeks[0].passed) == (3, 3, 2)
    score, wanted = weeks[0].score, mean_interval([0.5, 0.9, 0.7], bounds=(0, 1))
    assert score is not None
    assert (score.mean.n, score.least, score.most) == (3, 0.5, 0.9)
    assert (score.mean.estimate, score.mean.low, score.mean.high) == pytest.approx((0.7, wanted.low, wanted.high))
    assert weeks[0].pass_rate == pytest.approx(2 / 3)


def test_an_empty_week_stands_in_the_line_and_a_long_silence_does_not() -> None:
    weeks = trend_of([day(0, 0.5), day(21, 0.5)]).weeks
    assert [one.sessions for one in weeks] == [1, 0, 0, 1]
    assert (weeks[1].pass_rate, weeks[1].score) == (None, None)
    assert len(trend_of([day(0, 0.5), day(7 * (LONGEST_GAP + 5), 0.5)]).weeks) == 2


def test_a_fall_and_a_rise_are_seen_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)

    def weeks(*means: float) -> list[DayOfResearch]:
        return [day(7 * number, *np.clip(rng.normal(mean, 0.1, 30), 0, 1)) for number, mean in enumerate(means)]

    assert trend_of(weeks(*[0.8] * 4, *[0.6] * 4)).direction is Direction.FALLING
    rising = trend_of(weeks(*[0.6] * 4, *[0.8] * 4))
    assert rising.direction is Direction.RISING
    assert rising.low is not None
    assert rising.high is not None
    assert rising.low < 0.2 < rising.high
    assert trend_of(weeks(*[0.7] * 8)).direction is Direction.UNCLEAR


def test_too_little_to_compare_says_so() -> None:
    assert trend_of([]).direction is Direction.TOO_FEW
    assert trend_of([day(0, 0.5, 0.6), day(7, 0.5)]).direction is Direction.TOO_FEW


def test_weeks_of_one_question_show_no_direction() -> None:
    rng = np.random.default_rng(0)
    days = [day(7 * week, *np.clip(rng.normal(0.6 + 0.2 * (week > 3), 0.1, 30), 0, 1)) for week in range(8)]
    assert trend_of(days).direction is Direction.RISING
    assert trend_of(days, AskedAgain(240, 1, 1.0)).direction is Direction.TOO_FEW
