"""The paired t test, effect sizes, power, and corrections for many tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import (
    EffectSize,
    Score,
    benjamini_hochberg,
    effect_size,
    holm,
    minimum_detectable_effect,
    paired_t_power,
    paired_t_test,
    required_pairs,
    required_pairs_normal,
    wins_ties_losses,
)
from assay.statistics.paired_tests import hedges_factor

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
P_VALUES = st.lists(st.floats(0.0, 1.0), max_size=20)


def test_students_sleep_data() -> None:
    found = paired_t_test(SLEEP)
    assert (found.df, found.mean) == pytest.approx((9, 1.58))
    assert found.t == pytest.approx(4.062128, abs=1e-6)
    assert found.p == pytest.approx(0.00283289, abs=1e-8)


def test_one_side_is_half_of_two() -> None:
    assert paired_t_test(SLEEP, side="greater").p == pytest.approx(0.00283289 / 2, abs=1e-8)
    assert paired_t_test(SLEEP, side="less").p == pytest.approx(1 - 0.00283289 / 2, abs=1e-8)


def test_differences_that_never_vary_have_no_t() -> None:
    same, nothing, one = paired_t_test([0.1] * 5), paired_t_test([0.0] * 5), paired_t_test([0.1])
    assert (same.t, same.p) == (None, None)
    assert (nothing.t, nothing.p) == (None, 1.0)
    assert (one.t, one.p, one.df) == (None, None, 0)


def test_clusters_take_degrees_of_freedom() -> None:
    values, labels = np.repeat(SLEEP, 2), np.repeat(np.arange(10), 2).tolist()
    doubled = paired_t_test(values, clusters=labels)
    assert (doubled.df, doubled.t) == pytest.approx((9, 4.062128), abs=1e-6)


def test_the_documents_example_needs_73_or_71_queries() -> None:
    assert (required_pairs(0.05, 0.15), required_pairs_normal(0.05, 0.15)) == (73, 71)


@pytest.mark.parametrize(("dz", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_cohens_small_medium_and_large_effects(dz: float, n: int) -> None:
    # The table of G*Power for two tails, alpha 0.05, power 0.80.
    assert required_pairs(dz, 1.0) == n


def test_power_of_a_medium_effect_with_34_pairs() -> None:
    assert paired_t_power(34, 0.5, 1.0) == pytest.approx(0.8077775, abs=1e-6)


def test_without_an_effect_power_is_alpha() -> None:
    assert paired_t_power(20, 0.0, 1.0) == pytest.approx(0.05, abs=1e-9)
    assert paired_t_power(20, 0.0, 1.0, side="greater") == pytest.approx(0.05, abs=1e-9)


def test_a_huge_effect_needs_few_pairs() -> None:
    assert required_pairs(5.0, 0.1) == 2 or paired_t_power(required_pairs(5.0, 0.1) - 1, 5.0, 0.1) < 0.8
    assert required_pairs_normal(50.0, 0.1) == 1


def test_one_sided_tests_need_fewer() -> None:
    assert required_pairs(0.05, 0.15, side="greater") < required_pairs(0.05, 0.15)


@settings(max_examples=20)
@given(st.integers(2, 300), st.floats(0.01, 10.0))
def test_the_smallest_detectable_effect_has_just_the_power_asked_for(n: int, sigma: float) -> None:
    assert paired_t_power(n, minimum_detectable_effect(n, sigma), sigma) == pytest.approx(0.8, abs=1e-6)


def test_required_pairs_and_detectable_effect_invert_each_other() -> None:
    assert minimum_detectable_effect(73, 0.15) <= 0.05 < minimum_detectable_effect(72, 0.15)


def test_effect_size_of_the_sleep_data() -> None:
    found = effect_size(SLEEP)
    assert found.cohen_dz == pytest.approx(1.284558, abs=1e-6)
    # Hedges' factor for 9 degrees of freedom is 0.9139; the usual approximation 1 - 3/35 = 0.9143.
    assert found.hedges_gz == pytest.approx(1.284558 * 0.9138750, abs=1e-5)


@pytest.mark.parametrize("values", [[0.3], [0.3, 0.3]])
def test_without_spread_there_is_no_effect_size(values: list[float]) -> None:
    assert effect_size(values) == EffectSize(cohen_dz=None, hedges_gz=None)


def test_hedges_factor_tends_to_one() -> None:
    assert hedges_factor(1) == 0.0
    assert hedges_factor(10_000) == pytest.approx(1.0, abs=1e-4)


def test_rounding_is_a_tie() -> None:
    assert wins_ties_losses([0.1 + 0.2 - 0.3, 0.5, -0.5, 0.25]) == Score(wins=2, ties=1, losses=1)
    assert wins_ties_losses([]) == Score(0, 0, 0)


def test_holm_by_hand() -> None:
    # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, never falling: .02 .03 .06 .06
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_by_hand() -> None:
    # Sorted .005 .01 .03 .04 times 4/1 4/2 4/3 4/4 = .02 .02 .04 .04
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])


def test_no_tests_need_no_correction() -> None:
    assert holm([]).tolist() == benjamini_hochberg([]).tolist() == []


@given(P_VALUES)
def test_corrections_only_raise_and_holm_raises_most(values: list[float]) -> None:
    raw, strict, mild = np.array(values), holm(values), benjamini_hochberg(values)
    assert (strict >= mild - 1e-12).all()
    assert (mild >= raw - 1e-12).all()
    assert (strict <= 1.0).all()


@given(P_VALUES)
def test_order_of_tests_does_not_matter(values: list[float]) -> None:
    for correct in (holm, benjamini_hochberg):
        assert correct(values[::-1]).tolist() == correct(values).tolist()[::-1]
