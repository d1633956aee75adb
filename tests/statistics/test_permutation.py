"""The sign-flip test: exact where it can be, honest about its floor everywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.statistics import sign_flip_test, smallest_p, units_for_p
from assay.statistics.paired_tests import all_flips, draw_flips

SMALL = st.lists(st.integers(-8, 8).map(lambda k: k / 8), min_size=1, max_size=10)


def test_three_wins_of_three_by_hand(rng: np.random.Generator) -> None:
    # Totals of +-1 +-2 +-3: only +6 is at least 6, and -6 mirrors it.
    assert sign_flip_test([1, 2, 3], rng=rng).p == 2 / 8
    assert sign_flip_test([1, 2, 3], rng=rng, side="greater").p == 1 / 8
    assert sign_flip_test([1, 2, 3], rng=rng, side="less").p == 1.0
    # -1 + 2 + 3 = 4: reached by 6 and 4, so 2 of 8 above and 4 of 8 on both sides.
    assert sign_flip_test([-1, 2, 3], rng=rng, side="greater").p == 2 / 8
    assert sign_flip_test([-1, 2, 3], rng=rng).p == 4 / 8


def test_students_sleep_data(rng: np.random.Generator) -> None:
    # Nine gains and a tie: the tie may carry either sign, so 4 of 1,024 assignments are as extreme.
    sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = sign_flip_test(sleep, rng=rng)
    assert (found.p, found.floor, found.exact, found.flips) == (4 / 1024, 2 / 1024, True, 1024)


def test_all_ties_say_nothing(rng: np.random.Generator) -> None:
    assert sign_flip_test([0.0] * 5, rng=rng).p == 1.0
    assert sign_flip_test([0.0] * 100, rng=rng).p == 1.0


def test_one_pair_says_nothing(rng: np.random.Generator) -> None:
    found = sign_flip_test([0.7], rng=rng)
    assert (found.p, found.floor) == (1.0, 1.0)


def test_p_is_never_zero_and_never_below_its_floor(rng: np.random.Generator) -> None:
    found = sign_flip_test([1.0] * 200, rng=rng, flips=999)
    assert (found.p, found.floor, found.exact) == (1 / 1000, 1 / 1000, False)


def test_many_flips_of_few_units_do_not_beat_what_the_units_allow(rng: np.random.Generator) -> None:
    found = sign_flip_test([1.0] * 17, rng=rng, flips=1_000_000)
    assert found.p >= found.floor == 2 / 2**17


def test_a_thousand_units_have_a_floor_too() -> None:
    assert smallest_p(5_000) == 1 / 10_001


def test_how_many_units_a_p_needs() -> None:
    assert [units_for_p(p) for p in (0.05, 0.05 / 9, 0.001)] == [6, 9, 11]
    assert units_for_p(0.05, side="greater") == 5
    for p in (0.05, 0.01, 0.0004):
        assert smallest_p(units_for_p(p)) <= p < smallest_p(units_for_p(p) - 1)


def test_whole_clusters_change_sign_together(rng: np.random.Generator) -> None:
    # Twelve wins in three clusters are three coins, not twelve.
    labels = ["a", "b", "c"] * 4
    found = sign_flip_test([1.0] * 12, rng=rng, clusters=labels)
    assert (found.p, found.units) == (2 / 8, 3)


def test_the_same_seed_gives_the_same_p() -> None:
    values = np.random.default_rng(3).normal(0.02, 0.1, 60)
    first, second = (sign_flip_test(values, rng=np.random.default_rng(4)) for _ in range(2))
    assert first == second


def test_drawn_flips_come_close_to_all_flips(rng: np.random.Generator) -> None:
    values = rng.normal(0.03, 0.1, 16)
    exact = sign_flip_test(values, rng=rng).p
    drawn = draw_flips(values, 40_000, rng)
    assert np.mean(np.abs(drawn) >= abs(values.sum()) - 1e-12) == pytest.approx(exact, abs=0.01)


@given(SMALL)
def test_exact_p_counts_every_assignment(values: list[float]) -> None:
    signs = itertools.product((1, -1), repeat=len(values))
    totals = [sum(sign * value for sign, value in zip(row, values, strict=True)) for row in signs]
    expected = sum(abs(total) >= abs(sum(values)) - 1e-9 for total in totals) / len(totals)
    assert sign_flip_test(values, rng=np.random.default_rng(0)).p == expected
    assert sorted(all_flips(np.array(values))) == pytest.approx(sorted(totals))


@settings(max_examples=50)
@given(SMALL)
def test_order_scale_and_sign_change_nothing(values: list[float]) -> None:
    p = sign_flip_test(values, rng=np.random.default_rng(0)).p
    for changed in (values[::-1], [v * 7.3 for v in values], [-v for v in values]):
        assert sign_flip_test(changed, rng=np.random.default_rng(0)).p == p


@given(SMALL)
def test_one_side_mirrors_the_other(values: list[float]) -> None:
    greater = sign_flip_test(values, rng=np.random.default_rng(0), side="greater").p
    assert greater == sign_flip_test([-v for v in values], rng=np.random.default_rng(0), side="less").p
