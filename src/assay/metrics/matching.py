"""Which results of a batch are judged: a hash join of 64-bit keys, a few whole-array steps instead of a loop.

The table is open addressing with linear probing. All keys try their place at once; those that find it taken try the
next, so each round works on fewer. One topic's keys never meet another's, because the topic is mixed into the key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.metrics.ordering import UNJUDGED

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

_EMPTY = -1
_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
_ROOM = 4
"""Slots for each key: more make the table slower to fill and quicker to ask."""


def with_topic(keys: Keys, topic: Places) -> Keys:
    """Keys of (topic, document) pairs."""
    return keys ^ (topic.astype(np.uint64) * _SPREAD)


def grades_of(asked: Keys, judged: Keys, grades: NDArray[np.int16]) -> NDArray[np.int16]:
    """The grade of every key that was judged; `UNJUDGED` for the others and for negative grades."""
    found = find(asked, judged)
    padded = np.append(np.where(grades < 0, np.int16(UNJUDGED), grades), np.int16(UNJUDGED))
    return padded[found]


def find(asked: Keys, known: Keys) -> Places:
    """Where each asked key stands among the known ones, or -1. The known keys are distinct."""
    table = _fill(known)
    found = np.full(len(asked), _EMPTY, dtype=np.int64)
    left, slots = np.arange(len(asked)), _slots(asked, table)
    while left.size:
        seen = table[slots]
        hit = (seen != _EMPTY) & (known[seen] == asked[left]) if known.size else np.zeros(len(left), dtype=bool)
        found[left[hit]] = seen[hit]
        again = (seen != _EMPTY) & ~hit
        left, slots = left[again], (slots[again] + 1) & (len(table) - 1)
    return found


def _fill(known: Keys) -> NDArray[np.int32]:
    size = 1 << max(4, (len(known) * _ROOM - 1).bit_length())
    table = np.full(size, _EMPTY, dtype=np.int32)
    left, slots = np.arange(len(known), dtype=np.int32), _slots(known, table)
    while left.size:
        free = table[slots] == _EMPTY
        table[slots[free]] = left[free]
        lost = table[slots] != left
        left, slots = left[lost], (slots[lost] + 1) & (size - 1)
    return table


def _slots(keys: Keys, table: NDArray[np.int32]) -> Places:
    return (keys & np.uint64(len(table) - 1)).astype(np.int64)
