"""What a run over an agent's memory must hold."""

from __future__ import annotations

import pytest
from tests.evaluation.made import reading

from assay.evaluation.gating import Question, Status
from assay.evaluation.gating.baseline_rules import has_share
from assay.evaluation.gating.guarantee_rules import TARGETS, TIERS, judge_agent_memory
from assay.evaluation.gating.rules import rules_of
from assay.evaluation.gating.verdict import RuleVerdict

HOLDING = {
    "constitutional_surfacing@5": 1.0,
    "importance_weighted_recall(least=critical,pinned=count)@10": 0.91,
    "cold_start_ratio@10": 0.70,
    "personalisation_lift@10": 0.001,
    "causal_chain_completeness@10": 0.61,
    "current_fact@1": 0.75,
    "current_fact@5": 0.90,
    "stale_served@5": 0.0,
    "tier_precision@5": 0.5,
    "tier_precision(tier=important)@5": 0.4,
    "tier_precision(tier=normal)@5": 0.3,
}


def judged(**changed: float | None) -> dict[str, RuleVerdict]:
    values = {**HOLDING, **changed}
    known = {name: {"q1": value} for name, value in values.items() if value is not None}
    run = reading(known, dataset="agent-memory")
    return {one.about: one for one in judge_agent_memory(Question(run=run, compared=None))}


def test_a_run_that_reaches_every_target_passes() -> None:
    found = judged()
    assert {one.status for one in found.values()} == {Status.PASS}
    assert set(found) == {one.metric for one in TARGETS} | {"tier_precision"}


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("importance_weighted_recall(least=critical,pinned=count)@10", 0.90),
        ("cold_start_ratio@10", 0.699),
        ("personalisation_lift@10", 0.0),
        ("causal_chain_completeness@10", 0.60),
        ("current_fact@1", 0.749),
        ("current_fact@5", 0.899),
        ("stale_served@5", 0.063),
    ],
)
def test_a_target_that_is_just_missed_fails(metric: str, value: float) -> None:
    found = judged(**{metric: value})[metric]
    assert found.status is Status.FAIL
    assert f"{value:.3f}" in found.sentence


@pytest.mark.parametrize("tiers", [(0.4, 0.4, 0.3), (0.5, 0.3, 0.4), (0.3, 0.4, 0.5)])
def test_tiers_must_fall_strictly(tiers: tuple[float, ...]) -> None:
    assert judged(**dict(zip(TIERS, tiers, strict=True)))["tier_precision"].status is Status.FAIL


@pytest.mark.parametrize("metric", list(HOLDING))
def test_what_was_not_measured_is_inconclusive(metric: str) -> None:
    found = judged(**{metric: None})
    doubtful = [one for one in found.values() if one.status is Status.INCONCLUSIVE]
    assert len(doubtful) == 1
    assert metric in doubtful[0].sentence


def test_the_rules_are_those_of_this_dataset_only() -> None:
    assert judge_agent_memory in [rule.judge for rule in rules_of("agent-memory")]
    assert judge_agent_memory not in [rule.judge for rule in rules_of("hotel")]


def test_a_difference_is_not_held_against_a_share_of_its_baseline() -> None:
    assert not has_share("personalisation_lift@10")
    assert has_share("mrr")
