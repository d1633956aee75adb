"""An embedder behind an OpenAI-compatible endpoint. Every answer is checked before a number of it is believed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.embedding.protocol import Progress, SimilarityProfile, Vectors, by_length
from assay.errors import EndpointMisbehaved
from assay.models.endpoint import Endpoint

PATH = "/embeddings"
BATCH_TEXTS = 64
BATCH_TOKENS = 32_000
BYTES_A_TOKEN = 3
"""English has four or more, Chinese about three: the estimate is rather too high than too low."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has for a model whose tokenizer is not here."""
    return -(-len(text.encode()) // BYTES_A_TOKEN)


class RemoteEmbedder:
    """An `Embedder` over an endpoint. Use `connect`, which also reads the dimension."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str,
        dimension: int,
        token_limit: int = 512,
        count_tokens: Callable[[str], int] = estimate_tokens,
        profile: SimilarityProfile = SimilarityProfile(),  # noqa: B008 - frozen
    ) -> None:
        # The place belongs to the name: two servers may run the same model at different precision.
        self.model = f"{name}@{endpoint.place}:{dimension}"
        self.dimension = dimension
        self.token_limit = token_limit
        self.profile = profile
        self._endpoint = endpoint
        self._name = name
        self._count_tokens = count_tokens

    @classmethod
    def connect(cls, endpoint: Endpoint, *, name: str, **given: Any) -> RemoteEmbedder:
        """Return an embedder whose dimension is read by embedding a word."""
        rows = _rows(endpoint, name, ["dimension"])
        return cls(endpoint, name=name, dimension=rows.shape[1], **given)

    def count_tokens(self, text: str) -> int:
        """About how many tokens a text has, unless the model's own counter was given."""
        return self._count_tokens(text)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text, in the order given."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        cut = [self._cut(text) for text in texts]
        lengths = [self._count_tokens(text) for text in cut]
        for batch in by_length(lengths, most_texts=BATCH_TEXTS, most_tokens=BATCH_TOKENS):
            made = _rows(self._endpoint, self._name, [cut[position] for position in batch])
            if made.shape[1] != self.dimension:
                raise _misbehaviour(self._endpoint, f"{made.shape[1]} dimensions instead of {self.dimension}")
            rows[batch] = made
            if progress is not None:
                progress(len(batch))
        return rows

    def _cut(self, text: str) -> str:
        """At most the limit: many services refuse a text that is too long. An empty one is refused too."""
        while text and (count := self._count_tokens(text)) > self.token_limit:
            text = text[: min(len(text) - 1, len(text) * self.token_limit // count)]
        return text or " "


def _rows(endpoint: Endpoint, name: str, texts: list[str]) -> Vectors:
    answer = endpoint.post(PATH, {"model": name, "input": texts, "encoding_format": "float"})
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _misbehaviour(endpoint, "no list `data`")
    by_index = {item.get("index"): item.get("embedding") for item in items if isinstance(item.get("index"), int)}
    if len(items) != len(texts) or sorted(by_index) != list(range(len(texts))):
        raise _misbehaviour(endpoint, f"{len(items)} vectors, {len(by_index)} of them numbered, for {len(texts)} texts")
    return _unit(endpoint, [by_index[position] for position in range(len(texts))])


def _unit(endpoint: Endpoint, lists: list[Any]) -> Vectors:
    if not all(
        isinstance(vector_list, list) and vector_list and all(type(x) in (float, int) for x in vector_list)
        for vector_list in lists
    ):
        raise _misbehaviour(endpoint, "a vector that is not a list of numbers")
    if len({len(vector_list) for vector_list in lists}) != 1:
        raise _misbehaviour(endpoint, "vectors of different lengths")
    try:
        rows = np.array(lists, dtype=np.float64)
    except OverflowError as problem:
        raise _misbehaviour(endpoint, "a number out of range") from problem
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise _misbehaviour(endpoint, "a vector of no or infinite length, or with NaN")
    unit: Vectors = np.divide(rows, lengths).astype(np.float32)
    return unit


def _misbehaviour(endpoint: Endpoint, what: str) -> EndpointMisbehaved:
    return EndpointMisbehaved(
        f"{endpoint.place} answered with {what}", remedy="Check that the model at this address makes embeddings."
    )
