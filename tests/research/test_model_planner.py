"""A planner by a model: what it is asked, what it may say, and the rules behind it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judging.made import GUARD
from tests.judging.panels import PLAN, QUESTION

from assay.errors import EndpointUnavailable
from assay.judging.prompts import parse_prompt, read_bundled
from assay.records.research import Issue, IterationMode, PlanFeedback, Purpose
from assay.research.planner import ModelPlanner, RulePlanner
from assay.testing import ScriptedModel

GOOD: dict[str, Any] = {
    "intent": "learn the life of the cookie",
    "aspects": ["life"],
    "queries": [{"text": "session cookie  lifetime", "purpose": "main"}, {"text": "cookie expiry"}],
}


def planning(*lines: Any) -> tuple[ScriptedModel, ModelPlanner]:
    model = ScriptedModel(*lines, name="qwen3:14b")
    return model, ModelPlanner(model, parse_prompt("planner", read_bundled("planner")), guard=GUARD)


def test_the_models_queries_are_used() -> None:
    model, planner = planning(GOOD)
    plan = planner.plan(QUESTION)
    assert plan.texts == ("session cookie lifetime", "cookie expiry")
    assert plan.queries[0].purpose is Purpose.MAIN
    assert (plan.intent, plan.aspects) == ("learn the life of the cookie", ("life",))
    assert (plan.planner, plan.prompt, plan.fallback) == ("qwen3:14b", "planner@0", "")
    assert plan.kind is RulePlanner().plan(QUESTION).kind
    assert QUESTION in model.asked[0].messages[1].content


def test_a_query_that_repeats_another_is_left_out() -> None:
    again = [{"text": "Session Cookie lifetime", "purpose": "side"}, {"text": "cookie age"}]
    _, planner = planning({**GOOD, "queries": [*GOOD["queries"], *again]})
    plan = planner.plan(QUESTION)
    assert plan.texts == ("session cookie lifetime", "cookie expiry", "cookie age")
    assert plan.queries[0].purpose is Purpose.MAIN


def test_feedback_reaches_the_model() -> None:
    model, planner = planning(GOOD)
    feedback = PlanFeedback(
        previous=PLAN,
        mode=IterationMode.TARGETED_FIX,
        failure_type="intent_misalignment",
        critique="It forgot the year.",
        issues=(Issue(issue="no year", fix="add 2024"),),
    )
    planner.plan(QUESTION, feedback=feedback)
    asked = model.asked[0].messages[1].content
    assert "targeted_fix" in asked
    assert "It forgot the year." in asked
    assert "session cookie life" in asked


@pytest.mark.parametrize(
    "bad",
    [
        "no plan today",
        {**GOOD, "queries": []},
        {**GOOD, "queries": [{"text": "  "}]},
        {**GOOD, "queries": [{"text": "a", "purpose": "fun"}]},
        {"intent": "x"},
        EndpointUnavailable("it is down", remedy="Start it."),
    ],
)
def test_what_is_no_plan_is_replaced_by_the_rules_with_the_reason(bad: Any) -> None:
    _, planner = planning(bad)
    plan = planner.plan(QUESTION)
    assert plan.texts == RulePlanner().plan(QUESTION).texts
    assert plan.planner == "builtin"
    assert plan.fallback
    assert plan.prompt == ""


def test_too_many_and_too_long_queries_are_cut() -> None:
    many = {**GOOD, "queries": [{"text": f"{number} " + "word " * 100} for number in range(30)]}
    plan = planning(many)[1].plan(QUESTION)
    assert len(plan.queries) == 8
    assert max(map(len, plan.texts)) <= 300
