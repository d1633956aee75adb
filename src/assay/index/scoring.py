"""Scores of passages: BM25 and exact cosine, and the one order of answers.

- Answers and their order: score descending, then number ascending.
- BM25 as tantivy computes it, so that passages of the tail score as they would in the base.
- Nearest vectors, exactly: the same float32 sums however a passage was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from assay.index.columns import Whole
from assay.index.native import search

# --- Answers and their order: score descending, then number ascending ---
#
# Scores are rounded where float sums of the same parts may differ, so that equal passages tie wherever they are kept.

Scores = NDArray[np.float64]


class Found(NamedTuple):
    """One passage and its score on the channel's own scale."""

    number: int
    score: float


class FoundPassages(Sequence[Found]):
    """Passages, best first, as two columns: a search finds hundreds of them and looks at few one by one."""

    __slots__ = ("numbers", "scores")

    def __init__(self, numbers: list[int], scores: list[float]) -> None:
        self.numbers = numbers
        self.scores = scores

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Found]:
        return map(Found, self.numbers, self.scores)

    @overload
    def __getitem__(self, place: int) -> Found: ...
    @overload
    def __getitem__(self, place: slice) -> FoundPassages: ...
    def __getitem__(self, place: int | slice) -> Found | FoundPassages:
        if isinstance(place, slice):
            return FoundPassages(self.numbers[place], self.scores[place])
        return Found(self.numbers[place], self.scores[place])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FoundPassages):
            # Fusion asks whether a list is the one it knows.
            return other is self or (self.numbers, self.scores) == (other.numbers, other.scores)
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of every list

    def __repr__(self) -> str:
        return repr(list(self))


def numbers_of(found: Sequence[tuple[int, float]]) -> list[int]:
    """The numbers of passages that were found."""
    return found.numbers if isinstance(found, FoundPassages) else [number for number, _ in found]


def scores_of(found: Sequence[tuple[int, float]]) -> list[float]:
    """Their scores."""
    return found.scores if isinstance(found, FoundPassages) else [score for _, score in found]


def join_found(first: Sequence[tuple[int, float]], others: Sequence[tuple[int, float]]) -> FoundPassages:
    """The passages of one list, and those of another behind them."""
    return FoundPassages(numbers_of(first) + numbers_of(others), scores_of(first) + scores_of(others))


class Scored(NamedTuple):
    """Passages with their scores, in no order."""

    numbers: Whole
    scores: Scores


def best(parts: Sequence[Scored], limit: int, *, digits: int) -> FoundPassages:
    """The best of all parts together."""
    if not parts:
        return FoundPassages([], [])
    numbers, scores = parts[0]
    if len(parts) > 1:
        numbers = np.concatenate([part.numbers for part in parts])
        scores = np.concatenate([part.scores for part in parts])
    scores = scores.round(digits)
    real = np.isfinite(scores)
    if not real.all():
        numbers, scores = numbers[real], scores[real]
    order = np.lexsort((numbers, -scores))[:limit]
    return FoundPassages(numbers[order].tolist(), scores[order].tolist())


# --- BM25 as tantivy computes it, so that passages of the tail score as they would in the base ---
#
# A passage scores the sum over terms of: weight * idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length / average)),
# where the idf of a term is: ln(1 + (N - df + 0.5) / (df + 0.5))
#
# The length is the one tantivy keeps: exact up to 40, then rounded down to a step of one byte's scale.

K1 = 1.2
B = 0.75

_EXACT_CODES = 24


def _length_of_code(code: int) -> int:
    """A byte that is a small float: four bits of value, the rest a shift; the first codes are lengths themselves."""
    if code < _EXACT_CODES:
        return code
    value, shift = (code - _EXACT_CODES) & 7, ((code - _EXACT_CODES) >> 3) - 1
    return _EXACT_CODES + (value if shift < 0 else (value | 8) << shift)


LENGTHS: NDArray[np.int64] = np.array([_length_of_code(code) for code in range(256)], dtype=np.int64)
"""Every length that can be kept."""


