"""Dates in a text as periods: `7 May 2023`, `the Friday before 15 July`, `early June 2023`, `summer 2022`, `2019`.

`read_periods` finds them, `Period.fits` says whether one names the time that another means: it must lie within it and
be about as exact. `in July 2023` does not fit `12 July 2023`, `12 July 2023` fits `July 2023`. English, Gregorian.

A phrase that people use in two ways (`the week before 13 October`: the seven days before it, or the calendar week
before) has a wider span in which it may lie and a core, the usual reading.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta

from assay.text.wording import MONTHS, NUMBER_WORDS, WEEKDAYS

READ = 20_000
"""Characters of a text that are looked at."""
NOMINAL_YEAR = 2000
"""Stands for a year that a text does not name; a leap year, so that every day exists."""
SLACK = 1.25
"""How much longer than a period one may be that is still as exact: 10 days for a week are, a month is not."""
INSIDE = 0.7
"""The share of a period that must lie within the other."""
MONTH_DAYS = (28, 31)
YEAR_DAYS = 365
SATURDAY = 5
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WEEKDAY = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)day"
_COUNT = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
_DAY_OF = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1[5-9]|20)\d\d"
_TO = r"\s*(?:-|\u2013|\u2014|to|and|until|through)\s*"
_BASE = re.compile(
    rf"""
    (?P<iso>\b{_YEAR}-\d\d-\d\d\b)
  | (?P<span>\b(?P<span_from>{_DAY_OF}){_TO}(?P<span_to>{_DAY_OF})\s*(?:of\s+)?(?P<span_month>{_MONTH})\b
      (?:,?\s*(?P<span_year>{_YEAR})\b)?)
  | (?P<us_span>\b(?P<us_month>{_MONTH})\s+(?P<us_from>{_DAY_OF}){_TO}(?P<us_to>{_DAY_OF})\b(?!\s*{_MONTH})
      (?:,?\s*(?P<us_year>{_YEAR})\b)?)
  | (?P<day>\b(?P<day_day>{_DAY_OF})\s*(?:of\s+)?(?P<day_month>{_MONTH})\b\.?(?:,?\s*(?P<day_year>{_YEAR})\b)?)
  | (?P<us_day>\b(?P<usd_month>{_MONTH})\.?\s+(?P<usd_day>{_DAY_OF})\b(?:,?\s*(?P<usd_year>{_YEAR})\b)?)
  | (?P<month>\b(?P<m_month>{_MONTH})[.,\s]+(?:of\s+|in\s+)?(?P<m_year>{_YEAR})\b)
  | (?P<bare>\b(?P<bare_month>January|February|March|April|May|June|July|August|September|October|November|December)\b)
  | (?P<season>\b(?P<s_name>spring|summer|fall|autumn|winter)(?:\s+(?:months\s+)?(?:of\s+)?|,\s*)(?P<s_year>{_YEAR})\b)
  | (?P<year>\b{_YEAR}\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?P<part>early|mid|middle|late|later|end|beginning|start)(?:\s*(?:-|to|or)\s*(?P<other>mid|late))?"
    r"[-\s]+(?:(?:part\s+)?(?:of|in)\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
