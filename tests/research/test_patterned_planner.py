"""A planner told of known weaknesses plans for them at the first attempt, and else plans as ever."""

from __future__ import annotations

from tests.research.made import Planning

from assay.records.research import Issue, IterationMode, PlanFeedback
from assay.research.planner import KNOWN_PATTERN, PatternPlanner, RulePlanner

QUESTION = "What is the latest rule to rotate tokens?"
WEAK = Issue(issue="Such questions score low on recall.", fix="Search the newest state.", terms=("latest", "current"))


def test_the_rules_search_for_what_questions_like_it_lacked() -> None:
    plain = RulePlanner().plan(QUESTION)
    made = PatternPlanner(RulePlanner(), lambda _: (WEAK,)).plan(QUESTION)
    added = set(made.texts) - set(plain.texts)
    assert len(added) == 1
    assert {"latest", "current"} <= set(added.pop().split())
    assert set(plain.texts) <= set(made.texts)
    assert made.planner == f"builtin ({KNOWN_PATTERN})"


def test_any_other_planner_is_told_in_feedback_and_asked_once() -> None:
    inner = Planning()
    PatternPlanner(inner, lambda _: (WEAK,)).plan(QUESTION)
    (feedback,) = inner.feedback
    assert feedback is not None
    assert feedback.issues == (WEAK,)
    assert feedback.mode is IterationMode.TARGETED_FIX
    assert feedback.failure_type == KNOWN_PATTERN
    assert WEAK.fix in feedback.critique


def test_a_question_without_known_weaknesses_is_planned_as_ever() -> None:
    assert PatternPlanner(RulePlanner(), lambda _: ()).plan(QUESTION) == RulePlanner().plan(QUESTION)


def test_a_later_attempt_hears_its_own_critic_alone() -> None:
    inner = Planning()
    own = PlanFeedback(previous=RulePlanner().plan(QUESTION), mode=IterationMode.FULL_REGENERATION)
    PatternPlanner(inner, lambda _: (WEAK,)).plan(QUESTION, feedback=own)
    assert inner.feedback == [own]
