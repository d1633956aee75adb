"""Times that are told from the day on which something is said: `yesterday`, `last Friday`, `two weeks ago`.

`read_relative` gives them as periods, wide enough for the ways in which people use such words.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from assay.text.periods import SATURDAY, Period
from assay.text.wording import NUMBER_WORDS, WEEKDAYS

_COUNT = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}|a\s+few|a\s+couple\s+of)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PATTERN = re.compile(
    rf"\b(?:(?P<day>yesterday|today|tonight|tomorrow|last\s+night|this\s+morning)"
    rf"|(?P<way>last|past|next|this|coming)\s+(?P<unit>week(?:end)?|month|year|{_WEEKDAY})"
    rf"|(?P<count>{_COUNT})\s+(?P<counted>days?|weeks?|weekends?|months?|years?)\s+(?P<ago>ago|back|from\s+now))\b",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_FEW = (2, 5)
_SLACK = 0.35
"""How far off a count of weeks, months or years may be, as a share of it."""


def read_relative(text: str, said_on: date) -> list[Period]:
    """Return the times that a text tells from the day it was said on, in order."""
    return [_read(match, said_on) for match in _PATTERN.finditer(text)]


def _read(match: re.Match[str], said_on: date) -> Period:
    if match["day"]:
        offset = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(" ".join(match["day"].lower().split()), 0)
        day = said_on + timedelta(days=offset)
        return _period(match, day, day)
    if match["unit"]:
        return _named(match, said_on)
    return _counted(match, said_on)


def _named(match: re.Match[str], said_on: date) -> Period:
    way, unit = match["way"].lower(), match["unit"].lower()
    step = {"last": -1, "past": -1, "next": 1, "coming": 1}.get(way, 0)
    if unit.endswith("day"):
        weekday = WEEKDAYS.index(unit[:3])
        days = (weekday - said_on.weekday()) % 7 or (7 if step else 0)
        day = said_on + timedelta(days=days if step >= 0 else days - 7)
        return (
            _period(match, day - timedelta(days=7), day) if step < 0 else _period(match, day, day + timedelta(days=7))
        )
    monday = said_on - timedelta(days=said_on.weekday())
    if unit == "week":
        return _period(match, *_ordered(monday + timedelta(days=7 * step), said_on, step, 6))
    if unit == "weekend":
        saturday = monday + timedelta(days=SATURDAY + 7 * step)
        return _period(match, saturday - timedelta(days=1), saturday + timedelta(days=1 if step >= 0 else 8))
    if unit == "month":
        months = said_on.year * 12 + said_on.month - 1 + step
        first = date(months // 12, months % 12 + 1, 1)
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        return _period(match, first, last)
    year = said_on.year + step
    return _period(match, date(year, 1, 1), date(year, 12, 31))


def _ordered(start: date, said_on: date, step: int, length: int) -> tuple[date, date]:
    """A calendar week, or the seven days before or after the day: people mean either."""
    first, last = start, start + timedelta(days=length)
    if step < 0:
        return first, max(last, said_on - timedelta(days=1))
    return (first, last) if step == 0 else (min(first, said_on + timedelta(days=1)), last)


def _counted(match: re.Match[str], said_on: date) -> Period:
    text, unit = " ".join(match["count"].lower().split()), match["counted"].lower().rstrip("s")
    low, high = _FEW if text.startswith("a ") else (_number(text), _number(text))
    sign = 1 if match["ago"].lower().startswith("from") else -1
    size = _DAYS[unit]
    slack = 0 if unit == "day" and low == high else max(4, round(_SLACK * size * high))
    ends = sorted((said_on + timedelta(days=sign * size * low), said_on + timedelta(days=sign * size * high)))
    return _period(match, ends[0] - timedelta(days=slack), ends[1] + timedelta(days=slack))


def _number(text: str) -> int:
    if text in {"a", "an"}:
        return 1
    return int(text) if text.isdigit() else int(NUMBER_WORDS[text])


def _period(match: re.Match[str], first: date, last: date) -> Period:
    return Period(first=first, last=last, widest=(first, last), shown=match[0], place=match.span())
