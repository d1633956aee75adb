"""Remembers the vectors of recent queries: the same question is often asked twice, and embedding is most of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from assay.embedding.around import AroundEmbedder
from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.errors import BadValue


class CachedEmbedder(AroundEmbedder):
    """An embedder with a memory of the `size` texts used last. Safe to share between threads.

    For queries, not for documents: those are embedded once and would only push the queries out.
    """

    def __init__(self, inner: Embedder, size: int = 1_000) -> None:
        if size < 1:
            raise BadValue(f"the cache size {size} is below 1", remedy="Give at least 1, or use the embedder itself.")
        super().__init__(inner)
        self._size = size
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row for each text; only those not remembered are embedded."""
        known = self._recall(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            # Outside the lock: two threads may embed the same text at once, and neither waits for the other.
            made = self._inner.embed(missing)
            known |= dict(zip(missing, made, strict=True))
            self._keep(missing, made)
        if progress is not None:
            progress(len(texts))
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = known[text]
        return rows

    def _recall(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
            for text in known:
                self._kept.move_to_end(text)
        return known

    def _keep(self, texts: Sequence[str], rows: Vectors) -> None:
        with self._lock:
            for text, row in zip(texts, rows, strict=True):
                self._kept[text] = row.copy()
                self._kept.move_to_end(text)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
