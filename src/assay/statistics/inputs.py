"""Checks of what enters a computation, and the definition of a cluster.

- Checks of arrays and options.
- Clusters: values that are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue

# --- Checks of arrays and options ---
#
# Everything behind these checks is a one-dimensional array of finite numbers, a share strictly between 0 and 1 or a
# whole number. NaN never stands for "no value": whoever has none leaves it out and counts it.

Floats = NDArray[np.float64]
"""A one-dimensional array of finite numbers."""
Ints = NDArray[np.int64]
"""A one-dimensional array of whole numbers."""


def numbers(values: ArrayLike, name: str, *, least: int = 1) -> Floats:
    """Finite numbers in one dimension, at least so many; a copy, so that the caller's array stays the caller's."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise BadValue(f"{name} cannot be read as numbers: {problem}", remedy="Give a list of numbers.") from problem
    if array.ndim != 1:
        raise BadValue(f"{name} has {array.ndim} dimensions", remedy="Give a flat list of numbers.")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise BadValue(
            f"{name}[{place}] is {array[place]}", remedy="Leave out what could not be computed and count it apart."
        )
    if array.size < least:
        raise BadValue(f"{name} has {array.size} values, under {least}", remedy=f"Give at least {least}.")
    return array


def within(values: ArrayLike, name: str, low: float, high: float, *, least: int = 1) -> Floats:
    """Finite numbers that all lie in [low, high]."""
    array = numbers(values, name, least=least)
    outside = np.flatnonzero((array < low) | (array > high))
    if outside.size:
        place = int(outside[0])
        raise BadValue(
            f"{name}[{place}] is {array[place]:g}, outside [{low:g}, {high:g}]",
            remedy=f"Give values from {low:g} to {high:g}; rescale a metric of another range first.",
        )
    return array


def binary(values: ArrayLike, name: str, *, least: int = 1) -> Floats:
    """Zeros and ones."""
    array = numbers(values, name, least=least)
    strange = np.flatnonzero((array != 0.0) & (array != 1.0))
    if strange.size:
        place = int(strange[0])
        raise BadValue(f"{name}[{place}] is {array[place]:g}", remedy="Give 1 for yes and 0 for no.")
    return array


def same_length(
    left: Sequence[Any] | NDArray[Any], left_name: str, right: Sequence[Any] | NDArray[Any], right_name: str
) -> None:
    """Two columns of one table."""
    if len(left) != len(right):
        raise BadValue(
            f"{left_name} has {len(left)} values and {right_name} has {len(right)}",
            remedy="Give one value of each for every case; drop a case that lacks either.",
        )


def open_share(value: Any, name: str) -> float:
    """A level, risk or power: strictly between 0 and 1."""
    number = finite(value, name)
    if not 0.0 < number < 1.0:
        raise BadValue(f"{name} is {number:g}", remedy="Give a number strictly between 0 and 1, such as 0.05 or 0.95.")
    return number


def positive(value: Any, name: str) -> float:
    """A number above 0."""
    number = finite(value, name)
    if number <= 0.0:
        raise BadValue(f"{name} is {number:g}", remedy="Give a number above 0.")
    return number


def finite(value: Any, name: str) -> float:
    """One number that is neither NaN nor infinite."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not math.isfinite(value)
    ):
        raise BadValue(f"{name} is {value!r}", remedy="Give a finite number.")
    return float(value)


def whole(value: Any, name: str, *, least: int) -> int:
    """One whole number, not below the least."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise BadValue(f"{name} is {value!r}", remedy=f"Give a whole number of at least {least}.")
    return int(value)


def one_of(value: str, name: str, choices: Sequence[str]) -> str:
    """One of a short list of words."""
    if value not in choices:
        raise BadValue(f"{name} is {value!r}", remedy=f"Give one of: {', '.join(choices)}.")
    return value


# --- Clusters: values that are not independent ---
#
# Queries that share a label (one document, one conversation, one paraphrase family) tell less than as many independent
# ones. Everything that resamples, flips signs or counts degrees of freedom asks this module for its independent units:
# the clusters where labels are given, the queries themselves where not.

Labels = Sequence[Hashable] | NDArray[np.int64]
"""One cluster label for each query, in the order of the values; of many queries, an array of numbers."""


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
        return Units(sums=values, sizes=np.broadcast_to(1.0, len(values)), clustered=False)
    same_length(values, "values", clusters, "clusters")
    codes = _number_labels(clusters)
    return Units(
        sums=np.bincount(codes, weights=values).astype(np.float64),
        sizes=np.bincount(codes).astype(np.float64),
        clustered=True,
    )


def _number_labels(clusters: Labels) -> Ints:
    """The number of each label, in the order in which they come first."""
    if not isinstance(clusters, np.ndarray):
        places: dict[Hashable, int] = {}
        return np.array([places.setdefault(label, len(places)) for label in clusters], dtype=np.int64)
    _, first, codes = np.unique(clusters, return_index=True, return_inverse=True)
    places_of_codes = np.empty(len(first), dtype=np.int64)
    places_of_codes[np.argsort(first)] = np.arange(len(first))
    numbered: Ints = places_of_codes[codes]
    return numbered
