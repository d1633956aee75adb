"""An embedder that is loaded when it is first needed: a search by words alone never waits for a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from assay import cpu_budget
from assay.embedding.protocol import Embedder, Progress, SimilarityProfile, Vectors


class OnDemandEmbedder:
    """Stands for an embedder and loads it at the first question. What loading raises, every question raises again."""

    def __init__(self, load: Callable[[], Embedder], *, profile: Callable[[Embedder], SimilarityProfile]) -> None:
        self._load = load
        self._profile = profile
        self._loaded: Embedder | None = None
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether it has been needed yet."""
        return self._loaded is not None

    @property
    def model(self) -> str:
        """Which model in which version."""
        return self._needed().model

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._needed().dimension

    @property
    def token_limit(self) -> int:
        """The most tokens of one text that are read."""
        return self._needed().token_limit

    @property
    def profile(self) -> SimilarityProfile:
        """What its similarities mean: as the settings say, else as the embedder does."""
        return self._profile(self._needed())

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return self._needed().count_tokens(text)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text."""
        cpu_budget.check("embedding texts")

        def between_batches(done: int) -> None:
            cpu_budget.check("embedding more texts")
            if progress is not None:
                progress(done)

        return self._needed().embed(texts, progress=between_batches)

    def _needed(self) -> Embedder:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._load()
        return self._loaded
