"""What a cluster is, decided here and nowhere else.

Queries that share a label (one document, one conversation, one paraphrase family) tell less than as many independent
ones. Everything that resamples, flips signs or counts degrees of freedom asks this module for its independent units:
the clusters where labels are given, the queries themselves where not.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.statistics.checks import Floats, same_length

Labels = Sequence[Hashable]
"""One cluster label for each query, in the order of the values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Units:
    """The independent units of a sample: what each one adds up to and how many values it holds."""

    sums: Floats
    sizes: Floats
    clustered: bool

    @property
    def count(self) -> int:
        """How many independent units there are."""
        return len(self.sums)

    @property
    def mean(self) -> float:
        """The mean over all values, large clusters weighing more."""
        return float(self.sums.sum() / self.sizes.sum())

    @property
    def standard_error(self) -> float:
        """Of the mean, from the spread between units; needs two of them. Without clusters it is s / sqrt(n)."""
        squares = np.sum(self._residuals**2)
        return float(np.sqrt(self.count / (self.count - 1) * squares) / self.sizes.sum())

    @property
    def vary(self) -> bool:
        """Whether the units differ by more than the rounding of the arithmetic that made them."""
        scale = max(1.0, float(np.abs(self.sums).max()))
        return bool(np.abs(self._residuals).max() > 1e-12 * scale)

    @property
    def _residuals(self) -> Floats:
        return self.sums - self.sizes * self.mean


def units_of(values: Floats, clusters: Labels | None = None) -> Units:
    """The independent units behind these values."""
    if clusters is None:
        return Units(sums=values, sizes=np.ones_like(values), clustered=False)
    same_length(values, "values", clusters, "clusters")
    places: dict[Hashable, int] = {}
    codes = np.array([places.setdefault(label, len(places)) for label in clusters], dtype=np.int64)
    return Units(
        sums=np.bincount(codes, weights=values, minlength=len(places)).astype(np.float64),
        sizes=np.bincount(codes, minlength=len(places)).astype(np.float64),
        clustered=True,
    )
