"""One reading for all roles of a checkpoint: the analysis is made once for each material, whoever asks first.

Roles run in parallel; the others wait for the first instead of doing the same work beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from assay.records.research import Material

Reading = TypeVar("Reading")


class SharedReading(Generic[Reading]):
    """Reads a material once and remembers the last reading."""

    def __init__(self, read: Callable[[Material], Reading]) -> None:
        self._read = read
        self._lock = Lock()
        self._last: tuple[Material, Reading] | None = None

    def __call__(self, material: Material) -> Reading:
        """The reading of this material."""
        with self._lock:
            if self._last is None or self._last[0] != material:
                self._last = (material, self._read(material))
            return self._last[1]
