"""The gate asked about itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.made import reading

from assay.errors import NothingMeasured
from assay.evaluation.gating import GateOptions
from assay.evaluation.readings import Reading
from assay.evaluation.self_test import self_test


def two(cases: int, noise: float, shift: float = 0.0) -> tuple[Reading, Reading]:
    rng = np.random.default_rng(7)
    base = rng.uniform(0.3, 0.7, cases)
    moved = np.clip(base + rng.normal(shift, noise, cases), 0.0, 1.0)
    names = [f"q{n:03}" for n in range(cases)]
    metrics = ("ndcg@5", "recall@5", "mrr")

    def side(values: np.ndarray, name: str) -> Reading:
        return reading({metric: dict(zip(names, values.tolist(), strict=True)) for metric in metrics}, name=name)

    return side(base, "a"), side(moved, "b")


def test_replays_of_nothing_having_changed_alarm_in_at_most_one_of_twenty() -> None:
    found = self_test(*two(60, 0.2), replays=200)
    assert found.replays == 200
    assert found.alarms / 200 <= 0.05
    assert found.rate.estimate == found.alarms / 200
    assert (found.rate.low or 0.0) <= found.rate.estimate <= (found.rate.high or 0.0)


def test_a_real_difference_between_the_two_is_no_false_alarm() -> None:
    assert self_test(*two(60, 0.1, shift=-0.2), replays=100).alarms <= 5


def test_the_plain_rule_cries_wolf_far_more_often() -> None:
    strict = self_test(*two(40, 0.4), replays=100, options=GateOptions(strict=True))
    both = self_test(*two(40, 0.4), replays=100)
    assert strict.alarms > 20 > both.alarms
    assert both.undecided > 20


def test_more_cases_see_smaller_drops_and_the_sentence_says_how_small() -> None:
    few, many = self_test(*two(20, 0.2), replays=10), self_test(*two(200, 0.2), replays=10)
    assert (many.sights[0].smallest or 0.0) < (few.sights[0].smallest or 0.0)
    said = many.sentences()
    assert said[0].endswith("inconclusive.")
    assert said[1].startswith("ndcg@5: this set cannot see less than 0.0")
    assert "with 200 cases and 80 % power." in said[1]
    assert many.as_json()["minimum_detectable"].keys() == {"ndcg@5", "recall@5", "mrr"}  # type: ignore[attr-defined] # a table


def test_the_same_seed_gives_the_same_answer() -> None:
    one, other = two(30, 0.3)
    assert self_test(one, other, replays=20).as_json() == self_test(one, other, replays=20).as_json()


def test_twins_show_nothing_and_are_refused() -> None:
    one, _ = two(30, 0.2)
    with pytest.raises(NothingMeasured, match="do not differ in a single case"):
        self_test(one, one)
