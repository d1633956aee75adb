"""Simulated users: biased by place, led by grades, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluation.simulation import Habits, deeds

SHOWN = tuple(f"m_{number}" for number in range(10))
SURE = Habits(patience=0.0, reads_good=1.0, reads_bad=0.0, votes=1.0, mistaken=0.0)


def test_a_sure_user_reads_what_is_good_and_says_so() -> None:
    done = deeds(SHOWN, {"m_2": 2, "m_7": 3, "m_8": 1}, 2, SURE, np.random.default_rng(1))
    assert done == [("m_2", True), ("m_7", True)]


def test_a_mistaken_user_says_the_opposite() -> None:
    habits = Habits(patience=0.0, reads_good=1.0, reads_bad=1.0, votes=1.0, mistaken=1.0)
    done = deeds(("good", "bad"), {"good": 3}, 2, habits, np.random.default_rng(1))
    assert done == [("good", False), ("bad", True)]


def test_what_stands_higher_is_read_more_whatever_it_is_worth() -> None:
    rng = np.random.default_rng(1)
    grades = dict.fromkeys(SHOWN, 3)
    reads = [one.memory_id for _ in range(2_000) for one in deeds(SHOWN, grades, 2, Habits(), rng)]
    share = {one: reads.count(one) / 2_000 for one in SHOWN}
    assert share["m_0"] == pytest.approx(0.9, abs=0.03)
    assert share["m_4"] == pytest.approx(0.9 / 5, abs=0.03)


def test_the_same_seed_gives_the_same_deeds() -> None:
    first, second = (deeds(SHOWN, {"m_1": 3}, 2, Habits(), np.random.default_rng(7)) for _ in range(2))
    assert first == second
