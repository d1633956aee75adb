"""The comparisons that `bench.until_sure` makes have the means that they say, and its promises can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.until_sure import CLOSE, Figures, collect, decide_finite, find_failures, make_comparisons


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_scenarios_have_the_gain_that_they_say(rng: np.random.Generator) -> None:
    differences = rng.uniform(-0.2, 0.5, size=100)
    made = dict(make_comparisons(differences, 400, rng))
    means = {scenario: float(rows.mean()) for scenario, rows in made.items()}
    assert means == pytest.approx({"same": 0.0, "+0.05, coin": 0.05, "+0.05, mixed": 0.05}, abs=0.01)
    assert all(np.allclose(np.sort(np.abs(row)), np.sort(np.abs(differences))) for row in made["same"])


def test_bets_against_a_finite_set_end_when_its_mean_is_certain() -> None:
    assert decide_finite(np.full(50, 0.3)).decision == "better"
    assert decide_finite(np.full(50, -0.3)).decision == "worse"
    assert decide_finite(np.zeros(50)).decision is None


def test_a_promise_that_does_not_hold_is_named(rng: np.random.Generator) -> None:
    (found, *_) = collect(" - ".join(CLOSE), "same", rng.uniform(-0.1, 0.1, size=(20, 60)))
    assert list(find_failures([found])) == []
    assert list(find_failures([replace(found, better=0.04, worse=0.02)])) == [
        "words - words, quick: 6.0% false decisions"
    ]
    slow: Figures = replace(found, scenario="+0.05, coin", saved=0.4)
    assert list(find_failures([slow])) == ["words - words, quick, +0.05, coin: 40% of the cases saved"]
