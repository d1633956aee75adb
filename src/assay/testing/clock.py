"""A clock that a test moves by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from assay.records import values

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FixedClock:
    """Both readings stand still; `advance` moves them together, `jump` moves the calendar alone.

    >>> clock = FixedClock()
    >>> clock.advance(days=1)
    >>> clock.now().isoformat()
    '2026-01-06T09:00:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        self._now = values.moment(start, "start")
        self._monotonic = 0.0

    def now(self) -> datetime:
        """The moment, in UTC."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._monotonic

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        """Let time pass."""
        passed = timedelta(days=days, hours=hours, seconds=seconds)
        self._now += passed
        self._monotonic += passed.total_seconds()

    def jump(self, to: datetime) -> None:
        """Set the calendar, also backwards, as an administrator would."""
        self._now = values.moment(to, "to")
