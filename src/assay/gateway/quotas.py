"""How often a caller may ask, and how much memory the bodies of requests may take.

- How often: requests a minute for each caller, failed tokens for each address and token.
- The same over all servers that share a store.
- How long a body may be, and how much memory all bodies may take together.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from starlette.types import Message, Receive

from assay.clock import Clock
from assay.gateway.headers import Headers
from assay.gateway.refusal import RequestRefused
from assay.records.coordination import Granted

# --- How often: requests a minute for each caller, failed tokens for each address and token ---

MOST_KNOWN = 10_000
"""Callers whose buckets are kept. The longest inactive is dropped first, and starts with a full bucket again."""
FAILURES_PER_MINUTE = 60
"""Invalid tokens from one address in a minute; a quarter of them may come at once."""
FAILURES_PER_TOKEN = 20
"""Uses of one invalid token in a minute, from any address."""


class RateCounter(Protocol):
    """Limits requests per minute for each caller; a quarter of them may come at once."""

    @property
    def per_minute(self) -> int:
        """Requests that a caller may send in a minute."""
        ...

    async def count(self, caller: str) -> float:
        """Count one request of a caller; return the seconds to wait if it may not be made now, else 0."""
        ...


async def spend(rates: RateCounter, caller: str) -> None:
    """Count one request; refuse it (429) when the caller has sent too many."""
    wait = await rates.count(caller)
    if wait > 0:
        seconds = str(math.ceil(wait))
        raise RequestRefused(
            429,
            "too_many_requests",
            f"this caller may send {rates.per_minute} requests a minute",
            remedy=f"Go on in {seconds} s, or set server.requests_per_minute higher.",
            headers={"Retry-After": seconds},
        )


class Rates:
    """Counts the requests of this process."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._per_second = per_minute / 60.0
        self._size = _burst_of(per_minute)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    async def count(self, caller: str) -> float:
        """Count one request of a caller; return the seconds to wait if it may not be made now, else 0."""
        return self.take(caller)

    def take(self, caller: str) -> float:
        """Take one from a caller's bucket; return the seconds to wait if it is empty, else 0."""
        now = self._clock.monotonic()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._size, now))
            left = min(left + (now - since) * self._per_second, self._size)
            wait = max(1.0 - left, 0.0) / self._per_second
            self._buckets[caller] = (left if wait > 0 else left - 1.0, now)
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        return wait


def _burst_of(per_minute: int) -> float:
    """Return how many requests may come at once."""
    return max(per_minute / 4.0, 1.0)


# --- The same over all servers that share a store ---
#
# Each server takes a few requests at a time from the caller's bucket in the store, and spends them by itself: a
# twentieth of what may come at once, so that a busy caller costs one question to the store for many requests. What was
# taken and not spent is dropped after a few seconds. So all servers together let through what one would, and no more.

BATCHES = 20
"""Into how many parts a full bucket is divided."""
SPENT_WITHIN_S = 10.0
"""Seconds after which requests that were taken and not spent are dropped."""


class TakeShared(Protocol):
    """Takes requests from a bucket in the store."""

    def __call__(self, bucket: str, *, wanted: int, size: float, per_second: float) -> Granted:
        """Take up to `wanted` requests from a bucket that holds at most `size` and fills at a rate."""
        ...


class SharedCounts(NamedTuple):
    """The store's counts, and how this server asks it."""

    take: TakeShared
    run: Callable[[Callable[[], Granted]], Awaitable[Granted]]
    """Runs a call off the event loop."""


class _Allowance(NamedTuple):
    """Requests that this server has taken and may still let through."""

    left: int
    until: float


class SharedRates:
    """Counts the requests of all servers. Used from one event loop."""

    def __init__(self, clock: Clock, per_minute: int, counts: SharedCounts, *, kind: str) -> None:
        """`kind`: what is counted, so that two limits of one caller are apart."""
        self.per_minute = per_minute
        self._clock = clock
        self._counts = counts
        self._kind = kind
        self._size = _burst_of(per_minute)
        self._batch = max(int(self._size / BATCHES), 1)
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def count(self, caller: str) -> float:
        """Count one request of a caller; return the seconds to wait if it may not be made now, else 0."""
        # The store keeps no token and no address, only the hash.
        bucket = hashlib.sha256(f"{self._kind}\x00{caller}".encode("utf-8", "surrogatepass")).hexdigest()
        if self._spend(bucket):
            return 0.0
        turn = self._asking.setdefault(bucket, asyncio.Lock())
        async with turn:
            # Another request of the same caller may have asked the store meanwhile.
            wait = 0.0 if self._spend(bucket) else await self._ask(bucket)
        if not turn.locked():
            self._asking.pop(bucket, None)
        return wait

    def _spend(self, bucket: str) -> bool:
        """Spend one of the requests that were taken; return whether there was one."""
        found = self._allowances.get(bucket)
        if found is None or found.left < 1 or self._clock.monotonic() >= found.until:
            return False
        self._allowances[bucket] = found._replace(left=found.left - 1)
        return True

    async def _ask(self, bucket: str) -> float:
        def take() -> Granted:
            per_second = self.per_minute / 60.0
            return self._counts.take(bucket, wanted=self._batch, size=self._size, per_second=per_second)

        granted = await self._counts.run(take)
        if not granted.requests:
            return granted.wait_s
        self._allowances[bucket] = _Allowance(granted.requests - 1, self._clock.monotonic() + SPENT_WITHIN_S)
        self._allowances.move_to_end(bucket)
        if len(self._allowances) > MOST_KNOWN:
            self._allowances.popitem(last=False)
        return 0.0


