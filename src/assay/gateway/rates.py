"""How often: a bucket of requests for each caller, refilled steadily; one of failures for each address and token."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict

from assay.clock import Clock
from assay.gateway.refusal import Refused

MOST_KNOWN = 10_000
"""Callers whose buckets are remembered; who has been silent longest is forgotten first, and starts full."""
FAILURES_PER_MINUTE = 60
"""Tokens that open nothing, from one address; a burst of a quarter of them."""
FAILURES_PER_TOKEN = 20
"""The same token that opens nothing, from any address, in a minute."""


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
        wait = self.take(caller)
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise Refused(
                429,
                "too_many_requests",
                f"this caller may send {self._per_second * 60:.0f} requests a minute",
                remedy=f"Go on in {seconds} s, or set server.requests_per_minute higher.",
                headers={"Retry-After": seconds},
            )

    def take(self, caller: str) -> float:
        """Take one from a bucket; seconds to wait when there is none in it."""
        now = self._clock.monotonic()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._size, now))
            left = min(left + (now - since) * self._per_second, self._size)
            wait = max(1.0 - left, 0.0) / self._per_second
            self._buckets[caller] = (left if wait > 0 else left - 1.0, now)
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        return wait


class Failures:
    """Slows down whoever shows tokens that open nothing, by address and by token.

    Only a failure is ever counted or refused. A good token is let in whatever others did from the same address: behind
    a proxy or a shared connection that address is everybody's.
    """

    def __init__(self, clock: Clock) -> None:
        self._addresses = Rates(clock, FAILURES_PER_MINUTE)
        self._tokens = Rates(clock, FAILURES_PER_TOKEN)

    def count(self, address: str, token: str) -> None:
        """Count a token that opened nothing; refuse with 429 when there were too many."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        wait = max(self._addresses.take(address), self._tokens.take(digest))
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise Refused(
                429,
                "too_many_failures",
                "too many tokens that open nothing were shown",
                remedy=f"Check the token, and try again in {seconds} s.",
                headers={"Retry-After": seconds, "Connection": "close"},
            )
