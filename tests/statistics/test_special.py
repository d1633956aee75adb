"""The distributions against printed tables, closed forms and each other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics.special import (
    beta_cdf,
    beta_quantile,
    bisect,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_power,
    t_quantile,
    t_tail,
)

SHAPES = st.floats(0.5, 200.0)
SHARES = st.floats(0.001, 0.999)


def test_normal_values_of_the_table() -> None:
    assert normal_cdf(1.959963984540054) == pytest.approx(0.975, abs=1e-12)
    assert normal_quantile(0.95) == pytest.approx(1.6448536269514722, abs=1e-12)
    assert normal_cdf(-10.0) == pytest.approx(7.619853024160593e-24, rel=1e-10)


@pytest.mark.parametrize(
    ("share", "df", "expected"),
    [
        (0.975, 1, 12.706204736432095),
        (0.975, 2, 4.302652729911275),
        (0.95, 5, 2.015048372669157),
        (0.975, 10, 2.2281388519649385),
        (0.995, 30, 2.7499956535672253),
        (0.975, 1000, 1.9623390808264078),
    ],
)
def test_t_quantiles_of_the_table(share: float, df: int, expected: float) -> None:
    assert t_quantile(share, df) == pytest.approx(expected, rel=1e-9)
    assert t_quantile(1.0 - share, df) == pytest.approx(-expected, rel=1e-9)


def test_the_median_of_t_is_zero() -> None:
    assert t_quantile(0.5, 7) == 0.0


@given(st.floats(-30.0, 30.0))
def test_t_with_two_degrees_has_a_closed_form(t: float) -> None:
    assert t_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)


def test_a_far_tail_of_t_is_not_rounded_to_nothing() -> None:
    # With one degree of freedom t is Cauchy: the tail above x is about 1 / (pi x).
    assert t_tail(1e9, 1) == pytest.approx(1 / (math.pi * 1e9), rel=1e-6)


@pytest.mark.parametrize(
    ("x", "a", "b", "expected"),
    [
        (0.5, 2, 3, 11 / 16),  # 1 - (1-x)^4 - 4x(1-x)^3 at 1/2 = 1 - 1/16 - 4/16
        (0.3, 1, 1, 0.3),
        (0.2, 1, 5, 1 - 0.8**5),
        (0.9, 4, 1, 0.9**4),
        (0.0, 2, 2, 0.0),
        (1.0, 2, 2, 1.0),
    ],
)
def test_beta_shares_with_closed_forms(x: float, a: float, b: float, expected: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(expected, abs=1e-14)


@given(SHARES, SHAPES, SHAPES)
def test_beta_is_its_own_mirror(x: float, a: float, b: float) -> None:
    assert beta_cdf(x, a, b) == pytest.approx(1.0 - beta_cdf(1.0 - x, b, a), abs=1e-11)


@given(SHARES, SHAPES, SHAPES)
def test_a_beta_quantile_inverts_the_share(share: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-9)


def test_beta_with_large_shapes_still_converges() -> None:
    assert beta_cdf(0.5, 1e6, 1e6) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("df", [1, 2, 5, 30, 200, 5000])
def test_a_noncentral_t_without_shift_is_the_central_one(df: int) -> None:
    for critical in (0.7, 2.0, 12.0, 115.0):
        assert t_power(0.0, df, critical) == pytest.approx(t_tail(critical, df), abs=1e-10)


def test_a_large_shift_is_always_seen() -> None:
    assert t_power(40.0, 20, 2.0) == pytest.approx(1.0, abs=1e-10)


def test_bisect_stops_at_the_resolution_of_numbers() -> None:
    assert bisect(lambda x: x * x - 2.0, 0.0, 2.0) == pytest.approx(math.sqrt(2.0), abs=1e-15)