def rates_of(clock: Clock, per_minute: int, counts: SharedCounts | None, *, kind: str) -> RateCounter:
    """Return what counts requests: over all servers if they share counts, else in this process."""
    return Rates(clock, per_minute) if counts is None else SharedRates(clock, per_minute, counts, kind=kind)


class TokenFailures:
    """Limits attempts with invalid tokens, by address and by token.

    Only failures are counted and refused. A valid token is always accepted: many clients may share one address behind a
    proxy or a shared connection.
    """

    def __init__(self, clock: Clock, counts: SharedCounts | None = None) -> None:
        """`counts`: where all servers count together; None: this process counts by itself."""
        self._addresses = rates_of(clock, FAILURES_PER_MINUTE, counts, kind="failures of an address")
        self._tokens = rates_of(clock, FAILURES_PER_TOKEN, counts, kind="failures of a token")

    async def count(self, address: str, token: str) -> None:
        """Count an invalid token; refuse with 429 when there were too many."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        wait = max(await self._addresses.count(address), await self._tokens.count(digest))
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise RequestRefused(
                429,
                "too_many_failures",
                "too many invalid tokens were sent",
                remedy=f"Check the token, and try again in {seconds} s.",
                headers={"Retry-After": seconds, "Connection": "close"},
            )


# --- How long a body may be, and how much memory all bodies may take together ---
#
# An unauthenticated caller may send a few kB, others a few MB. Bodies being received share a fixed amount of memory, of
# which each caller may take a part: a caller that starts many large bodies and finishes none uses up only its own part.

LONGEST_BODY = 4 * 1024 * 1024
"""Bytes of one request of a known caller."""
LONGEST_UNKNOWN_BODY = 8 * 1024
"""Bytes of one request of an unauthenticated caller: enough for a token in a form."""
ROOM = 64 * 1024 * 1024
"""Bytes of all bodies that a process holds at once."""
SHARE = ROOM // 4
"""Bytes of them that one caller may take."""


class BodyRoom:
    """The memory that bodies may take. Used from one event loop."""

    def __init__(self, room: int = ROOM, share: int = SHARE) -> None:
        self._room = room
        self._share = share
        self._taken: Counter[str] = Counter()
        self._total = 0

    @property
    def taken(self) -> int:
        """Bytes that are held now."""
        return self._total

    def take(self, holder: str, size: int) -> None:
        """Count bytes that a caller sent; refuse them (503) when there is no room."""
        if self._total + size > self._room or self._taken[holder] + size > self._share:
            raise RequestRefused(
                503,
                "no_room",
                "too many large requests are being received",
                remedy="Send fewer at the same time; try again in a few seconds.",
                headers={"Connection": "close"},
            )
        self._total += size
        self._taken[holder] += size

    def give_back(self, holder: str, size: int) -> None:
        """Count bytes that are no longer held."""
        self._total -= size
        self._taken[holder] -= size
        if self._taken[holder] <= 0:
            del self._taken[holder]


class BodyReader:
    """Reads the body of one request. Its bytes count as held until `release`."""

    def __init__(self, room: BodyRoom, holder: str, longest: int) -> None:
        self._room = room
        self._holder = holder
        self._longest = longest
        self._held = 0

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body; refuse it as soon as it is too long."""
        # More than twenty digits are more than any limit; `int` of very many of them would take its time.
        stated = next((value for name, value in headers if name == "content-length"), "0")
        if not stated.isascii() or not stated.isdigit() or int(stated[:20]) > self._longest:
            raise self._too_long()
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestRefused(
                    400, "cut_off", "the request ended in the middle of its body", remedy="Send it again."
                )
            part = message.get("body", b"")
            if self._held + len(part) > self._longest:
                raise self._too_long()
            if part:
                self._room.take(self._holder, len(part))
                self._held += len(part)
                parts.append(part)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    def release(self) -> None:
        """Give back the memory of the body."""
        self._room.give_back(self._holder, self._held)
        self._held = 0

    def _too_long(self) -> RequestRefused:
        remedy = "Send less at a time, or save by file."
        if self._longest < LONGEST_BODY:
            remedy = "Show a token first: callers that are not known may send little."
        return RequestRefused(413, "too_large", f"the request is over {self._longest:,} bytes", remedy=remedy)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first gives a body that was read already, then the messages that follow."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
