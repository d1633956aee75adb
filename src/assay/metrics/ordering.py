"""The one place that decides in what order results count.

Score descending, compared as float32; equal scores: larger id first, in the order of their UTF-8 bytes. Both as
trec_eval does. `ranked` is the rule in one line. `rank_grades` applies it to many rankings at once: it sorts rows of
integers that hold score and grade, and compares ids only where documents of equal score have different grades, because
the other ties change no metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TIE_ORDER = "score:float32:descending,id:bytes:descending"
"""The name of the rule, stored with every number it moved."""
UNJUDGED = -1
"""The grade of a retrieved, unjudged document."""
PADDING = -2
"""Fills the places below the end of a ranking."""

Ids = Callable[[int], Sequence[Any]]
"""The ids of one row, by the row's number; all text or all UTF-8 bytes, which sort alike."""

_PAD = np.uint64(0xFFFF_FFFF_0000_0000)
_LOW = np.uint64(0xFFFF)
_SHIFT = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFF_FFFF)


def rank_ids(scores: Mapping[str, float]) -> list[str]:
    """Ids, best first."""
    places = dict(zip(scores, sort_keys(np.array([*scores.values()], dtype=np.float64)).tolist(), strict=True))
    return sorted(sorted(scores, reverse=True), key=places.__getitem__)


def sort_keys(scores: NDArray[Any]) -> NDArray[np.uint32]:
    """Integers that ascend where float32 scores descend; equal for equal scores, and for -0 and 0."""
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite there, as in trec_eval
        bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32)
    negative = (bits >> np.uint32(31)).astype(bool)
    return np.where(negative, bits, ~bits & np.uint32(0x7FFF_FFFF))


class Rows(NamedTuple):
    """Rankings one after the other: how long each is, and score and grade of every result."""

    lengths: NDArray[np.int64]
    scores: NDArray[np.float32]
    grades: NDArray[np.int16]
    ids: Ids


def rank_grades(rows: Rows, *, on_tied: Callable[[int], None] | None = None) -> NDArray[np.int16]:
    """The grades of each row in ranked order, one ranking a row, padded.

    `on_tied` is called with the number of rows that have results of equal score and different grade.
    """
    depth = int(rows.lengths.max(initial=0))
    keys = _pack_keys(rows, depth)
    keys.sort(axis=1)
    grades = ((keys & _LOW).astype(np.int16)) + np.int16(PADDING)
    mixed = _find_mixed_ties(keys)
    settled = np.flatnonzero(mixed.any(axis=1)) if mixed.size else np.empty(0, dtype=np.int64)
    if on_tied is not None:
        on_tied(len(settled))
    for row in settled:
        _settle(rows, int(row), grades[row])
    return grades


def _pack_keys(rows: Rows, depth: int) -> NDArray[np.uint64]:
    """Score above, grade below, in one sortable integer."""
    packed = sort_keys(rows.scores).astype(np.uint64) << _SHIFT
    packed |= (rows.grades - np.int16(PADDING)).astype(np.uint16)
    if len(packed) == depth * len(rows.lengths):
        return packed.reshape(len(rows.lengths), depth)
    matrix = np.full((len(rows.lengths), depth), _PAD, dtype=np.uint64)
    matrix[np.arange(depth) < rows.lengths[:, None]] = packed
    return matrix


def _find_mixed_ties(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Neighbours of equal score and different grade."""
    apart = keys[:, 1:] ^ keys[:, :-1]
    mixed: NDArray[np.bool_] = (apart <= _LOW_HALF) & (apart != 0)
    return mixed


def _settle(rows: Rows, row: int, ranked_grades: NDArray[np.int16]) -> None:
    """Order the tied documents of one row by their ids, in place."""
    start = int(rows.lengths[:row].sum())
    here = slice(start, start + int(rows.lengths[row]))
    keys, grades, ids = sort_keys(rows.scores[here]), rows.grades[here], rows.ids(row)
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(order)], strict=True):
        if last - first > 1:
            tied = sorted(order[first:last].tolist(), key=ids.__getitem__, reverse=True)
            ranked_grades[first:last] = grades[tied]
