"""The bound holds against the exact permutation test, and the draws come close to it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.statistics.independent_samples import LowerMean

VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.8, 0.9, 1.0]), min_size=4, max_size=9)


def exact(values: list[float], size: int, mean: float) -> float:
    groups = list(combinations(values, size))
    return sum(np.mean(group) <= mean + 1e-12 for group in groups) / len(groups)


@given(values=VALUES, data=st.data())
def test_the_bound_is_never_below_the_exact_p_value(values: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values) - 1))
    group = data.draw(st.permutations(values))[:size]
    mean = float(np.mean(group))
    assert LowerMean(values).bound([size], [mean])[0] >= exact(values, size, mean) - 1e-9


@given(values=VALUES, data=st.data())
def test_draws_come_close_to_the_exact_p_value(values: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(values) - 1))
    group = data.draw(st.permutations(values))[:size]
    mean = float(np.mean(group))
    drawn = LowerMean(values).drawn_p(size, mean, draws=4_000, rng=np.random.default_rng(0))
    assert drawn == pytest.approx(exact(values, size, mean), abs=0.06)


def test_a_group_far_below_has_a_small_bound_and_one_above_has_none() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0.4, 0.1, 20), rng.normal(0.8, 0.1, 180)])
    test = LowerMean(values)
    low, high, large = test.bound([20, 20, 180], [values[:20].mean(), values[20:40].mean(), values[20:].mean()])
    assert 0.0 < low < 1e-12
    assert high == large == 1.0


def test_a_large_group_is_seen_through_the_rest() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(0.4, 0.1, 180), rng.normal(0.8, 0.1, 20)])
    assert LowerMean(values).bound([180], [values[:180].mean()])[0] < 1e-12
    assert LowerMean(values).drawn_p(180, float(values[:180].mean()), draws=999, rng=rng) == pytest.approx(0.001)


def test_values_that_never_differ_say_nothing() -> None:
    assert LowerMean([0.5] * 10).bound([3], [0.5])[0] == 1.0
    assert LowerMean([0.5] * 10).drawn_p(3, 0.5, draws=99, rng=np.random.default_rng(0)) == 1.0


def test_the_bound_never_rounds_to_zero() -> None:
    values = np.concatenate([np.zeros(2_000), np.ones(8_000)])
    assert LowerMean(values).bound([2_000], [0.0])[0] > 0.0


def test_groups_that_cannot_be_are_refused() -> None:
    test = LowerMean([0.1, 0.2, 0.3])
    with pytest.raises(BadValue, match="sizes"):
        test.bound([4], [0.1])
    with pytest.raises(BadValue, match="size is 3"):
        test.drawn_p(3, 0.2, draws=10, rng=np.random.default_rng(0))
    with pytest.raises(BadValue, match="means"):
        test.bound([1, 1], [0.1])
