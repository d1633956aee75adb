"""Judgments and rankings in columns: what file readers hand to metrics when there are millions of them.

An id is its 64-bit key here (`formats.identity` makes them); its text is used only to order ties and in error
messages. This module needs numpy, so `assay.records` itself does not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_GRADE = 1_000
"""Grades run from minus this to this. A negative grade means that the assessor gave no verdict."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QrelTable:
    """Every judgment of a file, topic by topic."""

    topics: tuple[str, ...]
    lengths: NDArray[np.int64]
    """How many judgments each topic has."""
    keys: NDArray[np.uint64]
    grades: NDArray[np.int16]
    repeated: int = 0
    """Judgments given twice with the same grade; counted once."""

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The position of each topic in `topics`."""
        return {topic: place for place, topic in enumerate(self.topics)}

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each topic's judgments begin."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def negative(self) -> int:
        """How many judgments carry a negative grade."""
        return int(np.count_nonzero(self.grades < 0))


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class RunBatch:
    """The complete rankings of some topics, in any order of results."""

    topics: Sequence[str]
    lengths: NDArray[np.int64]
    keys: NDArray[np.uint64]
    scores: NDArray[np.float32]
    ids: Callable[[int], Sequence[Any]]
    """The ids of one topic, by its number in `topics`."""
