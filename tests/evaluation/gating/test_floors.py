"""Floors: at them, under them, over them, and what was never measured."""

from __future__ import annotations

import pytest
from tests.evaluation.made import reading

from assay.evaluation.gating import GateOptions, Question, Status
from assay.evaluation.gating.run_rules import judge_floors
from assay.evaluation.gating.verdict import RuleVerdict
from assay.evaluation.readings import Reading


def judged(run: Reading, **floors: float) -> RuleVerdict:
    (found,) = judge_floors(
        Question(
            run=run, compared=None, options=GateOptions(floors={n.replace("_at_", "@"): v for n, v in floors.items()})
        )
    )
    return found


@pytest.mark.parametrize(
    ("value", "status", "sentence"),
    [
        (0.80, Status.PASS, "recall@5 0.80 reaches the floor 0.80"),
        (0.75, Status.FAIL, "recall@5 0.75 is under the floor 0.80"),
        (0.7999, Status.FAIL, "recall@5 0.7999 is under the floor 0.80"),
        (0.81, Status.PASS, "recall@5 0.81 reaches the floor 0.80"),
    ],
)
def test_a_mean_at_its_floor_reaches_it(value: float, status: Status, sentence: str) -> None:
    found = judged(reading({"recall@5": {"a": value, "b": value}}), recall_at_5=0.8)
    assert (found.status, found.sentence) == (status, sentence)


def test_a_mean_that_misses_its_floor_by_rounding_alone_is_at_it() -> None:
    tenths = {str(place): 0.1 * 3 if place else 0.3 for place in range(7)}
    assert judged(reading({"recall@5": tenths}), recall_at_5=0.30000000000000004).status is Status.PASS


def test_the_floor_of_a_latency_is_a_ceiling() -> None:
    run = reading({"mrr": {"a": 1.0, "b": 1.0}}, times={"a": (400.0,), "b": (500.0,)})
    at, over = judged(run, p95=500.0), judged(run, p95=499.0)
    assert (at.status, at.sentence) == (Status.PASS, "latency p95 500 ms is within the ceiling 500 ms")
    assert (over.status, over.sentence) == (Status.FAIL, "latency p95 500 ms is over the ceiling 499 ms")


def test_a_latency_may_be_spelt_as_people_write_it() -> None:
    run = reading({"mrr": {"a": 1.0}}, times={"a": (400.0,)})
    options = GateOptions(floors={"latency p95": 300.0})
    assert [one.about for one in judge_floors(Question(run=run, compared=None, options=options))] == ["p95"]


def test_what_was_not_measured_cannot_be_decided() -> None:
    found = judged(reading({"mrr": {"a": 1.0}}), recall_at_5=0.8)
    assert found.status is Status.INCONCLUSIVE
    assert found.sentence == "recall@5 was not measured, and at least 0.8 is demanded"
    assert judged(reading({"mrr": {"a": 1.0}}), p95=500.0).status is Status.INCONCLUSIVE


def test_floors_of_the_settings_count_over_those_of_the_dataset() -> None:
    run = reading({"mrr": {"a": 0.5}}, floors={"mrr": 0.9})
    assert not list(judge_floors(Question(run=reading({"mrr": {"a": 0.5}}), compared=None)))
    (strict,) = judge_floors(Question(run=run, compared=None))
    (mild,) = judge_floors(Question(run=run, compared=None, options=GateOptions(floors={"mrr": 0.4})))
    assert (strict.status, mild.status) == (Status.FAIL, Status.PASS)
