"""An embedder around another: it says of itself what the inner one says, and makes vectors in a way of its own."""

from __future__ import annotations

from assay.embedding.protocol import Embedder, SimilarityProfile


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

    def count_tokens(self, text: str) -> int:
        """The inner embedder's."""
        return self._inner.count_tokens(text)
