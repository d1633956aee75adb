"""Numbers of a simulation: beside their control, with no alarm where nothing changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from assay.evaluation.simulation import Drift, Ground, SimulatedSearch, Trend, Trial, drifts, of_round

KNOWN = tuple(f"m_{number}" for number in range(20))
GRADES = {f"q_{number}": {f"m_{number}": 3} for number in range(20)}
GROUND = Ground(known=KNOWN, stale={"m_19"}, favoured={"m_0", "m_1"}, grades=GRADES)


def control(number: int) -> tuple[str, ...]:
    """What is asked for, first, and its neighbours."""
    return tuple(KNOWN[(number + step) % 20] for step in range(5))


def searched(change: Mapping[str, tuple[str, ...]] | None = None) -> list[SimulatedSearch]:
    changed = change or {}
    return [
        SimulatedSearch(f"q_{one % 20}", changed.get(f"q_{one % 20}", control(one % 20)), control(one % 20))
        for one in range(100)
    ]


def test_where_nothing_changed_every_change_is_zero() -> None:
    found = of_round(1, searched(), GROUND, terms=3)
    assert (found.gini_change, found.entrenchment_change, found.stale_change, found.ndcg_change) == (0, 0, 0, 0)
    assert found.terms == 3
    assert {one.verdict for one in drifts([Trial(searched(), GROUND)], np.random.default_rng(1))} == {Trend.HELD}


def test_a_favourite_that_pushes_in_everywhere_is_seen() -> None:
    taken = {f"q_{one}": ("m_0", *[ids for ids in control(one) if ids != "m_0"][:4]) for one in range(20)}
    found = {one.name: one for one in drifts([Trial(searched(taken), GROUND)], np.random.default_rng(1))}
    assert {name: one.verdict for name, one in found.items()} == {
        "gini": Trend.GROWN,
        "entrenchment": Trend.GROWN,
        "ndcg@10 lost": Trend.GROWN,
        "stale_served": Trend.HELD,
    }


def test_what_was_lost_of_quality_by_hand() -> None:
    second = {"q_3": ("m_4", "m_3")}
    [lost] = [
        one for one in drifts([Trial(searched(second), GROUND)], np.random.default_rng(1)) if one.name == "ndcg@10 lost"
    ]
    assert lost.change == pytest.approx((1 - 1 / np.log2(3)) / 20)
    assert lost.change > lost.margin
    assert lost.verdict is Trend.UNCLEAR, "it is all one question's"


def test_stale_results_are_seen() -> None:
    stale = {f"q_{one}": (*control(one)[:4], "m_19") for one in range(10)}
    found = {one.name: one for one in drifts([Trial(searched(stale), GROUND)], np.random.default_rng(1))}
    assert found["stale_served"].verdict is Trend.GROWN


@pytest.mark.slow
def test_a_question_that_is_asked_again_is_no_further_witness() -> None:
    second = {"q_3": ("m_4", "m_3"), "q_9": ("m_10", "m_9")}
    for times in (1, 20):
        [*_, lost] = drifts([Trial(searched(second) * times, GROUND)], np.random.default_rng(1))
        assert lost.low <= 0.0
        assert lost.high > 2 * lost.change


@pytest.mark.parametrize(
    ("change", "low", "high", "verdict"),
    [
        (0.02, 0.001, 0.04, Trend.GROWN),
        (0.02, 0.0, 0.04, Trend.UNCLEAR),
        (0.01, 0.005, 0.02, Trend.UNCLEAR),
        (0.005, 0.001, 0.01, Trend.HELD),
        (-0.02, -0.04, 0.02, Trend.UNCLEAR),
        (-0.02, -0.04, -0.01, Trend.HELD),
    ],
)
def test_held_is_shown_and_not_merely_the_lack_of_growth(
    change: float, low: float, high: float, verdict: Trend
) -> None:
    assert Drift("any", 0.0, change, low, high, 0.01).verdict is verdict


def test_simulations_are_judged_by_their_mean_and_by_how_they_differ() -> None:
    taken = {f"q_{one}": ("m_0", *[ids for ids in control(one) if ids != "m_0"][:4]) for one in range(20)}
    grown, same = Trial(searched(taken), GROUND), Trial(searched(), GROUND)
    [alone, *_] = drifts([grown], np.random.default_rng(1))
    [mean, *_] = drifts([grown, same], np.random.default_rng(1))
    assert alone.low < alone.change < alone.high
    assert mean.change == pytest.approx(alone.change / 2)
    assert mean.low <= 0.0, "both may be like the one that did not grow"
    assert mean.verdict is Trend.UNCLEAR
    assert {one.verdict for one in drifts([same] * 5, np.random.default_rng(1))} == {Trend.HELD}
