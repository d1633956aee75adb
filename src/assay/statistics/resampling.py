"""Draw large samples in short steps, with the same numbers as in one piece.

A generator gives the same draws in steps as at once. Arrays of a step stay in the cache of the processor, where arrays
of a whole sample of millions would be fetched from memory several times.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assay.statistics.inputs import Floats

STEP = 1 << 15
"""Draws of a step; samples that are not larger are drawn in one piece, several at a time."""
_FEW = 1 << 16
"""Up to so many different values are picked by their numbers, which take a byte or two."""


def draw_places(count: int, rng: np.random.Generator) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Draw as many places below `count`, with replacement, in steps: where each step is in the sample, and its draws.

    `rng.integers(0, count, size=count)` gives the same places.
    """
    for start in range(0, count, STEP):
        part = slice(start, min(count, start + STEP))
        yield part, rng.integers(0, count, size=part.stop - part.start)


class Sample:
    """A sample of values, drawn again and again in the same memory."""

    def __init__(self, values: Floats) -> None:
        self.drawn: Floats = np.empty(len(values))
        """The values of the last sample, in the order in which they were drawn."""
        # By their bits: 0.0 and -0.0 are equal, and do not add up to the same.
        distinct, numbers = np.unique(values.view(np.int64), return_inverse=True)
        few = len(distinct) <= _FEW
        self._distinct: Floats | None = distinct.view(np.float64) if few else None
        self._values = numbers.astype(np.min_scalar_type(len(distinct) - 1)) if few else values

    def pick(self, part: slice, places: NDArray[np.int64]) -> None:
        """Put the values at these places into a part of the sample."""
        # Every place exists: "clip" only spares a copy that other modes make.
        if self._distinct is None:
            np.take(self._values, places, out=self.drawn[part], mode="clip")
        else:
            np.take(self._distinct, np.take(self._values, places), out=self.drawn[part], mode="clip")


def unpack_signs(bits: NDArray[np.uint8], row: Floats) -> None:
    """Write bits as zeros and ones into a row, in steps."""
    for start in range(0, len(row), STEP):
        stop = min(len(row), start + STEP)
        row[start:stop] = np.unpackbits(bits[start // 8 : -(-stop // 8)], count=stop - start)
