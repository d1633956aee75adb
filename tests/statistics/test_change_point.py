"""A change is found where it is, and noise is not called one more often than it may."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.independent_samples import change_point


def test_a_step_is_found_where_it_is() -> None:
    rng = np.random.default_rng(1)
    series = np.r_[rng.normal(0.8, 0.05, 40), rng.normal(0.6, 0.05, 25)]
    found = change_point(series, rng=rng)
    assert found is not None
    assert found.at == 40
    assert found.difference == pytest.approx(series[40:].mean() - series[:40].mean())
    assert found.p_value < 0.001


def test_noise_is_called_a_change_as_often_as_it_may() -> None:
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(400):
        found = change_point(rng.exponential(size=30), rng=rng, permutations=199)
        called += found is not None and found.p_value <= 0.05
    assert called <= 400 * 0.05 + 3 * np.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize("values", [[], [0.5] * 9, [0.5] * 50])
def test_too_few_or_all_the_same_show_nothing(values: list[float]) -> None:
    assert change_point(values, rng=np.random.default_rng(0)) is None


def test_a_series_is_told_the_same_by_the_same_generator() -> None:
    series = np.random.default_rng(3).random(60)
    first, second = (change_point(series, rng=np.random.default_rng(9)) for _ in range(2))
    assert first == second
