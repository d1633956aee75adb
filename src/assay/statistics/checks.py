"""The edge of the folder: what may enter a computation, checked once, named when refused.

Everything behind these checks is a one-dimensional array of finite numbers, a share strictly between 0 and 1 or a whole
number. NaN never stands for "no value": whoever has none leaves it out and counts it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import BadValue

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
