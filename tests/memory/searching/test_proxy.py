"""The quality proxy by hand, at its ends and within its range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.searcher import promptness, quality_proxy, saturation


def test_the_proxy_by_hand() -> None:
    # mean 0.5, top 0.8, 3 of 5 results, 275 ms is half way from 50 to 500
    assert quality_proxy([0.8, 0.5, 0.2], 275.0) == pytest.approx(0.4 * 0.5 + 0.25 * 0.8 + 0.2 * 0.6 + 0.15 * 0.5)


def test_an_empty_result_keeps_only_what_its_promptness_is_worth() -> None:
    assert quality_proxy([], 10.0) == pytest.approx(0.15)
    assert quality_proxy([], 10_000.0) == 0.0


def test_a_perfect_search_has_a_proxy_of_one() -> None:
    assert quality_proxy([1.0] * 5, 50.0) == pytest.approx(1.0)


@pytest.mark.parametrize(("count", "expected"), [(0, 0.0), (1, 0.2), (5, 1.0), (50, 1.0)])
def test_five_results_are_enough(count: int, expected: float) -> None:
    assert saturation(count) == expected


@pytest.mark.parametrize(("latency", "expected"), [(0.0, 1.0), (50.0, 1.0), (140.0, 0.8), (500.0, 0.0), (9e9, 0.0)])
def test_promptness_falls_in_a_straight_line(latency: float, expected: float) -> None:
    assert promptness(latency) == pytest.approx(expected)


@given(st.lists(st.floats(0.0, 1.0), max_size=20), st.floats(0.0, 1e6))
def test_the_proxy_lies_in_the_unit_interval(scores: list[float], latency: float) -> None:
    assert 0.0 <= quality_proxy(scores, latency) <= 1.0 + 1e-12
