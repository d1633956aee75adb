"""The nearest of some vectors to a query, exactly: the same float32 sums for every way a passage was found.

Vectors are kept as float16. A first pass over many of them compares in float16; what it finds is compared again in
float32, and the pass is widened until its error cannot have hidden anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Whole
from assay.index.native import search
from assay.index.ordering import Scores

Halves = NDArray[np.float16]
Query = NDArray[np.float32]

DIGITS = 6
"""Cosines of float16 vectors mean nothing beyond this many decimals."""

_FEW = 1_024
"""So few vectors are compared in float32 at once."""
_ERROR = 4e-3
"""More than two float16 comparisons of unit vectors can be off by."""
_SPARE = 64


def rounded_query(vector: NDArray[np.floating[Any]]) -> Query:
    """A query as the stored vectors are: rounded to float16, as PostgreSQL has it too."""
    return np.ascontiguousarray(vector, np.float16).astype(np.float32)


class Measured(NamedTuple):
    """Vectors in float32 with their lengths, ready to be compared: for those that many queries are compared with."""

    full: NDArray[np.float32]
    lengths: NDArray[np.float32]

    def cosines(self, query: Query) -> Scores:
        """Of each vector with the query; not a number for a vector of zeros."""
        # Row by row, so that a vector has the same sum among however many; and one thread, where a product of a large
        # matrix would keep all cores spinning.
        sums = np.vecdot(self.full, query)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Scores = (sums / (self.lengths * np.linalg.norm(query))).astype(np.float64)
        return found


def measured(vectors: Halves) -> Measured:
    """Stored vectors, made ready."""
    full = vectors.astype(np.float32)
    return Measured(full, np.sqrt(np.einsum("ij,ij->i", full, full)))


def cosines(vectors: Halves, query: Query) -> Scores:
    """Of each vector with the query; not a number for a vector of zeros."""
    return measured(vectors).cosines(query)


def nearest(vectors: Halves, query: Query, limit: int) -> tuple[Whole, Scores]:
    """The rows nearest to a query, with all that tie with the last of them, and their cosines."""
    fetch = 2 * limit + _SPARE
    while len(vectors) > _FEW and fetch < len(vectors):
        found = search(vectors, query.astype(np.float16), fetch, "ip", exact=True, threads=1)
        rows = np.sort(found.keys.astype(np.int64))
        scores = cosines(vectors[rows], query)
        lowest = 1.0 - float(found.distances[-1])
        if lowest < np.sort(np.nan_to_num(scores, nan=-1.0))[-limit] - _ERROR:
            return rows, scores
        fetch *= 4
    return np.arange(len(vectors)), cosines(np.asarray(vectors), query)
