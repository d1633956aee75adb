"""BM25 as tantivy computes it, so that passages of the tail score as they would in the base.

    score = sum over terms of weight * idf * (k1 + 1) * tf / (tf + k1 * (1 - b + b * length / average length))
    idf   = ln(1 + (N - df + 0.5) / (df + 0.5))

The length is the one tantivy keeps: exact up to 40, then rounded down to a step of one byte's scale.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

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


def kept_length(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each length rounded down to one that can be kept."""
    return LENGTHS[np.searchsorted(LENGTHS, lengths, side="right") - 1]


def idf(documents: int, frequency: int) -> float:
    """How telling a term is that so many of the documents hold."""
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def length_norms(lengths: NDArray[np.int64], average: float) -> NDArray[np.float64]:
    """What is added to a term's frequency below the line, for documents of these lengths."""
    kept = kept_length(lengths).astype(np.float64)
    return K1 * (1.0 - B + B * kept / max(average, 1e-9))


def term_scores(frequencies: NDArray[np.int64], norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """A term's part of the score before its weight and idf."""
    tf = frequencies.astype(np.float64)
    return (K1 + 1.0) * tf / (tf + norms)
