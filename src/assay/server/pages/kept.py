"""The last few values that took long to compute: a page is looked at more than once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KEPT = 16
"""Values that one page keeps."""

T = TypeVar("T")


class LastFew(Generic[T]):
    """Values by what they were made from. One is made at a time: whoever wants the same waits and finds it."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, T] = {}
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """The value, if it is still there."""
        with self._lock:
            return self._kept.get(key)

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value, made if need be."""
        with self._making:
            known = self.find(key)
            if known is not None:
                return known
            made = make()
            with self._lock:
                self._kept[key] = made
                while len(self._kept) > self._most:
                    del self._kept[next(iter(self._kept))]
            return made
