"""What the rest of Assay asks of an embedder: text in, unit vectors out, and enough about itself to be recorded.

Vectors of two embedders are never compared: whoever keeps a vector keeps `Embedder.model` with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.records import values
from assay.records.fields import require

Vectors = NDArray[np.float32]
Progress = Callable[[int], None]
"""Told how many more texts are done."""


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
