"""The ratio of two means."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import BadValue
from assay.statistics.intervals import ratio_interval


def test_the_interval_is_that_of_the_logarithm() -> None:
    found = ratio_interval([1.0, 3.0], [2.0, 6.0])
    assert found.estimate == 0.5
    error = math.sqrt(2.0 / 2 / 4 + 8.0 / 2 / 16)  # each sample's variance of its mean over its mean squared
    reach = math.exp(12.706204736 * error)  # Student t, one degree of freedom
    assert found.low == pytest.approx(0.5 / reach, rel=1e-6)
    assert found.high == pytest.approx(0.5 * reach, rel=1e-6)


def test_ratios_in_general_lie_inside_about_as_often_as_promised() -> None:
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(400):
        found = ratio_interval(rng.beta(4, 2, size=20), rng.beta(4, 2, size=60))
        inside += found.low is not None and found.high is not None and found.low <= 1.0 <= found.high
    assert 0.92 <= inside / 400 <= 0.99


@pytest.mark.parametrize(("above", "below"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0]), ([1.0, 2.0], [0.0, 0.0])])
def test_what_cannot_be_divided_is_refused(above: list[float], below: list[float]) -> None:
    with pytest.raises(BadValue):
        ratio_interval(above, below)


def test_a_mean_of_zero_has_no_limits() -> None:
    found = ratio_interval([0.0, 0.0], [1.0, 2.0])
    assert (found.estimate, found.low, found.high) == (0.0, None, None)