def round_length_down(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each length rounded down to one that can be kept."""
    return LENGTHS[np.searchsorted(LENGTHS, lengths, side="right") - 1]


def idf(documents: int, frequency: int) -> float:
    """How telling a term is that so many of the documents hold."""
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def length_norms(lengths: NDArray[np.int64], average: float) -> NDArray[np.float64]:
    """What is added to a term's frequency below the line, for documents of these lengths."""
    kept = round_length_down(lengths).astype(np.float64)
    return K1 * (1.0 - B + B * kept / max(average, 1e-9))


def term_scores(frequencies: NDArray[np.int64], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """A term's part of the score before its weight and idf."""
    tf = frequencies.astype(np.float64)
    return (K1 + 1.0) * tf / (tf + norms)


# --- Nearest vectors, exactly: the same float32 sums however a passage was found ---
#
# Vectors are kept as float16. A first pass over many of them compares in float16; what it finds is compared again in
# float32, and the pass is widened until its error cannot have hidden anything.

Halves = NDArray[np.float16]
Query = NDArray[np.float32]

COSINE_DIGITS = 6
"""Cosines of float16 vectors mean nothing beyond this many decimals."""

_FEW = 1_024
"""So few vectors are compared in float32 at once."""
_ERROR = 4e-3
"""More than two float16 comparisons of unit vectors can be off by."""
_SPARE = 64


def round_query(vector: NDArray[np.floating[Any]]) -> Query:
    """A query as the stored vectors are: rounded to float16, as PostgreSQL has it too."""
    return np.ascontiguousarray(vector, np.float16).astype(np.float32)


class MeasuredVectors(NamedTuple):
    """Vectors in float32 with their lengths, ready to be compared: for those that many queries are compared with."""

    full: NDArray[np.float32]
    lengths: NDArray[np.float32]

    def cosines(self, query: Query) -> Scores:
        """Of each vector with the query; not a number for a vector of zeros."""
        # Row by row, so that a vector has the same sum among however many; and one thread, where a product of a large
        # matrix would keep all cores spinning.
        sums = np.vecdot(self.full, query)
        with np.errstate(invalid="ignore", divide="ignore"):
            # As `np.linalg.norm` has it, which looks for a dozen other norms first.
            found: Scores = (sums / (self.lengths * np.sqrt(query.dot(query)))).astype(np.float64)
        return found

    def pick(self, rows: Whole) -> MeasuredVectors:
        """Return some of them."""
        return MeasuredVectors(self.full[rows], self.lengths[rows])


def join_vectors(parts: Sequence[MeasuredVectors]) -> MeasuredVectors:
    """Return vectors of several places as one."""
    if not parts:
        return MeasuredVectors(np.zeros((0, 0), np.float32), np.zeros(0, np.float32))
    return MeasuredVectors(
        np.concatenate([part.full for part in parts]), np.concatenate([part.lengths for part in parts])
    )


def measure_vectors(vectors: Halves | NDArray[np.float32]) -> MeasuredVectors:
    """Stored vectors, made ready."""
    if vectors.dtype == np.float16 and _TINY * _UP:
        full = _widen(vectors)
        lengths = np.sqrt(np.einsum("ij,ij->i", full, full))
        if not len(lengths) or lengths.max() < _BEYOND_HALVES:
            return MeasuredVectors(full, lengths)
    full = vectors.astype(np.float32)
    return MeasuredVectors(full, np.sqrt(np.einsum("ij,ij->i", full, full)))


def _widen(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers of 16 bits as numbers of 32 bits, in a third of the time that NumPy takes, which goes one by one.

    The bits of the exponent and the fraction are moved to their place, and the result is multiplied by what the
    exponents of both kinds differ by. Exact for all but infinity and what is not a number: of these it makes numbers
    from `_BEYOND_HALVES` on.
    """
    bits = vectors.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _SIGN_AND_VALUE
    full: NDArray[np.float32] = bits.view(np.float32)
    full *= _UP
    return full


_SIGN_AND_VALUE = np.uint32(0x8FFF_FFFF).view(np.int32)
_UP = np.float32(2.0**112)
_TINY = np.float32(2.0**-136)
"""Times `_UP` it is the smallest number of 16 bits; 0 where a library has told the processor to drop small numbers."""
_BEYOND_HALVES = 65_536.0


def cosines(vectors: Halves, query: Query) -> Scores:
    """Of each vector with the query; not a number for a vector of zeros."""
    return measure_vectors(vectors).cosines(query)


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
