"""Parse the filters of an address; an error names the parameter and the value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeVar

from assay.errors import BadValue
from assay.records.research_log import QuestionOutcome, ResearchFilter

Choice = TypeVar("Choice", bound=StrEnum)
RANGES = {"1d": "last day", "7d": "last 7 days", "30d": "last 30 days", "90d": "last 90 days", "all": "all time"}
"""Time ranges that can be chosen, by their name in an address."""
DEFAULT_RANGE = "30d"


class Range(NamedTuple):
    """A time range; None: no limit on that side."""

    since: datetime | None
    until: datetime | None
    name: str
    """One of `RANGES`, or empty where days were given."""
    since_day: str = ""
    until_day: str = ""

    @property
    def said(self) -> str:
        """The range as text."""
        return RANGES.get(self.name) or f"{self.since_day or 'the beginning'} to {self.until_day or 'today'}"


def time_range(query: Mapping[str, str], now: datetime, *, default: str = DEFAULT_RANGE) -> Range:
    """Parse `range=30d`, or `from` and `to` as days, both included; refuse days in the wrong order."""
    first, last = query.get("from", ""), query.get("to", "")
    if first or last:
        since = _day(first, "from") if first else None
        until = _day(last, "to") + timedelta(days=1) if last else None
        if since is not None and until is not None and since >= until:
            raise BadValue(f"the range from {first} to {last} ends before it begins", remedy="Swap the two days.")
        return Range(since, until, "", first, last)
    name = query.get("range", "") or default
    if name not in RANGES:
        raise BadValue(f"there is no range {name!r}", remedy=f"Choose one of {', '.join(RANGES)}.")
    return Range(None if name == "all" else now - timedelta(days=int(name.removesuffix("d"))), None, name)


def whole_days(chosen: Range) -> Range:
    """Return a named range of several days from a midnight on, so that its days can be counted and listed alike."""
    if chosen.since is None or not chosen.name or chosen.name == "1d":
        return chosen
    return chosen._replace(since=datetime.combine(chosen.since.date() + timedelta(days=1), time(), tzinfo=UTC))


def period_before(chosen: Range, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the time of the same length before a range; None for a range without a beginning.

    It begins with a full minute, so that its sums can be remembered that long.
    """
    if chosen.since is None:
        return None
    begin = chosen.since - ((chosen.until or now) - chosen.since)
    return begin.replace(second=0, microsecond=0), chosen.since


def _day(text: str, field: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), time(), tzinfo=UTC)
    except ValueError as problem:
        raise BadValue(f"{field} {text!r} is not a day", remedy="Write it like 2026-11-15.") from problem


def share(query: Mapping[str, str], name: str) -> float | None:
    """Parse a number from 0 to 1; None: not given."""
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError as problem:
        raise BadValue(f"{name} {text!r} is not a number", remedy="Give a number from 0 to 1.") from problem
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{name} {text} is not from 0 to 1", remedy="Give a number from 0 to 1.")
    return value


def whole(query: Mapping[str, str], name: str, *, most: int) -> int | None:
    """Parse a whole number from 0 to `most`; None: not given."""
    text = query.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > most:
        raise BadValue(f"{name} {text!r} is not a number from 0 to {most:,}", remedy="Take it out of the address.")
    return int(text)


def one_of(query: Mapping[str, str], name: str, kinds: type[Choice]) -> Choice | None:
    """Parse a value of an enumeration; None: not given."""
    text = query.get(name, "").strip()
    if not text:
        return None
    try:
        return kinds(text)
    except ValueError as problem:
        raise BadValue(f"there is no {name} {text!r}", remedy=f"Choose one of {', '.join(kinds)}.") from problem


def yes(query: Mapping[str, str], name: str) -> bool | None:
    """Parse `yes` or `no`; None: not given."""
    text = query.get(name, "").strip()
    if text not in ("", "yes", "no"):
        raise BadValue(f"{name} {text!r} is neither yes nor no", remedy="Write yes or no.")
    return {"": None, "yes": True, "no": False}[text]


def research_filter(query: Mapping[str, str], chosen: Range) -> ResearchFilter:
    """Return the filter of answered questions that an address describes."""
    least, most = share(query, "least"), share(query, "most")
    if least is not None and most is not None and least > most:
        raise BadValue(f"the range of scores from {least:g} to {most:g} is empty", remedy="Swap the two.")
    return ResearchFilter(
        since=chosen.since,
        until=chosen.until,
        least_score=least,
        most_score=most,
        passed=yes(query, "passed"),
        outcome=one_of(query, "outcome", QuestionOutcome),
        failure_type=query.get("failure") or None,
        failed_dimension=query.get("dimension") or None,
        escalated=yes(query, "escalated"),
        skipped=yes(query, "skipped"),
        severe=yes(query, "severe"),
        least_iterations=whole(query, "iterations", most=100),
        prompt_version=query.get("prompt") or None,
        text=query.get("text") or None,
    )
