"""Dates in texts as periods, and whether one names the time that another means."""

from __future__ import annotations

from datetime import date

import pytest

from assay.text.periods import Period, read_periods, without_periods
from assay.text.relative_times import read_relative


def only(text: str) -> Period:
    [found] = read_periods(text)
    return found


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 7 May 2023", date(2023, 5, 7), date(2023, 5, 7)),
        ("May 7th, 2023", date(2023, 5, 7), date(2023, 5, 7)),
        ("2023-05-07", date(2023, 5, 7), date(2023, 5, 7)),
        ("the weekend of 9-10 September 2023", date(2023, 9, 9), date(2023, 9, 10)),
        ("between 29 June and 5 July 2023", date(2023, 6, 29), date(2023, 7, 5)),
        ("2 October 2023 to Sunday, 8 October 2023", date(2023, 10, 2), date(2023, 10, 8)),
        ("the Friday before 15 July 2023", date(2023, 7, 14), date(2023, 7, 14)),
        ("the Friday before 24 June 2022", date(2022, 6, 17), date(2022, 6, 17)),
        ("two days after 3 June 2022", date(2022, 6, 5), date(2022, 6, 5)),
        ("the week before 9 June 2023", date(2023, 6, 2), date(2023, 6, 8)),
        ("two weekends before 17 July 2023", date(2023, 7, 8), date(2023, 7, 9)),
        ("the weekend after 3 June 2022", date(2022, 6, 4), date(2022, 6, 5)),
        ("the last week of September 2023", date(2023, 9, 24), date(2023, 9, 30)),
        ("the first weekend of July 2023", date(2023, 7, 1), date(2023, 7, 2)),
        ("the first half of July 2023", date(2023, 7, 1), date(2023, 7, 15)),
        ("early August, 2023", date(2023, 8, 1), date(2023, 8, 10)),
        ("mid-August 2023", date(2023, 8, 11), date(2023, 8, 21)),
        ("August 2023", date(2023, 8, 1), date(2023, 8, 31)),
        ("summer of 2023", date(2023, 6, 1), date(2023, 8, 30)),
        ("winter 2023", date(2023, 12, 1), date(2024, 2, 28)),
        ("since 2016", date(2016, 1, 1), date(2016, 12, 31)),
    ],
)
def test_a_date_is_a_period(text: str, first: date, last: date) -> None:
    found = only(text)
    assert (found.first, found.last) == (first, last)


def test_what_is_no_date_is_left_out() -> None:
    assert read_periods("she may march on 31 June") == []
    assert [period.shown for period in read_periods("on 5 May and 7 June 2023")] == ["5 May", "7 June 2023"]
    assert without_periods("The Friday before 15 July 2023, after work").split() == ["The", ",", "after", "work"]


@pytest.mark.parametrize(
    ("said", "meant", "fits"),
    [
        ("7 May 2023", "7 May 2023", True),
        ("12 April 2023", "7 May 2023", False),
        ("May 2023", "7 May 2023", False),
        ("12 July 2023", "July 2023", True),
        ("spring 2023", "April 2023", False),
        ("14 July 2023", "the Friday before 15 July 2023", True),
        ("3 June 2023", "the week before 9 June 2023", True),
        ("the week before 16 June 2023", "the week before 9 June 2023", False),
        ("13 August 2023", "13 August", True),
        ("13 August", "13 August 2023", True),
        ("2021", "2022", False),
    ],
)
def test_a_time_fits_when_it_lies_within_and_is_as_exact(said: str, meant: str, fits: bool) -> None:
    assert only(said).fits(only(meant)) is fits


def test_a_coarser_time_touches_without_fitting() -> None:
    assert only("July 2023").touches(only("12 July 2023"))
    assert not only("August 2023").touches(only("12 July 2023"))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", date(2023, 5, 7), date(2023, 5, 7)),
        ("tomorrow", date(2023, 5, 9), date(2023, 5, 9)),
        ("today", date(2023, 5, 8), date(2023, 5, 8)),
        ("last Friday", date(2023, 4, 28), date(2023, 5, 5)),
        ("next Friday", date(2023, 5, 12), date(2023, 5, 19)),
        ("last week", date(2023, 5, 1), date(2023, 5, 7)),
        ("next week", date(2023, 5, 9), date(2023, 5, 21)),
        ("this week", date(2023, 5, 8), date(2023, 5, 14)),
        ("last weekend", date(2023, 5, 5), date(2023, 5, 14)),
        ("last month", date(2023, 4, 1), date(2023, 4, 30)),
        ("next month", date(2023, 6, 1), date(2023, 6, 30)),
        ("last year", date(2022, 1, 1), date(2022, 12, 31)),
        ("three days ago", date(2023, 5, 5), date(2023, 5, 5)),
        ("a few days ago", date(2023, 4, 29), date(2023, 5, 10)),
        ("2 weeks from now", date(2023, 5, 17), date(2023, 5, 27)),
    ],
)
def test_a_time_is_told_from_the_day_it_is_said_on(text: str, first: date, last: date) -> None:
    [found] = read_relative(text, date(2023, 5, 8))
    assert (found.first, found.last) == (first, last)
