"""Numbers of a simulation: beside their control, with no alarm where nothing changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from assay.evaluation.simulating.numbers import Ground, Searched, drifts, of_round

KNOWN = tuple(f"m_{number}" for number in range(20))
GRADES = {f"q_{number}": {f"m_{number}": 3} for number in range(20)}
GROUND = Ground(known=KNOWN, stale={"m_19"}, favoured={"m_0", "m_1"}, grades=GRADES)


def control(number: int) -> tuple[str, ...]:
    """What is asked for, first, and its neighbours."""
    return tuple(KNOWN[(number + step) % 20] for step in range(5))


def searched(change: Mapping[str, tuple[str, ...]] | None = None) -> list[Searched]:
    changed = change or {}
    return [
        Searched(f"q_{one % 20}", changed.get(f"q_{one % 20}", control(one % 20)), control(one % 20))
        for one in range(100)
    ]


def test_where_nothing_changed_every_change_is_zero() -> None:
    found = of_round(1, searched(), GROUND, terms=3)
    assert (found.gini_change, found.entrenchment_change, found.stale_change, found.ndcg_change) == (0, 0, 0, 0)
    assert found.terms == 3
    assert not any(one.grown for one in drifts(searched(), GROUND, np.random.default_rng(1)))


def test_a_favourite_that_pushes_in_everywhere_is_seen() -> None:
    taken = {f"q_{one}": ("m_0", *[ids for ids in control(one) if ids != "m_0"][:4]) for one in range(20)}
    found = {one.name: one for one in drifts(searched(taken), GROUND, np.random.default_rng(1))}
    assert found["gini"].grown
    assert found["entrenchment"].grown
    assert found["ndcg@10 lost"].grown
    assert not found["stale_served"].grown


def test_what_was_lost_of_quality_by_hand() -> None:
    second = {"q_3": ("m_4", "m_3")}
    [lost] = [one for one in drifts(searched(second), GROUND, np.random.default_rng(1)) if one.name == "ndcg@10 lost"]
    assert lost.change == pytest.approx((1 - 1 / np.log2(3)) / 20)
    assert not lost.grown or lost.change > 0.01


def test_stale_results_are_seen() -> None:
    stale = {f"q_{one}": (*control(one)[:4], "m_19") for one in range(10)}
    found = {one.name: one for one in drifts(searched(stale), GROUND, np.random.default_rng(1))}
    assert found["stale_served"].grown
