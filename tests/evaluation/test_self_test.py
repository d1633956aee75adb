"""The gate asked about itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.evaluation.made import reading

from assay.errors import NothingMeasured
from assay.evaluation.gating import GateOptions, judge
from assay.evaluation.readings import Reading
from assay.evaluation.self_test import self_test
from assay.records.evaluations import CaseStatus


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


@pytest.mark.slow
def test_a_real_difference_between_the_two_is_no_false_alarm() -> None:
    assert self_test(*two(60, 0.1, shift=-0.2), replays=100).alarms <= 5


@pytest.mark.slow
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
    sight = next(line for line in said if line.startswith("ndcg@5: this set cannot see less than 0.0"))
    assert "with 200 cases and 80 % power." in sight
    assert many.as_json()["minimum_detectable"].keys() == {"ndcg@5", "recall@5", "mrr"}  # type: ignore[attr-defined] # a table


def test_the_same_seed_gives_the_same_answer() -> None:
    one, other = two(30, 0.3)
    assert self_test(one, other, replays=20).as_json() == self_test(one, other, replays=20).as_json()


def test_twins_show_nothing_and_are_refused() -> None:
    one, _ = two(30, 0.2)
    with pytest.raises(NothingMeasured, match="do not differ in a single case"):
        self_test(one, one)


def flickering(cases: int, *, seed: int, hit: float = 0.8, **more: Any) -> Reading:
    """A system that finds each case with some probability, anew at every asking."""
    found = np.random.default_rng(seed).random(cases) < hit
    return reading({"recall@5": {f"q{n:03}": float(was) for n, was in enumerate(found)}}, name=f"asked {seed}", **more)


@pytest.mark.slow
def test_lost_cases_are_replayed_and_every_rule_says_its_own_rate() -> None:
    found = self_test(flickering(100, seed=1), flickering(100, seed=2), replays=100)
    rules = {one.rule: one for one in found.rules}
    assert {"relative", "lost cases", "failures", "coverage"} <= rules.keys()
    assert rules["lost cases"].undecided > 50, "some case is lost in nearly every replay, and chance explains it"
    assert found.rate.estimate <= 0.1
    told = found.sentences()
    assert any(line.strip().startswith("lost cases: ") for line in told)
    assert found.as_json()["rules"]["lost cases"]["false_alarm_rate"] == rules["lost cases"].rate.estimate  # type: ignore[index] # a table


@pytest.mark.slow
def test_the_self_test_says_what_the_gate_does_with_the_same_replays() -> None:
    failed = sum(judge(flickering(60, seed=2 * n + 1), flickering(60, seed=2 * n)).exit_code == 1 for n in range(100))
    said = self_test(flickering(60, seed=1), flickering(60, seed=2), replays=200).rate
    assert failed <= 10
    assert said.estimate <= 0.1


def test_a_strict_gate_fails_most_replays_of_a_system_that_varies_and_says_so() -> None:
    strict = self_test(flickering(60, seed=1), flickering(60, seed=2), replays=50, options=GateOptions(strict=True))
    assert {one.rule: one.rate.estimate for one in strict.rules}["lost cases"] > 0.9


def test_a_floor_that_neither_reaches_is_not_a_false_alarm() -> None:
    found = self_test(
        flickering(60, seed=1), flickering(60, seed=2), replays=20, options=GateOptions(floors={"recall@5": 0.99})
    )
    assert found.left_out == ("floor recall@5",)
    assert found.alarms <= 2
    assert any("both runs fail it by themselves: floor recall@5" in line for line in found.sentences())


@pytest.mark.slow
def test_failures_and_latencies_are_replayed_too() -> None:
    rng = np.random.default_rng(3)
    names = [f"q{n:03}" for n in range(60)]
    failing = {1: names[:3], 2: names[10:14]}  # 5.0 % and 6.7 %: one of the two is over the ceiling by chance
    sides = [
        flickering(
            60,
            seed=seed,
            times={name: (float(rng.lognormal(3.0, 1.0)),) for name in names},
            statuses={name: (CaseStatus.ERROR if name in failing[seed] else CaseStatus.OK,) for name in names},
        )
        for seed in (1, 2)
    ]
    rules = {one.rule: one for one in self_test(*sides, replays=100).rules}
    assert rules["failures"].alarms > 0
    assert rules["latency"].rate.estimate <= 0.1
