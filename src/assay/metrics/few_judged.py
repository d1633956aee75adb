"""Rank from the side of the judgments, which is quicker where they are few: ask each ranking for their scores only.

The rank of a judged document is the number of results with a better score. Where another result has the very same
score only ids can tell; those rows are named, and whoever asked ranks them by `ordering.rank_grades`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.metrics.ordering import PADDING, UNJUDGED, sort_keys

_SHIFT = np.uint64(32)


class Sided(NamedTuple):
    """Results and judged results of some topics, one topic after the other."""

    lengths: NDArray[np.int64]
    scores: NDArray[np.float32]
    topic: NDArray[np.int64]
    """Of each judged result."""
    judged_scores: NDArray[np.float32]
    grades: NDArray[np.int16]


class Ranked(NamedTuple):
    """Grades in ranked order, one ranking a row, padded; and the rows that need their ids."""

    grades: NDArray[np.int16]
    undecided: NDArray[np.int64]


def rank_few(sided: Sided) -> Ranked:
    """The grades of each row in ranked order."""
    depth = int(sided.lengths.max(initial=0))
    grades = np.full((len(sided.lengths), depth), UNJUDGED, dtype=np.int16)
    if sided.lengths.min(initial=depth) < depth:
        grades[np.arange(depth) >= sided.lengths[:, None]] = PADDING
    ordered, asked = _ordered(sided), _with_row(sided.topic, sided.judged_scores)
    places = np.searchsorted(ordered, asked)
    starts = np.cumsum(sided.lengths) - sided.lengths
    grades[sided.topic, places - starts[sided.topic]] = sided.grades
    shared = np.append(ordered, np.uint64(0))[places + 1] == asked
    return Ranked(grades, np.unique(sided.topic[shared]))


def _ordered(sided: Sided) -> NDArray[np.uint64]:
    """The score of every result, best first within its row, as integers that ascend over all rows."""
    cells = _with_row(np.repeat(np.arange(len(sided.lengths)), sided.lengths), sided.scores)
    if not cells.size or np.ptp(sided.lengths):
        return np.sort(cells)
    # Many short sorts are quicker than one long one; rankings of equal length allow them.
    return np.sort(cells.reshape(len(sided.lengths), -1), axis=1).ravel()


def _with_row(rows: NDArray[np.int64], scores: NDArray[np.float32]) -> NDArray[np.uint64]:
    return rows.astype(np.uint64) << _SHIFT | sort_keys(scores)
