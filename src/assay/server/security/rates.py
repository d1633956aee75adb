"""How often: a bucket of requests for each caller, refilled steadily."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict

from assay.clock import Clock
from assay.server.errors import Refused

MOST_KNOWN = 10_000
"""Callers whose buckets are remembered; who has been silent longest is forgotten first, and starts full."""


class Rates:
    """Lets each caller send so many requests a minute, a burst of as many as a quarter of that."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self._clock = clock
        self._per_second = per_minute / 60.0
        self._size = max(per_minute / 4.0, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def spend(self, caller: str) -> None:
        """Count one request; refuse it when the bucket is empty."""
        wait = self._spent(caller, 1.0)
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise Refused(
                429,
                "too_many_requests",
                f"this caller may send {self._per_second * 60:.0f} requests a minute",
                remedy=f"Go on in {seconds} s, or set server.requests_per_minute higher.",
                headers={"Retry-After": seconds},
            )

    def is_empty(self, caller: str) -> bool:
        """Whether the next request would be refused; counts nothing."""
        return self._spent(caller, 0.0) > 0

    def _spent(self, caller: str, cost: float) -> float:
        """Take from a bucket; how long to wait when there is not enough in it."""
        now = self._clock.monotonic()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._size, now))
            left = min(left + (now - since) * self._per_second, self._size)
            wait = max(1.0 - left, 0.0) / self._per_second
            self._buckets[caller] = (left if wait > 0 else left - cost, now)
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        return wait
