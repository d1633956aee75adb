"""Whether a change may go in: a gain that shows, and nothing broken that was whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.evaluation.made import level, reading

from assay.errors import NotComparable
from assay.evaluation.experiments import ExperimentOutcome, decide
from assay.evaluation.gating.verdict import GateOptions
from assay.evaluation.readings import Reading
from assay.records.evaluations import CaseStatus


def test_a_clear_gain_is_accepted() -> None:
    found = decide(level(0.5, name="control"), level(0.7))
    assert found.outcome is ExperimentOutcome.ACCEPTED
    assert found.reason.startswith("ndcg@5: Better: +0.2")
    assert found.gate.passed


def test_a_clear_loss_is_rejected_with_the_rule_that_broke() -> None:
    found = decide(level(0.7, name="control"), level(0.5))
    assert found.outcome is ExperimentOutcome.REJECTED
    assert "ndcg@5 fell from 0.70 to 0.50" in found.reason


def test_a_small_loss_within_what_the_gate_allows_is_rejected_all_the_same() -> None:
    found = decide(level(0.70, name="control"), level(0.69))
    assert found.gate.passed
    assert found.outcome is ExperimentOutcome.REJECTED
    assert found.reason.startswith("ndcg@5: Worse")


def test_no_difference_is_inconclusive() -> None:
    found = decide(level(0.7, name="control"), level(0.7))
    assert found.outcome is ExperimentOutcome.INCONCLUSIVE


def test_a_floor_that_the_control_misses_too_does_not_reject_a_gain() -> None:
    options = GateOptions(floors={"ndcg@5": 0.9})
    found = decide(level(0.5, name="control"), level(0.7), options=options)
    assert found.outcome is ExperimentOutcome.ACCEPTED
    assert "fails as the control does: floor ndcg@5" in found.reason


def test_a_gain_that_costs_a_floor_is_rejected() -> None:
    cases = [f"q{number:02}" for number in range(60)]
    before = reading({"ndcg@5": dict.fromkeys(cases, 0.5), "mrr": dict.fromkeys(cases, 0.9)}, name="control")
    after = reading({"ndcg@5": dict.fromkeys(cases, 0.7), "mrr": dict.fromkeys(cases, 0.88)})
    found = decide(before, after, options=GateOptions(floors={"mrr": 0.89}))
    assert found.outcome is ExperimentOutcome.REJECTED
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


def noisy(gain: float, n: int = 60) -> tuple[Reading, Reading]:
    """Two readings whose difference is about the gain and varies by ten times as much."""
    rng = np.random.default_rng(4)
    cases = [f"q{number:03}" for number in range(n)]
    base = rng.uniform(0.3, 0.7, n)
    moved = np.clip(base + gain + rng.normal(0.0, 0.1, n), 0.0, 1.0)
    sides = (dict(zip(cases, side.tolist(), strict=True)) for side in (base, moved))
    control, treatment = (reading({"ndcg@5": side}, name=name) for side, name in zip(sides, "ab", strict=True))
    return control, treatment


def test_a_gain_that_is_enough_at_the_first_try_is_not_at_the_twentieth() -> None:
    control, treatment = noisy(0.03)
    first = decide(control, treatment)
    assert (first.outcome, first.attempt, first.alpha) == (ExperimentOutcome.ACCEPTED, 1, 0.05)
    twentieth = decide(control, treatment, attempt=20)
    assert twentieth.outcome is ExperimentOutcome.INCONCLUSIVE
    assert twentieth.alpha == pytest.approx(0.05 / 420)
    assert twentieth.reason.startswith("ndcg@5: Better: +0.0")
    assert twentieth.reason.endswith("That is not enough at try 20: it takes p <= 0.00012.")


def test_a_clear_gain_is_accepted_at_any_try() -> None:
    assert decide(level(0.5, name="control"), level(0.7), attempt=50).outcome is ExperimentOutcome.ACCEPTED


def test_a_loss_is_rejected_at_any_try() -> None:
    treatment, control = noisy(0.03)
    assert decide(control, treatment, attempt=20).outcome is ExperimentOutcome.REJECTED


def failing(reading_of_cases: Reading, failed: int) -> Reading:
    """The same reading, with some cases in which the system failed."""
    broken = dict.fromkeys(reading_of_cases.cases[:failed], (CaseStatus.ERROR,))
    return replace(reading_of_cases, statuses={**reading_of_cases.statuses, **broken})


def test_failing_more_than_the_control_is_not_excused_by_the_control_failing_too() -> None:
    control, treatment = level(0.5, name="control"), level(0.7)
    found = decide(failing(control, 4), failing(treatment, 48))
    assert found.outcome is ExperimentOutcome.REJECTED
    assert "48 of 60" in found.reason
    assert decide(failing(control, 4), failing(treatment, 4)).outcome is ExperimentOutcome.ACCEPTED


def test_a_floor_missed_by_more_than_the_control_is_not_excused() -> None:
    cases = [f"q{number:02}" for number in range(60)]
    before = reading({"ndcg@5": dict.fromkeys(cases, 0.5), "mrr": dict.fromkeys(cases, 0.80)}, name="control")
    after = reading({"ndcg@5": dict.fromkeys(cases, 0.7), "mrr": dict.fromkeys(cases, 0.79)})
    found = decide(before, after, options=GateOptions(floors={"mrr": 0.89}))
    assert found.outcome is ExperimentOutcome.REJECTED
