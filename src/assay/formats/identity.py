"""Ids as 64-bit keys, computed for a whole block at once.

Every step is a bijection of what was read so far, so ids of up to eight bytes never share a key. Two longer ids do with
a chance of 1 in 2^64; only documents of one topic are ever compared, which makes one such accident in some ten billion
evaluations of a million topics.
"""

from __future__ import annotations

import numpy as np

from assay.formats.fields import Bytes, Field
from assay.formats.words import Words, low_bytes, windows

LONGEST_ID = 4_000
"""Bytes in a topic or document id."""
_MULTIPLY = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIX = np.uint64(0xD6E8_FEB8_6659_FD93)
_FOLD = np.uint64(32)


def keys_of(text: Bytes, field: Field) -> Words:
    """The key of every id in a field."""
    at, (starts, lengths) = windows(text), field
    keys = _step(np.zeros(len(starts), dtype=np.uint64), low_bytes(at[starts], lengths))
    rest = np.flatnonzero(lengths > 8)
    done = 8
    while rest.size:
        words = low_bytes(at[starts[rest] + done], lengths[rest] - done)
        keys[rest] = _step(keys[rest], words)
        done += 8
        rest = rest[lengths[rest] > done]
    return keys


def _step(keys: Words, words: Words) -> Words:
    mixed = (keys ^ words) * _MULTIPLY
    mixed ^= mixed >> _FOLD
    mixed *= _MIX
    mixed ^= mixed >> _FOLD
    return mixed
