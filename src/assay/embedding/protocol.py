"""What an embedder is: text in, unit vectors out, and a description that is recorded.

- The protocol.
- Batches for models whose cost is the longest text times the number of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import require

# --- The protocol ---
#
# Vectors of two embedders are never compared: whoever keeps a vector keeps `Embedder.model` with it.

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]
"""Called with the number of texts done since the last call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimilarityProfile:
    """Where an embedder's cosine begins to mean something. Similarity only nominates; two checks decide."""

    duplicate: float = 0.92
    """Above it, a memory that agrees is a duplicate."""
    merge: float = 0.88
    """From it on, a memory that agrees is merged."""
    related: float = 0.75
    """From it on, a memory of the same subject takes the other's place."""

    def __post_init__(self) -> None:
        require(self, values.share, "duplicate", "merge", "related")
        if not self.related <= self.merge <= self.duplicate:
            raise BadValue(
                f"the thresholds {self.related}, {self.merge}, {self.duplicate} do not grow",
                remedy="Give related <= merge <= duplicate.",
            )


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def model(self) -> str:
        """Which model in which version: equal exactly when vectors can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def token_limit(self) -> int:
        """The most tokens of one text that are read; what is beyond them is not embedded."""
        ...

    @property
    def profile(self) -> SimilarityProfile:
        """What its similarities mean."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has, without the ones the model adds at its ends."""
        ...

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text, in the order given."""
        ...


@runtime_checkable
class MayEmbedElsewhere(Protocol):
    """An embedder that says whether other processes do its work."""

    @property
    def embeds_elsewhere(self) -> bool:
        """Whether this process has nothing to do while texts are embedded."""
        ...


def embeds_elsewhere(embedder: Embedder) -> bool:
    """Whether other processes do an embedder's work; one that does not say embeds here."""
    return isinstance(embedder, MayEmbedElsewhere) and embedder.embeds_elsewhere


# --- Batches for models whose cost is the longest text times the number of texts ---


def by_length(lengths: Sequence[int], *, most_texts: int, most_tokens: int) -> Iterator[list[int]]:
    """Positions in batches of at most so many texts and padded tokens; a text above the bound comes alone.

    >>> list(by_length([3, 90, 4, 80], most_texts=2, most_tokens=100))
    [[0, 2], [3], [1]]
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Lengths grow, so the newcomer's is the one the whole batch is padded to.
        if batch and (len(batch) == most_texts or (len(batch) + 1) * lengths[position] > most_tokens):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


PairScores = NDArray[np.floating]


class CrossEncoder(Protocol):
    """Scores how well a query and a text fit together."""

    @property
    def name(self) -> str:
        """Which model in which version."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> PairScores:
        """How well each text fits, from 0 to 1."""
        ...
