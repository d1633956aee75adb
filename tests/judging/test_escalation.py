"""When a larger model is asked, at each boundary, and what it is shown and may say."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judging.made import GUARD
from tests.judging.panels import alike, lost, material, result

from assay.errors import EndpointUnavailable
from assay.judging.panel import ModelReviewer, triggers_of, verdict_of
from assay.judging.panel_options import PanelOptions
from assay.judging.prompts import REVIEWER, parse_prompt, read_bundled
from assay.records.judging import PanelVerdict, RoleOutcome, Trigger
from assay.records.research import DIMENSIONS, Checkpoint, Role
from assay.testing import ScriptedModel

OPTIONS = PanelOptions()
PLAN = Checkpoint.PLAN


def spread_by(difference: float) -> PanelVerdict:
    names = [one.value for one in DIMENSIONS[PLAN]]
    high, low = (dict.fromkeys(names, score) for score in (0.95, round(0.95 - difference, 6)))
    return verdict_of(PLAN, [result(Role.INTENT_ANALYST, high), result(Role.COVERAGE_CHECKER, low)], OPTIONS)


@pytest.mark.parametrize(("confidence", "asked"), [((0.59, 0.59), True), ((0.6, 0.59), False), ((0.6, 0.6), False)])
def test_all_roles_have_to_be_unsure(confidence: tuple[float, float], asked: bool) -> None:
    names = {one.value: 0.9 for one in DIMENSIONS[PLAN]}
    first, second = confidence
    said = [result(Role.INTENT_ANALYST, names, first), result(Role.COVERAGE_CHECKER, names, second)]
    assert (Trigger.LOW_CONFIDENCE in verdict_of(PLAN, said, OPTIONS).triggers) is asked


@pytest.mark.parametrize(("difference", "asked"), [(0.3, False), (0.31, True), (0.29, False)])
def test_more_than_three_tenths_apart_is_a_disagreement(difference: float, asked: bool) -> None:
    assert (Trigger.DISAGREEMENT in spread_by(difference).triggers) is asked


@pytest.mark.parametrize(("score", "asked"), [(0.65, True), (0.64, False), (0.7, True), (0.75, True), (0.76, False)])
def test_an_aggregate_within_a_twentieth_of_the_threshold_is_borderline(score: float, asked: bool) -> None:
    assert (Trigger.BORDERLINE in verdict_of(PLAN, alike(PLAN, score), OPTIONS).triggers) is asked


@pytest.mark.parametrize(("checkpoint", "score"), [(Checkpoint.RETRIEVAL, 0.5), (Checkpoint.ANSWER, 0.55)])
def test_each_checkpoint_has_its_own_threshold(checkpoint: Checkpoint, score: float) -> None:
    assert verdict_of(checkpoint, alike(checkpoint, score), OPTIONS).triggers == (Trigger.BORDERLINE,)
    assert verdict_of(checkpoint, alike(checkpoint, 0.7), OPTIONS).triggers == ()


def test_without_a_quorum_there_is_nothing_to_review() -> None:
    verdict = verdict_of(PLAN, [lost(Role.INTENT_ANALYST), lost(Role.COVERAGE_CHECKER)], OPTIONS)
    assert triggers_of(verdict, OPTIONS) == ()


def review(*lines: Any) -> tuple[ScriptedModel, Any]:
    model = ScriptedModel(*lines, name="qwen3:30b")
    reviewer = ModelReviewer(model, parse_prompt(REVIEWER, read_bundled(REVIEWER)), guard=GUARD)
    verdict = spread_by(0.5)
    return model, reviewer.review(material(), verdict, (Trigger.DISAGREEMENT,), 20.0)


SAID = {
    "panel_review": "One of them overlooked the time.",
    "trust": {"intent_analyst": 0.9, "coverage_checker": 0.1},
    "verdict": "The plan is fine.",
    "scores": {"intent_alignment": 0.9, "query_coverage": 0.8, "scope_appropriateness": 1},
}


def test_the_reviewer_sees_scores_and_critiques_and_gives_the_verdict() -> None:
    model, said = review(SAID)
    assert said.scored
    assert said.scores == {"intent_alignment": 0.9, "query_coverage": 0.8, "scope_appropriateness": 1.0}
    assert (said.model, said.trust["coverage_checker"], said.prompt) == ("qwen3:30b", 0.1, "escalation_reviewer@0")
    asked = model.asked[0].messages[1].content
    assert "intent_analyst: confidence 0.90; intent_alignment 0.95" in asked
    assert "coverage_checker has spoken" in asked
    assert "disagreement" in asked


def test_what_cannot_be_read_or_reached_is_an_outcome() -> None:
    missing = {**SAID, "scores": {"intent_alignment": 0.9}}
    model, said = review(missing)
    assert said.outcome is RoleOutcome.UNREADABLE
    assert len(model.asked) == 2
    assert len(said.raw) == 2
    _, down = review(EndpointUnavailable("it is down", remedy="Start it."))
    assert down.outcome is RoleOutcome.UNAVAILABLE
    assert down.reason == "it is down"
