"""An embedder without a model: texts that share words are near, and the same text gives the same vector everywhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.embedding.protocol import Progress, SimilarityProfile, Vectors


class HashedEmbedder:
    """Adds up one hashed direction for each token; a token is a run of letters and digits.

    Two texts without a common token have a cosine near 0 (not exactly 0), equal bags of words one of exactly 1.

    >>> embedder = HashedEmbedder()
    >>> apple, pie, rain = embedder.embed(["an apple", "an apple pie", "rain"])
    >>> bool(apple @ pie > 0.7 > apple @ rain)
    True
    """

    def __init__(self, *, model: str = "hashed-words", dimension: int = 64, token_limit: int = 254) -> None:
        self.model = model
        """Two names are two models: their vectors have nothing in common."""
        self.dimension = dimension
        self.token_limit = token_limit
        self.profile = SimilarityProfile()

    def count_tokens(self, text: str) -> int:
        """How many words a text has."""
        return len(_words(text))

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text; a text without words has a direction of its own."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._row(text)
            if progress is not None:
                progress(1)
        return rows

    def _row(self, text: str) -> NDArray[np.float64]:
        words = _words(text)[: self.token_limit] or [""]
        total = np.sum([_direction(word, self.model, self.dimension) for word in words], axis=0, dtype=np.float64)
        # The directions of two words may cancel out exactly; the first word then speaks alone.
        total = total if total.any() else _direction(words[0], self.model, self.dimension).astype(np.float64)
        unit: NDArray[np.float64] = np.divide(total, np.linalg.norm(total))
        return unit


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@lru_cache(maxsize=65_536)
def _direction(word: str, model: str, dimension: int) -> NDArray[np.int8]:
    digest = hashlib.shake_128(f"{model}\x00{word}".encode()).digest(-(-dimension // 8))
    signs = np.unpackbits(np.frombuffer(digest, dtype=np.uint8), count=dimension).astype(np.int8) * 2 - 1
    signs.setflags(write=False)
    return signs
