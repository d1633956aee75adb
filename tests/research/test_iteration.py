"""The critic: what an attempt failed by, how the next is made, and which attempt is used in the end."""

from __future__ import annotations

import pytest
from tests.judging.panels import PLAN as A_PLAN
from tests.judging.panels import alike
from tests.storage.samples import AT

from assay.judging.panel import verdict_of
from assay.judging.panel_options import PanelOptions
from assay.records.judging import CheckpointResult
from assay.records.research import Checkpoint, IterationMode
from assay.records.research_log import PlanAttempt
from assay.research.attempts import best_of, decide, failure_of, feedback_on, recommend_mode
from assay.research.checkpoints import result_of

OPTIONS = PanelOptions()


def scored(intent: float, coverage: float, scope: float) -> CheckpointResult:
    given = {"intent_alignment": intent, "query_coverage": coverage, "scope_appropriateness": scope}
    return result_of(verdict_of(Checkpoint.PLAN, alike(Checkpoint.PLAN, given), OPTIONS), OPTIONS)


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ((0.6, 0.1, 0.1), "intent_misalignment"),
        ((0.8, 0.5, 0.1), "insufficient_coverage"),
        ((0.8, 0.7, 0.4), "scope_mismatch"),
        ((0.7, 0.65, 0.6), "low_score"),
    ],
)
def test_a_failure_is_named_after_its_gravest_dimension(scores: tuple[float, float, float], named: str) -> None:
    assert failure_of(scored(*scores)) == named


@pytest.mark.parametrize(
    ("scores", "mode"),
    [
        ((0.39, 0.9, 0.9), IterationMode.ALTERNATIVE_APPROACH),
        ((0.4, 0.9, 0.9), IterationMode.TARGETED_FIX),
        ((0.6, 0.5, 0.9), IterationMode.FULL_REGENERATION),
        ((0.9, 0.3, 0.9), IterationMode.FULL_REGENERATION),
        ((0.9, 0.5, 0.9), IterationMode.TARGETED_FIX),
    ],
)
def test_the_critic_chooses_how_to_go_on(scores: tuple[float, float, float], mode: IterationMode) -> None:
    assert recommend_mode(scored(*scores), OPTIONS) is mode


def test_the_first_failure_follows_the_critic_and_the_second_plans_anew() -> None:
    result = scored(0.9, 0.5, 0.9)
    first, second = (decide(result, attempt=number, options=OPTIONS) for number in (1, 2))
    assert (first.mode, first.forced) == (IterationMode.TARGETED_FIX, False)
    assert (second.mode, second.forced) == (IterationMode.FULL_REGENERATION, True)


def test_the_planner_is_told_what_is_wrong_and_what_would_mend_it() -> None:
    result = scored(0.6, 0.9, 0.9)
    decision = decide(result, attempt=1, options=OPTIONS)
    feedback = feedback_on(A_PLAN, result, decision)
    assert feedback.previous is A_PLAN
    assert feedback.failure_type == "intent_misalignment"
    assert [one.terms for one in feedback.issues] == [("exact",)]
    assert "intent_analyst: intent_analyst has spoken" in feedback.critique
    assert "it is vague - be exact" in feedback.critique
    assert {key.value: score for key, score in feedback.scores.items()} == result.scores


def attempt(number: int, *scores: float) -> PlanAttempt:
    return PlanAttempt(number=number, plan=A_PLAN, result=scored(*scores), made_at=AT)


def test_the_attempt_that_passed_is_used_else_the_best_else_the_first() -> None:
    low, high, passing = attempt(1, 0.1, 0.1, 0.1), attempt(2, 0.6, 0.6, 0.6), attempt(3, 0.71, 0.71, 0.71)
    assert best_of([low, high]).number == 2
    assert best_of([high, low]).number == 2
    assert best_of([low, high, passing]).number == 3
    assert best_of([attempt(1, 0.5, 0.5, 0.5), attempt(2, 0.5, 0.5, 0.5)]).number == 1
