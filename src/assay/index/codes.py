"""Codes of vectors: one bit for each dimension, its sign. Many millions of them are compared one by one.

A code is a thirty-second of a vector in float32, and comparing two codes is counting the bits in which they differ. So
a scan of ten million codes reads 480 MB where the vectors are 8 GB, and nothing has to be built beforehand: a graph of
so many takes hours. Codes only nominate; what they find is compared with the stored vectors again.

The codes lie in columns, 64 dimensions of all vectors behind each other: a block of a column stays in the processor's
cache while it is compared and counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Mask, Whole
from assay.index.scoring import Halves, Query

Columns = NDArray[np.uint64]

_BITS = 64
_BLOCK = 131_072
"""Vectors compared at a time."""
_BYTE_COLUMNS = 3
"""Columns whose ones are counted in a byte."""
_SAMPLED = 100_000
"""Vectors that tell how near the nearest will be."""
_WIDER = 8
"""Bits by which the search is widened when the sample promised too much."""


def count_columns(dimension: int) -> int:
    """How many columns the codes of vectors have."""
    return -(-dimension // _BITS)


def make_codes(vectors: Halves | NDArray[np.float32]) -> Columns:
    """The codes of vectors, a column of the result for each of them."""
    width = count_columns(vectors.shape[1])
    bits = np.zeros((len(vectors), width * _BITS), np.bool_)
    bits[:, : vectors.shape[1]] = vectors > 0.0
    return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)


class VectorCodes:
    """The codes of the vectors of a base."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def nominate(self, query: Query, fetch: int, passing: Mask | None) -> Whole:
        """The rows whose codes differ least from the query's: at least so many, if so many pass, with all ties."""
        differing = self._count_differing(make_codes(query[None, :])[:, 0])
        most, last = _guess_most(differing, fetch, passing), len(self.columns) * _BITS
        while True:
            near = np.flatnonzero(differing <= most)
            if passing is not None:
                near = near[passing[near]]
            if len(near) >= fetch or most >= last:
                break
            most = min(most + _WIDER, last)
        if len(near) <= fetch:
            return near
        found = differing[near]
        nearest: Whole = near[found <= np.partition(found, fetch - 1)[fetch - 1]]
        return nearest

    def _count_differing(self, asked: Columns) -> NDArray[np.uint16]:
        """For each row, in how many bits it differs. Without new arrays for each block: they would be half the time."""
        total = self.columns.shape[1]
        differing = np.empty(total, np.uint16)
        bits, ones, few = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8), np.empty(_BLOCK, np.uint8)
        for begin in range(0, total, _BLOCK):
            size = min(_BLOCK, total - begin)
            block = differing[begin : begin + size]
            for first in range(0, len(asked), _BYTE_COLUMNS):
                np.bitwise_xor(self.columns[first, begin : begin + size], asked[first], out=bits[:size])
                np.bitwise_count(bits[:size], out=few[:size])
                for column in range(first + 1, min(first + _BYTE_COLUMNS, len(asked))):
                    np.bitwise_xor(self.columns[column, begin : begin + size], asked[column], out=bits[:size])
                    np.bitwise_count(bits[:size], out=ones[:size])
                    np.add(few[:size], ones[:size], out=few[:size])
                if first:
                    block += few[:size]
                else:
                    block[:] = few[:size]
        return differing


def _guess_most(differing: NDArray[np.uint16], fetch: int, passing: Mask | None) -> int:
    """About how much the last of so many differs, by an even sample."""
    step = max(1, len(differing) // _SAMPLED)
    sample = differing[::step] if passing is None else differing[::step][passing[::step]]
    place = -(-fetch // step)
    return int(np.partition(sample, place)[place]) if place < len(sample) else int(sample.max(initial=0))
