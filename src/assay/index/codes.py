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
_BLOCK = 65_536
"""Vectors compared at a time."""


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
        asked = make_codes(query[None, :])[:, 0]
        total = self.columns.shape[1]
        beyond = len(asked) * _BITS + 1
        differing = np.empty(total, np.uint16)
        sizes = np.zeros(beyond + 1, np.int64)
        for begin in range(0, total, _BLOCK):
            block = differing[begin : begin + _BLOCK]
            block[:] = np.bitwise_count(self.columns[0, begin : begin + _BLOCK] ^ asked[0])
            for column, bits in zip(self.columns[1:], asked[1:], strict=True):
                block += np.bitwise_count(column[begin : begin + _BLOCK] ^ bits)
            if passing is not None:
                block[~passing[begin : begin + _BLOCK]] = beyond
            sizes += np.bincount(block, minlength=beyond + 1)
        # What does not pass is beyond all others and never taken.
        most = int(np.searchsorted(np.cumsum(sizes[:beyond]), fetch))
        return np.flatnonzero(differing <= min(most, beyond - 1))
