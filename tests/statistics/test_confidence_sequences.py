"""The interval of a running mean: by hand, within bounds, narrowing, and right at all looks together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.statistics import sequence_interval
from assay.statistics.confidence_sequences import SHARES


def wealth(values: list[float], mean: float) -> float:
    """The wealth of those who bet on higher values, as the module's docstring writes it."""
    return float(np.mean([math.prod(1.0 + c * (x - mean) / mean for x in values) for c in SHARES]))


def test_the_lower_end_is_where_the_wealth_reaches_forty() -> None:
    values = [0.9, 0.8, 1.0, 0.7, 0.9, 1.0, 0.8, 0.9]
    found = sequence_interval(values)
    assert found.low is not None
    assert wealth(values, found.low) == pytest.approx(40.0, rel=1e-6)
    assert found.estimate == pytest.approx(0.875)
    assert (found.n, found.level, found.method) == (8, 0.95, "confidence_sequence")


def test_values_and_their_mirror_give_mirrored_intervals() -> None:
    values = np.asarray([0.0, 0.3, 1.0, 0.6, 0.2])
    found, mirrored = sequence_interval(values), sequence_interval(1.0 - values)
    assert found.low == pytest.approx(1.0 - (mirrored.high or 0.0))
    assert found.high == pytest.approx(1.0 - (mirrored.low or 0.0))


def test_other_bounds_only_scale_it() -> None:
    values = np.asarray([0.2, 0.9, 0.4, 0.4])
    found, scaled = sequence_interval(values), sequence_interval(5.0 * values, bounds=(0.0, 5.0))
    assert scaled.low == pytest.approx(5.0 * (found.low or 0.0))
    assert scaled.high == pytest.approx(5.0 * (found.high or 0.0))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40))
def test_it_holds_the_mean_and_stays_within_bounds(values: list[float]) -> None:
    found = sequence_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert 0.0 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= 1.0


def test_one_value_excludes_nearly_nothing_and_many_narrow_it() -> None:
    one = sequence_interval([0.5])
    assert (one.low or 0.0) < 0.05
    assert (one.high or 1.0) > 0.95
    rng = np.random.default_rng(0)
    values = rng.beta(6, 2, 400)
    widths = [
        (found.high or 1.0) - (found.low or 0.0) for n in (20, 100, 400) for found in [sequence_interval(values[:n])]
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.12


def test_looking_after_every_value_misses_the_mean_at_most_as_often_as_promised() -> None:
    rng, missed = np.random.default_rng(7), 0
    for _ in range(60):
        values = (rng.random(60) < 0.8).astype(np.float64)
        looks = [sequence_interval(values[:n], level=0.9) for n in range(1, 61, 3)]
        missed += any(not look.contains(0.8) for look in looks)
    # 10 % of 60 are 6; above 12 would be seen once in a hundred of such tests.
    assert missed <= 12


def test_values_outside_their_bounds_are_refused() -> None:
    with pytest.raises(BadValue, match=r"1\.5"):
        sequence_interval([0.5, 1.5])
