"""Documents that a ranking lists twice: the better rank counts, the others are taken out and counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.metrics.matching import with_topic
from assay.metrics.ordering import sort_keys
from assay.records.rankings import RunBatch


class Cleaned(NamedTuple):
    """A batch without repeats, and how many results were taken out."""

    batch: RunBatch
    dropped: int


def without_repeats(batch: RunBatch) -> Cleaned:
    """Every document of a topic once."""
    owner = np.repeat(np.arange(len(batch.lengths)), batch.lengths)
    keys = with_topic(batch.keys, owner)
    if not _any_repeat(keys, batch.lengths):
        return Cleaned(batch, 0)
    kept = _best(keys, batch)
    ids, begin = batch.ids, np.cumsum(batch.lengths) - batch.lengths

    def kept_ids(row: int) -> list[object]:
        first = int(begin[row])
        return [one for place, one in enumerate(ids(row), start=first) if kept[place]]

    lengths = np.bincount(owner[kept], minlength=len(batch.lengths))
    clean = RunBatch(
        topics=batch.topics, lengths=lengths, keys=batch.keys[kept], scores=batch.scores[kept], ids=kept_ids
    )
    return Cleaned(clean, int(np.count_nonzero(~kept)))


def _any_repeat(keys: NDArray[np.uint64], lengths: NDArray[np.int64]) -> bool:
    # Many short sorts are quicker than one long one; rankings of equal length allow them.
    even = len(lengths) and len(keys) == len(lengths) * int(lengths[0]) and (lengths == lengths[0]).all()
    ordered = np.sort(keys.reshape(len(lengths), -1) if even else keys[None, :], axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


def _best(keys: NDArray[np.uint64], batch: RunBatch) -> NDArray[np.bool_]:
    """Which result of each document has the better rank; of equal ones the first."""
    order = np.lexsort((sort_keys(batch.scores), keys))
    again = np.append(False, keys[order[1:]] == keys[order[:-1]])
    kept = np.ones(len(keys), dtype=bool)
    kept[order[again]] = False
    return kept
