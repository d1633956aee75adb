"""Whether a change may go in: a gain that shows, and nothing broken that was whole."""

from __future__ import annotations

import pytest
from tests.evaluation.made import level, reading

from assay.errors import NotComparable
from assay.evaluation.experiments import Outcome, decide
from assay.evaluation.gating.question import GateOptions


def test_a_clear_gain_is_accepted() -> None:
    found = decide(level(0.5, name="control"), level(0.7))
    assert found.outcome is Outcome.ACCEPTED
    assert found.reason.startswith("ndcg@5: Better: +0.2")
    assert found.gate.passed


def test_a_clear_loss_is_rejected_with_the_rule_that_broke() -> None:
    found = decide(level(0.7, name="control"), level(0.5))
    assert found.outcome is Outcome.REJECTED
    assert "ndcg@5 fell from 0.70 to 0.50" in found.reason


def test_a_small_loss_within_what_the_gate_allows_is_rejected_all_the_same() -> None:
    found = decide(level(0.70, name="control"), level(0.69))
    assert found.gate.passed
    assert found.outcome is Outcome.REJECTED
    assert found.reason.startswith("ndcg@5: Worse")


def test_no_difference_is_inconclusive() -> None:
    found = decide(level(0.7, name="control"), level(0.7))
    assert found.outcome is Outcome.INCONCLUSIVE


def test_a_floor_that_the_control_misses_too_does_not_reject_a_gain() -> None:
    options = GateOptions(floors={"ndcg@5": 0.9})
    found = decide(level(0.5, name="control"), level(0.7), options=options)
    assert found.outcome is Outcome.ACCEPTED
    assert "fails as the control does: floor ndcg@5" in found.reason


def test_a_gain_that_costs_a_floor_is_rejected() -> None:
    cases = [f"q{number:02}" for number in range(60)]
    before = reading({"ndcg@5": dict.fromkeys(cases, 0.5), "mrr": dict.fromkeys(cases, 0.9)}, name="control")
    after = reading({"ndcg@5": dict.fromkeys(cases, 0.7), "mrr": dict.fromkeys(cases, 0.88)})
    found = decide(before, after, options=GateOptions(floors={"mrr": 0.89}))
    assert found.outcome is Outcome.REJECTED
    assert "mrr 0.88 is under the floor 0.89" in found.reason


def test_the_metric_that_decides_must_have_been_measured() -> None:
    with pytest.raises(NotComparable, match="recall@5 was not measured"):
        decide(level(0.5, name="control"), level(0.7), metric="recall@5")


def test_many_broken_rules_are_counted_not_listed() -> None:
    cases = [f"q{number:02}" for number in range(60)]
    metrics = ("ndcg@5", "mrr", "recall@5", "precision@5", "recall@10")
    before = reading({metric: dict.fromkeys(cases, 0.8) for metric in metrics}, name="control")
    after = reading({metric: dict.fromkeys(cases, 0.3) for metric in metrics})
    assert "and 2 more rules" in decide(before, after).reason
