"""The mean and the percentiles of measured numbers. Percentiles are nearest-rank, here and nowhere else.

Nearest rank is the smallest measured value that at least p % of the values do not exceed: a value that some case
really had, and with few cases the tail is the worst case, not a value interpolated below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.errors import BadValue


def percentile(numbers: Sequence[float], percent: int) -> float | None:
    """The value at place ceil(percent * n / 100) of the sorted numbers; None when there are none."""
    if not 1 <= percent <= 100:
        raise BadValue(f"percentile {percent} is not from 1 to 100", remedy="Write it like 95.")
    place = -(-percent * len(numbers) // 100)  # in whole numbers: 0.07 * 100 is more than 7 in binary fractions
    return sorted(numbers)[place - 1] if numbers else None


def mean(numbers: Sequence[float]) -> float | None:
    """The mean; None when there are none."""
    return math.fsum(numbers) / len(numbers) if numbers else None