_WEEK_IN = re.compile(
    r"\b(?P<place>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+(?P<what>week|weekend|half)\s+(?:of|in)\s+$",
    re.IGNORECASE,
)
_AROUND = re.compile(r"\b(?P<what>week|weekend)\s+(?:of|starting|beginning|from|around)\s+(?:the\s+)?$", re.IGNORECASE)
_SHIFT = re.compile(
    rf"\b(?:(?P<count>{_COUNT})\s+)?(?P<what>days?|nights?|weeks?|weekends?|months?|years?|{_WEEKDAY}s?)\s+"
    r"(?P<way>before|prior\s+to|preceding|after|following)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_JOINED = re.compile(rf"^{_TO}(?:the\s+)?(?:{_WEEKDAY},?\s*)?$", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from|week)\b", re.IGNORECASE)
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_PLACES = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3}
_LONGEST_BEFORE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A time that a text names."""

    first: date
    last: date
    widest: tuple[date, date]
    """In which it may lie, where the phrase has two readings; else the same days."""
    has_year: bool = True
    shown: str = ""
    place: tuple[int, int] = (0, 0)
    """Where its words begin and end in the text."""

    @property
    def days(self) -> int:
        """How many days it has: how exact it is."""
        return (self.last - self.first).days + 1

    def fits(self, meant: Period) -> bool:
        """Whether this names the time that another period means: within it, and about as exact."""
        mine, other = _on_one_calendar(self, meant)
        if mine.days > max(1, other.days * SLACK):
            return False
        return _share_within(mine, other.widest) >= INSIDE

    def touches(self, meant: Period) -> bool:
        """Whether both have a day in common, however exact they are."""
        mine, other = _on_one_calendar(self, meant)
        return mine.widest[0] <= other.widest[1] and other.widest[0] <= mine.widest[1]


def read_periods(text: str) -> list[Period]:
    """Return the times that a text names, in order. What cannot be a date, such as 31 June, is left out."""
    text = text[:READ]
    found: list[Period] = []
    for match in _BASE.finditer(text):
        period = _read_base(match)
        if period is None:
            continue
        if found and _is_joined(found[-1], period, text):
            found[-1] = _join(found[-1], period, text)
        else:
            found.append(_modify(period, text[max(0, match.start() - _LONGEST_BEFORE) : match.start()]))
    return found


def without_periods(text: str) -> str:
    """Return a text without the words that name a time."""
    for period in reversed(read_periods(text)):
        text = f"{text[: period.place[0]]} {text[period.place[1] :]}"
    return text


def _is_joined(first: Period, last: Period, text: str) -> bool:
    """Whether the words between two days make one period of them; `and` alone may name two days."""
    if max(first.days, last.days) > 1:
        return False
    between = text[first.place[1] : last.place[0]]
    before = text[max(0, first.place[0] - _LONGEST_BEFORE) : first.place[0]]
    return bool(_JOINED.match(between)) and ("and" not in between.lower() or bool(_BETWEEN.search(before)))


def _share_within(period: Period, span: tuple[date, date]) -> float:
    overlap = (min(period.last, span[1]) - max(period.first, span[0])).days + 1
    return max(0, overlap) / period.days


def _on_one_calendar(one: Period, other: Period) -> tuple[Period, Period]:
    """Both periods; where one names no year, it is taken to be in the year of the other."""
    if one.has_year == other.has_year:
        return one, other
    return (_in_year(one, other.last.year), other) if other.has_year else (one, _in_year(other, one.last.year))


def _in_year(period: Period, year: int) -> Period:
    first, last, low, high = (_move(day, year) for day in (period.first, period.last, *period.widest))
    return replace(period, first=first, last=max(first, last), widest=(low, max(low, high)))


def _move(day: date, year: int) -> date:
    return day.replace(year=year, day=min(day.day, calendar.monthrange(year, day.month)[1]))


# --- Base dates: a day, a span of days, a month, a season, a year ---


def _read_base(match: re.Match[str]) -> Period | None:
    kind = next(name for name in _BASES if match[name])
    try:
        return _BASES[kind](match)
    except ValueError:  # 31 June
        return None


def _plain(first: date, last: date, match: re.Match[str], *, has_year: bool = True) -> Period:
    if last < first:
        raise ValueError
    return Period(first=first, last=last, widest=(first, last), has_year=has_year, shown=match[0], place=match.span())


def _month_of(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _number_of(day: str) -> int:
    return int(re.match(r"\d+", day)[0])  # type: ignore[index]  # the pattern begins with digits


def _iso(match: re.Match[str]) -> Period:
    day = date.fromisoformat(match[0])
    return _plain(day, day, match)


def _days(prefix: tuple[str, str, str, str]) -> Callable[[re.Match[str]], Period]:
    """A reader of one day or of a span of days in one month, by the names of its groups."""
    first, last, month, year = prefix

    def read(match: re.Match[str]) -> Period:
        named = match[year]
        in_year, in_month = int(named or NOMINAL_YEAR), _month_of(match[month])
        ends = (date(in_year, in_month, _number_of(match[first])), date(in_year, in_month, _number_of(match[last])))
        return _plain(*ends, match, has_year=bool(named))

    return read


def _whole_month(match: re.Match[str]) -> Period:
    return _month(int(match["m_year"]), _month_of(match["m_month"]), match)


def _bare_month(match: re.Match[str]) -> Period:
    if match[0][0].islower():  # "may" and "march" are words
        raise ValueError
    return _month(NOMINAL_YEAR, _month_of(match[0]), match, has_year=False)


def _month(year: int, month: int, match: re.Match[str], *, has_year: bool = True) -> Period:
    days = calendar.monthrange(year, month)[1]
    return _plain(date(year, month, 1), date(year, month, days), match, has_year=has_year)


def _season(match: re.Match[str]) -> Period:
    year, month = int(match["s_year"]), _SEASONS[match["s_name"].lower()]
    if month == 12:
        # "winter 2023" may be the one that begins in it or the one that ends in it.
        made = _plain(date(year, 12, 1), date(year + 1, 2, 28), match)
        return replace(made, widest=(date(year, 1, 1), date(year + 1, 3, 20)))
    made = _plain(date(year, month, 1), date(year, month + 2, 30), match)
    return replace(made, widest=(made.first, date(year, month + 3, 22)))


def _year(match: re.Match[str]) -> Period:
    return _plain(date(int(match[0]), 1, 1), date(int(match[0]), 12, 31), match)


_BASES: dict[str, Callable[[re.Match[str]], Period]] = {
    "iso": _iso,
    "span": _days(("span_from", "span_to", "span_month", "span_year")),
    "us_span": _days(("us_from", "us_to", "us_month", "us_year")),
    "day": _days(("day_day", "day_day", "day_month", "day_year")),
    "us_day": _days(("usd_day", "usd_day", "usd_month", "usd_year")),
    "month": _whole_month,
    "bare": _bare_month,
    "season": _season,
    "year": _year,
}


def _join(first: Period, last: Period, text: str) -> Period:
    """Two days with `to` between them as one period; the year of one counts for both."""
    first, last = _on_one_calendar(first, last)
    place = (first.place[0], last.place[1])
    shown = text[place[0] : place[1]]
    if last.first < first.first:
        return replace(last, shown=shown, place=place)
    has_year = first.has_year or last.has_year
    ends = (first.first, last.last)
    return Period(first=ends[0], last=ends[1], widest=ends, has_year=has_year, shown=shown, place=place)


# --- Words before a date that move or narrow it ---


def _modify(period: Period, before: str) -> Period:
    for pattern, change in _CHANGES:
        match = pattern.search(before)
        if match is not None:
            changed = change(period, match)
            start = period.place[0] - len(match[0])
            return replace(changed, shown=f"{match[0]}{period.shown}".strip(), place=(start, period.place[1]))
    return period


def _narrow(period: Period, match: re.Match[str]) -> Period:
    """Take a third of a month or a year. A day stays what it is, and a season, whose thirds nobody agrees on."""
    if period.days < MONTH_DAYS[0] or MONTH_DAYS[1] < period.days < YEAR_DAYS:
        return period
    parts = [_THIRD_OF[name.lower()] for name in (match["part"], match["other"]) if name]
    third = period.days / 3
    first = period.first + timedelta(days=round(min(parts) * third))
    last = period.first + timedelta(days=round((max(parts) + 1) * third) - 1)
    return replace(period, first=first, last=min(last, period.last), widest=(first, min(last, period.last)))


_THIRD_OF = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "later": 2, "end": 2}


def _week_in(period: Period, match: re.Match[str]) -> Period:
    if not MONTH_DAYS[0] <= period.days <= MONTH_DAYS[1]:
        return period
    what, place = match["what"].lower(), match["place"].lower()
    if what == "half":
        middle = period.first + timedelta(days=14)
        ends = (period.first, middle) if place in {"first", "1st"} else (middle, period.last)
        return replace(period, first=ends[0], last=ends[1], widest=ends)
    if what == "weekend":
        saturdays = [day for day in _each_day(period) if day.weekday() == SATURDAY]
        saturday = saturdays[-1] if place == "last" else saturdays[min(_PLACES[place], len(saturdays) - 1)]
        return _around(period, saturday, saturday + timedelta(days=1), 1)
    start = period.last - timedelta(days=6) if place == "last" else period.first + timedelta(days=7 * _PLACES[place])
    return _around(period, start, start + timedelta(days=6), 4)


def _week_of(period: Period, match: re.Match[str]) -> Period:
    if period.days > 2:
        return period
    if match["what"].lower() == "weekend":
        saturday = _nearest_saturday(period.first)
        return _around(period, saturday, saturday + timedelta(days=1), 1)
    monday = period.first - timedelta(days=period.first.weekday())
    made = _around(period, monday, monday + timedelta(days=6), 0)
    week = timedelta(days=6)
    return replace(made, widest=(min(monday, period.first - week), max(made.last, period.first + week)))


def _shift(period: Period, match: re.Match[str]) -> Period:
    """`two weekends before 17 July`, `the Friday after 3 June`, `a month before`, `the day after`."""
    if period.days > MONTH_DAYS[1]:
        return period
    what = match["what"].lower().rstrip("s")
    count = _count(match["count"])
    back = match["way"].lower().startswith(("before", "prior", "preceding"))
    anchor = period.first if back else period.last
    sign = -1 if back else 1
    if what.endswith("day") and what != "day":
        return _weekday(period, anchor, WEEKDAYS.index(what[:3]), sign * count)
    if what == "weekend":
        return _weekend(period, anchor, sign * count)
    if what in {"day", "night"}:
        day = anchor + timedelta(days=sign * count)
        return _around(period, day, day, 0 if count == 1 else 1)
    length = {"week": 7, "month": 30, "year": 365}[what]
    near, far = anchor + timedelta(days=sign), anchor + timedelta(days=sign * length * count)
    if count > 1:
        near = anchor + timedelta(days=sign * (length * (count - 1) + 1))
    first, last = min(near, far), max(near, far)
    made = _around(period, first, last, 0)
    monday = anchor - timedelta(days=anchor.weekday()) + timedelta(days=7 * sign * count)
    if what != "week":
        return made
    return replace(made, widest=(min(first, monday), max(last, monday + timedelta(days=6)) if not back else last))


def _weekday(period: Period, anchor: date, weekday: int, count: int) -> Period:
    if not period.has_year:
        ends = sorted((anchor + timedelta(days=7 * count), anchor + timedelta(days=1 if count > 0 else -1)))
        return replace(period, first=ends[0], last=ends[1], widest=(ends[0], ends[1]))
    step = 1 if count > 0 else -1
    day = anchor + timedelta(days=step)
    while day.weekday() != weekday:
        day += timedelta(days=step)
    day += timedelta(days=7 * (count - step))
    return _around(period, day, day, 0)


def _weekend(period: Period, anchor: date, count: int) -> Period:
    step = 1 if count > 0 else -1
    saturday = anchor + timedelta(days=step * (1 if step > 0 else 2))
    while saturday.weekday() != SATURDAY:
        saturday += timedelta(days=step)
    saturday += timedelta(days=7 * (count - step))
    made = _around(period, saturday, saturday + timedelta(days=1), 0)
    # Of two weekends before a Monday, the one just past may or may not count as the first.
    other = saturday + timedelta(days=7 * step)
    if abs(count) > 1:
        return replace(made, widest=(min(saturday, other), max(saturday, other) + timedelta(days=1)))
    friday = saturday - timedelta(days=1)
    return replace(made, widest=(min(friday, made.first), made.last))


def _count(text: str | None) -> int:
    if text is None or text.lower() in {"a", "an"}:
        return 1
    return int(text) if text.isdigit() else int(NUMBER_WORDS[text.lower()])


def _around(period: Period, first: date, last: date, slack: int) -> Period:
    wide = timedelta(days=slack)
    return replace(period, first=first, last=last, widest=(first - wide, last + wide))


def _nearest_saturday(day: date) -> date:
    ahead = (SATURDAY - day.weekday()) % 7
    return day + timedelta(days=ahead) if ahead <= 5 else day - timedelta(days=1)


def _each_day(period: Period) -> Iterator[date]:
    for number in range(period.days):
        yield period.first + timedelta(days=number)


_CHANGES: tuple[tuple[re.Pattern[str], Callable[[Period, re.Match[str]], Period]], ...] = (
    (_WEEK_IN, _week_in),
    (_PART, _narrow),
    (_AROUND, _week_of),
    (_SHIFT, _shift),
)
