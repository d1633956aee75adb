"""Time as an argument: code that needs it takes a `Clock`, so that tests never sleep and never patch.

Two readings exist. `now()` is the calendar (UTC, may jump); `monotonic()` is a stopwatch in seconds (never jumps).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """The moment, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a stopwatch that never goes back."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The moment, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a stopwatch that never goes back."""
        return time.monotonic()
