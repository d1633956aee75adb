"""At a bound is inside it, and a mean of decimals that misses the bound in its sixteenth digit is at it."""

from __future__ import annotations

import math


def beyond(value: float, bound: float) -> bool:
    """Whether a value is above a bound by more than rounding."""
    return value > bound and not math.isclose(value, bound, rel_tol=1e-9, abs_tol=1e-12)
