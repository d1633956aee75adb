"""Two independent samples: known values, honest p-values, and silence where nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.independent_samples import mean_difference


def test_the_interval_is_welchs() -> None:
    """By hand: variances 1 and 8/3, standard error 1, degrees of freedom 54/11; the quantile of t there is 2.585."""
    found = mean_difference([1.0, 2.0, 3.0], [2.0, 4.0, 4.0, 6.0], rng=np.random.default_rng(0))
    assert found.delta == pytest.approx(2.0)
    assert found.low == pytest.approx(2.0 - 2.585, abs=0.003)
    assert found.high == pytest.approx(2.0 + 2.585, abs=0.003)
    assert found.sizes == (3, 4)


def test_p_values_of_equal_samples_are_spread_evenly() -> None:
    rng = np.random.default_rng(1)
    p = [mean_difference(rng.beta(5, 1, 25), rng.beta(5, 1, 40), rng=rng, shuffles=199).p for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) < 0.10
    assert np.mean(p) == pytest.approx(0.5, abs=0.06)


def test_a_clear_difference_has_a_small_p_and_a_large_effect() -> None:
    rng = np.random.default_rng(2)
    found = mean_difference(rng.normal(0.5, 0.1, 30), rng.normal(0.8, 0.1, 30), rng=rng)
    assert found.p < 0.001
    assert found.hedges_g == pytest.approx(3.0, abs=0.8)


def test_what_cannot_be_known_is_none() -> None:
    rng = np.random.default_rng(3)
    one = mean_difference([0.5], [0.7], rng=rng)
    assert (one.low, one.high, one.hedges_g) == (None, None, None)
    assert one.p == 1.0
    flat = mean_difference([0.5, 0.5], [0.5, 0.5], rng=rng)
    assert (flat.low, flat.hedges_g, flat.p) == (None, None, 1.0)
    # The variance of ten times 0.95 is not exactly 0 in floating point.
    equal = mean_difference([0.05] * 10, [0.95] * 10, rng=rng)
    assert (equal.low, equal.high) == (None, None)
    assert equal.delta == pytest.approx(0.9)
