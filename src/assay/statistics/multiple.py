"""Many tests at once: adjusted p-values, in the order they came in.

Holm keeps the chance of any false alarm below alpha, whatever the tests share; gates use it. Benjamini-Hochberg keeps
the expected share of false alarms among the alarms, for independent or positively dependent tests; searches use it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats, within


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    p = within(p_values, "p_values", 0.0, 1.0, least=0)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _in_order(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini-Hochberg adjusted p-values: the i-th smallest of m times m / i, never rising backwards."""
    p = within(p_values, "p_values", 0.0, 1.0, least=0)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    return _in_order(stepped, order)


def _in_order(stepped: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    adjusted = np.empty(len(stepped))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
