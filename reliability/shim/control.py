"""Arming and disarming faults, from inside the process they happen to."""

from __future__ import annotations

import errno
import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntFlag
from pathlib import Path

_LAYOUT = struct.Struct("<6q")


class Calls(IntFlag):
    """Kinds of calls, as the shim counts them."""

    OPEN = 1
    CREATE = 2
    WRITE = 4
    TRUNCATE = 8
    SYNC = 16
    READ = 32
    REMOVE = 64


CHANGING = Calls.OPEN | Calls.CREATE | Calls.WRITE | Calls.TRUNCATE | Calls.SYNC | Calls.REMOVE
LASTING = {
    errno.ENOSPC: Calls.CREATE | Calls.WRITE | Calls.TRUNCATE | Calls.SYNC,
    errno.EROFS: Calls.CREATE | Calls.WRITE | Calls.TRUNCATE | Calls.REMOVE,
    errno.EIO: Calls.CREATE | Calls.WRITE | Calls.TRUNCATE | Calls.SYNC | Calls.REMOVE,
}
"""What goes on failing on a full disk, on one mounted read-only, on one that takes nothing any more."""


def counted(error: int) -> Calls:
    """The calls among which the n-th fails; only a broken disk fails to read."""
    return CHANGING | Calls.READ if error == errno.EIO else CHANGING


class Control:
    """The page shared with the shim."""

    def __init__(self, path: Path) -> None:
        file = os.open(path, os.O_RDWR)
        self._page = mmap.mmap(file, _LAYOUT.size)
        os.close(file)

    @property
    def calls(self) -> int:
        """How many calls were counted since the last arming."""
        return int(_LAYOUT.unpack(self._page[:])[0])

    @property
    def failed(self) -> int:
        """How many of them were made to fail."""
        return int(_LAYOUT.unpack(self._page[:])[5])

    @contextmanager
    def armed(self, error: int, *, at: int, kinds: Calls, sticky: bool = False) -> Iterator[None]:
        """The n-th call fails inside the body, or every call from the n-th on; `at=0` only counts."""
        self._page[:] = _LAYOUT.pack(0, at, sticky, error, kinds, 0)
        try:
            yield
        finally:
            calls, _, _, _, _, failed = _LAYOUT.unpack(self._page[:])
            self._page[:] = _LAYOUT.pack(calls, 0, 0, 0, 0, failed)


def new_page(path: Path) -> Path:
    """An unarmed page for a child that is about to start."""
    path.write_bytes(bytes(_LAYOUT.size))
    return path
