"""Ids that sort by the time they were made: a prefix that says what it names, then a ULID.

A ULID is 48 bits of time and 80 of chance.
Ids made by one factory always grow, also within a millisecond and when the clock goes back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from assay.clock import Clock

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


class IdFactory:
    """Makes ids such as `m_01JABCDEFGHJKMNPQRSTVWXYZ0`."""

    def __init__(self, clock: Clock, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._clock = clock
        self._entropy = entropy
        self._last = 0
        self._lock = threading.Lock()

    def new(self, prefix: str) -> str:
        """The next id."""
        milliseconds = int(self._clock.now().timestamp() * 1000)
        fresh = (milliseconds << _RANDOM_BITS) | int.from_bytes(self._entropy(_RANDOM_BITS // 8), "big")
        with self._lock:
            self._last = max(fresh, self._last + 1)
            number = self._last
        return f"{prefix}_{_crockford(number)}"


def _crockford(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
