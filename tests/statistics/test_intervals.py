"""Intervals of means and proportions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import UNIT, Interval, clopper_pearson, mean_interval, wilson

# Student's own sleep data (1908): extra hours of sleep, drug 2 minus drug 1.
SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


def test_the_mean_of_students_sleep_data() -> None:
    found = mean_interval(SLEEP)
    assert (found.method, found.n) == ("t", 10)
    assert found.estimate == pytest.approx(1.58)
    assert found.low == pytest.approx(0.7001142, abs=1e-7)
    assert found.high == pytest.approx(2.4598858, abs=1e-7)


def test_clopper_pearson_of_eight_in_ten() -> None:
    found = clopper_pearson(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4439045, 0.9747893), abs=1e-7)


def test_wilson_of_eight_in_ten() -> None:
    found = wilson(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)


def test_none_in_ten_still_leaves_room_above() -> None:
    # 1 - 0.025^(1/10) = 0.3085; Wilson: z^2 / (10 + z^2) = 0.2775
    assert clopper_pearson(0, 10).high == pytest.approx(0.3084971, abs=1e-7)
    assert wilson(0, 10).high == pytest.approx(0.2775328, abs=1e-7)
    assert clopper_pearson(0, 10).low == wilson(0, 10).low == 0.0


@pytest.mark.parametrize("n", [1, 2, 10, 300])
def test_a_perfect_score_gets_the_interval_of_clopper_and_pearson(n: int) -> None:
    found = mean_interval([1.0] * n, bounds=UNIT)
    exact = clopper_pearson(n, n)
    assert (found.method, found.estimate, found.high) == ("no_variance", 1.0, 1.0)
    assert found.low == pytest.approx(exact.low, abs=1e-12)


def test_a_zero_score_gets_it_too() -> None:
    found = mean_interval([0.0] * 10, bounds=UNIT)
    assert (found.low, found.high) == pytest.approx((0.0, 0.3084971), abs=1e-7)


def test_equal_values_in_the_middle_leave_room_on_both_sides() -> None:
    # n = 10 may have missed 0.3085 of the population: 0.5 -+ 0.3085 / 2
    found = mean_interval([0.5] * 10, bounds=UNIT)
    assert (found.low, found.high) == pytest.approx((0.3457515, 0.6542485), abs=1e-7)


def test_equal_values_without_bounds_have_no_interval() -> None:
    expected = Interval(estimate=3.0, low=None, high=None, level=0.95, n=4, method="not_computable")
    assert mean_interval([3.0] * 4) == expected
    assert mean_interval([3.0]).method == "not_computable"


def test_an_open_side_contains_everything() -> None:
    assert mean_interval([3.0]).contains(1e9)
    assert not clopper_pearson(8, 10).contains(0.99)


def test_an_interval_is_cut_at_its_bounds() -> None:
    found = mean_interval([0.0, 1.0, 1.0], bounds=UNIT)
    assert (found.low, found.high) == (0.0, 1.0)


def test_clusters_count_as_the_independent_units() -> None:
    # Each cluster holds one value thrice: the interval is that of the three values alone.
    values, labels = np.repeat([0.1, 0.4, 0.7], 3), np.repeat(["a", "b", "c"], 3).tolist()
    clustered, alone = mean_interval(values, clusters=labels), mean_interval([0.1, 0.4, 0.7])
    assert clustered.method == "clustered_t"
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high))


def test_clusters_that_do_not_differ_have_no_variance() -> None:
    found = mean_interval([0.0, 1.0, 1.0, 0.0], clusters=["a", "a", "b", "b"], bounds=UNIT)
    assert found.method == "no_variance"


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.77])
def test_clopper_pearson_never_covers_less_than_it_says(share: float) -> None:
    """Not simulated: the chance of each count is summed over the counts whose interval holds the truth."""
    covered = sum(
        math.comb(20, k) * share**k * (1 - share) ** (20 - k)
        for k in range(21)
        if clopper_pearson(k, 20).contains(share)
    )
    assert covered >= 0.95


@given(st.integers(1, 200), st.data())
def test_proportion_intervals_hold_the_share_and_stay_in_range(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    for found in (wilson(k, n), clopper_pearson(k, n)):
        assert found.low is not None
        assert found.high is not None
        assert 0.0 <= found.low <= k / n <= found.high <= 1.0


@settings(max_examples=40)
@given(st.integers(1, 100), st.data())
def test_failures_mirror_successes(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    for kind in (wilson, clopper_pearson):
        assert kind(k, n).low == pytest.approx(1.0 - (kind(n - k, n).high or 0.0), abs=1e-10)
