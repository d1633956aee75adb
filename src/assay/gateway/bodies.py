"""How long a body may be, and how much memory the bodies of all requests may take together.

Before a caller is known a body may have a few kB, later a few MB. What is being received takes from one common room,
of which each caller has a share: somebody who begins many large bodies and ends none uses up that share alone.
"""

from __future__ import annotations

from collections import Counter

from starlette.types import Message, Receive

from assay.gateway.hosts import Headers
from assay.gateway.refusal import Refused

LONGEST_BODY = 4 * 1024 * 1024
"""Bytes of one request of a known caller."""
LONGEST_UNKNOWN_BODY = 8 * 1024
"""Bytes of one request of anybody else: enough for a token in a form."""
ROOM = 64 * 1024 * 1024
"""Bytes of all bodies that a process holds at once."""
SHARE = ROOM // 4
"""Of them, for one caller."""


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
            raise Refused(
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
        """The whole body, or a refusal as soon as it is too long."""
        # More than twenty digits are more than any limit; `int` of very many of them would take its time.
        stated = next((value for name, value in headers if name == "content-length"), "0")
        if not stated.isascii() or not stated.isdigit() or int(stated[:20]) > self._longest:
            raise self._too_long()
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "cut_off", "the request ended in the middle of its body", remedy="Send it again.")
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
        """The body is no longer needed."""
        self._room.give_back(self._holder, self._held)
        self._held = 0

    def _too_long(self) -> Refused:
        remedy = "Send less at a time, or save by file."
        if self._longest < LONGEST_BODY:
            remedy = "Show a token first: callers that are not known may send little."
        return Refused(413, "too_large", f"the request is over {self._longest:,} bytes", remedy=remedy)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, then whatever comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
