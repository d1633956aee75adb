"""Embedders around another one: a cache of query vectors, and loading on first use.

- What wrappers share.
- A cache of the vectors of recent queries, since queries often repeat.
- Loading on first use, of embedders and cross-encoders: a search by words alone never waits for a model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from assay import cpu_budget
from assay.embedding.protocol import (
    CrossEncoder,
    Embedder,
    PairScores,
    Progress,
    SimilarityProfile,
    Vectors,
    embeds_elsewhere,
)
from assay.errors import BadValue

# --- What wrappers share ---


class AroundEmbedder:
    """What all of them share; `embed` is theirs."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def model(self) -> str:
        """The inner embedder's."""
        return self._inner.model

    @property
    def dimension(self) -> int:
        """The inner embedder's."""
        return self._inner.dimension

    @property
    def token_limit(self) -> int:
        """The inner embedder's."""
        return self._inner.token_limit

    @property
    def profile(self) -> SimilarityProfile:
        """The inner embedder's."""
        return self._inner.profile

    @property
    def embeds_elsewhere(self) -> bool:
        """The inner embedder's."""
        return embeds_elsewhere(self._inner)

    def count_tokens(self, text: str) -> int:
        """The inner embedder's."""
        return self._inner.count_tokens(text)


# --- A cache of the vectors of recent queries, since the same question is often asked twice ---


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


# --- Loading on first use: a search by words alone never waits for a model ---


class OnDemandEmbedder:
    """Loads an embedder on first use. An error of loading is raised again on every use.

    `elsewhere` says whether other processes embed, which is asked before anything is loaded.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        *,
        profile: Callable[[Embedder], SimilarityProfile],
        elsewhere: bool = False,
    ) -> None:
        self._load = load
        self._profile = profile
        self._elsewhere = elsewhere
        self._loaded: Embedder | None = None
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether it has been needed yet."""
        return self._loaded is not None

    @property
    def embeds_elsewhere(self) -> bool:
        """Whether other processes embed."""
        return self._elsewhere

    @property
    def model(self) -> str:
        """Which model in which version."""
        return self._load_once().model

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._load_once().dimension

    @property
    def token_limit(self) -> int:
        """The most tokens of one text that are read."""
        return self._load_once().token_limit

    @property
    def profile(self) -> SimilarityProfile:
        """What its similarities mean: as the settings say, else as the embedder does."""
        return self._profile(self._load_once())

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return self._load_once().count_tokens(text)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text."""
        cpu_budget.check("embedding texts")

        def between_batches(done: int) -> None:
            cpu_budget.check("embedding more texts")
            if progress is not None:
                progress(done)

        return self._load_once().embed(texts, progress=between_batches)

    def _load_once(self) -> Embedder:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded


class OnDemandCrossEncoder:
    """Loads a cross-encoder on first use. An error of loading is raised again on every use."""

    def __init__(self, load: Callable[[], CrossEncoder]) -> None:
        self._load = load
        self._loaded: CrossEncoder | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Which model in which version."""
        return self._load_once().name

    def score(self, query: str, texts: Sequence[str]) -> PairScores:
        """How well each text fits the query, from 0 to 1."""
        return self._load_once().score(query, texts)

    def _load_once(self) -> CrossEncoder:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded
