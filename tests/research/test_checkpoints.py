"""Who passes a checkpoint, at each boundary, and that the same is evaluated once."""

from __future__ import annotations

import pytest
from tests.judging.panels import alike, lost, material, panel, saying
from tests.judging.test_panel import Reviewing
from tests.research.made import Scripted, scores

from assay.judging.panel import verdict_of
from assay.judging.panel_options import PanelOptions
from assay.records.judging import CheckpointState, RoleOutcome
from assay.records.research import Checkpoint, roles_at
from assay.research.checkpoints import CheckpointEvaluator, dimensions_below_bar, passes
from assay.research.options import CheckpointOptions, ResearchOptions
from assay.testing import FixedClock

OPTIONS = PanelOptions()
PLAN, RETRIEVAL, ANSWER = Checkpoint


def passes_with(checkpoint: Checkpoint, **given: float) -> bool:
    return passes(verdict_of(checkpoint, alike(checkpoint, given), OPTIONS), OPTIONS)


def plan_passes(intent: float, coverage: float, scope: float) -> bool:
    return passes_with(PLAN, intent_alignment=intent, query_coverage=coverage, scope_appropriateness=scope)


@pytest.mark.parametrize(
    ("plan", "passed"),
    [
        ((0.7, 1.0, 1.0), True),
        ((0.69, 1.0, 1.0), False),  # intent always iterates, whatever the aggregate (0.845)
        ((1.0, 0.6, 1.0), True),
        ((1.0, 0.59, 1.0), False),
        ((1.0, 1.0, 0.0), True),  # scope counts only when borderline; this is 0.85
        ((0.7, 0.7, 0.7), True),  # at the threshold
        ((0.7, 0.69, 0.7), False),  # 0.6965
    ],
)
def test_a_plan_passes_by_intent_coverage_and_aggregate(plan: tuple[float, float, float], passed: bool) -> None:
    assert plan_passes(*plan) is passed


def test_scope_fails_a_plan_only_when_the_aggregate_is_borderline() -> None:
    assert not plan_passes(0.8, 0.76, 0.49)  # 0.7395
    assert plan_passes(0.8, 0.76, 0.50)  # 0.741
    assert plan_passes(0.9, 0.8, 0.49)  # 0.8035


@pytest.mark.parametrize(
    ("recall", "precision", "quality", "passed"),
    [
        (0.5, 0.5, 0.5, True),
        (0.49, 1.0, 1.0, False),
        (0.5, 0.49, 0.5, False),
        (0.5, 0.0, 1.0, False),
        (0.9, 0.1, 0.6, True),
    ],
)
def test_retrieval_is_severe_by_its_aggregate_or_its_recall(
    recall: float, precision: float, quality: float, passed: bool
) -> None:
    given = {"context_recall": recall, "context_precision": precision, "source_quality": quality}
    assert passes_with(RETRIEVAL, **given) is passed


@pytest.mark.parametrize(("score", "passed"), [(0.5, True), (0.49, False)])
def test_an_answer_passes_by_its_aggregate(score: float, passed: bool) -> None:
    assert passes(verdict_of(ANSWER, alike(ANSWER, score), OPTIONS), OPTIONS) is passed


def test_dimensions_fail_below_their_own_bar_or_their_checkpoints() -> None:
    given = {"intent_alignment": 0.69, "query_coverage": 0.6, "scope_appropriateness": 0.49}
    assert dimensions_below_bar(verdict_of(PLAN, alike(PLAN, given), OPTIONS), OPTIONS) == (
        "intent_alignment",
        "scope_appropriateness",
    )
    low = {"faithfulness": 0.4, "relevance": 0.5, "factual_accuracy": 0.6, "completeness": 0.6, "coherence": 0.6}
    assert dimensions_below_bar(verdict_of(ANSWER, alike(ANSWER, low), OPTIONS), OPTIONS) == ("faithfulness",)


def checkpoints(seats: object, **options: object) -> CheckpointEvaluator:
    given = ResearchOptions(**options)  # type: ignore[arg-type] # each test gives fields by name
    return CheckpointEvaluator(panel({PLAN: seats}), options=given, clock=FixedClock())  # type: ignore[dict-item] # the same


def test_the_same_material_is_evaluated_once() -> None:
    seats = [Scripted(role, scores(plan=(0.9, 0.1))) for role in roles_at(PLAN)]
    looked = checkpoints(seats)
    first, again = looked.evaluate(material()), looked.evaluate(material())
    assert (first.cached, again.cached) == (False, True)
    assert again.score == first.score == pytest.approx(0.9)
    other = looked.evaluate(material(question="What else?"))
    assert not other.cached
    assert other.score == pytest.approx(0.1)


def test_what_was_not_fully_scored_is_evaluated_again() -> None:
    seats = saying([alike(PLAN, 0.9)[0], lost(roles_at(PLAN)[1])])
    looked = checkpoints(seats)
    looked.evaluate(material())
    looked.evaluate(material())
    assert [one.asked for one in seats] == [2, 2]


@pytest.mark.parametrize(("reviewer", "asked"), [(Reviewing(0.9), 1), (Reviewing(OSError("down")), 2), (None, 1)])
def test_a_larger_model_that_failed_is_asked_again(reviewer: Reviewing | None, asked: int) -> None:
    seats = saying(alike(PLAN, 0.72))
    borderline = panel({PLAN: seats}, reviewer=reviewer)
    looked = CheckpointEvaluator(borderline, options=ResearchOptions(), clock=FixedClock())
    looked.evaluate(material())
    looked.evaluate(material())
    assert seats[0].asked == asked


def test_only_so_many_evaluations_are_remembered() -> None:
    seats = saying(alike(PLAN, 0.9))
    looked = checkpoints(seats, remembered=1)
    for question in ("a", "b", "a"):
        looked.evaluate(material(question=question))
    assert seats[0].asked == 3


def test_a_checkpoint_that_is_switched_off_asks_nobody() -> None:
    seats = saying(alike(PLAN, 0.9))
    off = {one: CheckpointOptions(timeout_s=1, enabled=False) for one in Checkpoint}
    result = checkpoints(seats, checkpoints=off).evaluate(material())
    assert result.state is CheckpointState.DISABLED
    assert (result.score, result.passed, result.lets_through, seats[0].asked) == (None, None, True, 0)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (RoleOutcome.UNAVAILABLE, CheckpointState.SKIPPED),
        (RoleOutcome.TIMED_OUT, CheckpointState.SKIPPED),
        (RoleOutcome.FAILED, CheckpointState.SKIPPED),
        (RoleOutcome.UNREADABLE, CheckpointState.JUDGE_FAILED),
    ],
)
def test_what_could_not_be_scored_lets_through_and_says_why(outcome: RoleOutcome, state: CheckpointState) -> None:
    result = checkpoints(saying([lost(one, outcome) for one in roles_at(PLAN)])).evaluate(material())
    assert result.state is state
    assert (result.passed, result.score, result.lets_through) == (None, None, True)
    assert "it is down" in result.reason
    assert outcome.value in result.reason
