"""Eight bytes at a time: the words of a text at any place, which is how ids and numbers are read in bulk."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from assay.formats.fields import Bytes, Places

Words = NDArray[np.uint64]

_KEEP_LOW = np.array([(1 << (8 * kept)) - 1 for kept in range(9)], dtype=np.uint64)


def windows(text: Bytes) -> Words:
    """The little-endian word that begins at each byte. A view: nothing is copied."""
    return as_strided(text[:8].view("<u8"), shape=(len(text) - 7,), strides=(1,), writeable=False)


def low_bytes(words: Words, kept: Places) -> Words:
    """Only the first bytes of each word; the others 0."""
    return words & _KEEP_LOW[np.clip(kept, 0, 8)]


def high_bytes(words: Words, kept: Places, fill: int) -> Words:
    """Only the last bytes of each word; the others hold `fill`."""
    mask = _KEEP_LOW[8 - np.clip(kept, 0, 8)]
    return (words & ~mask) | (np.uint64(fill * 0x0101_0101_0101_0101) & mask)
