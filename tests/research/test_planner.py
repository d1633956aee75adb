"""What the rule planner searches for, and how feedback changes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadValue
from assay.records.research import Issue, IterationMode, Plan, PlanFeedback, PlannedQuery, Purpose
from assay.research.planner import LONGEST_QUERY, MOST_QUERIES, RulePlanner


def planned(question: str) -> Plan:
    return RulePlanner().plan(question)


def texts(question: str, purpose: Purpose) -> list[str]:
    return [query.text for query in planned(question).queries if query.purpose is purpose]


def test_each_side_of_a_comparison_is_searched_with_what_is_compared() -> None:
    assert texts("Redis versus Memcached for sessions", Purpose.SIDE) == ["Redis sessions", "Memcached sessions"]


def test_each_part_is_searched_and_one_without_a_subject_borrows_it() -> None:
    assert texts("Who founded the Red Cross and why?", Purpose.ASPECT) == [
        "Who founded the Red Cross",
        "why founded red cross",
    ]


def test_the_time_of_a_question_is_in_its_queries() -> None:
    assert any("latest" in text for text in planned("What are the latest battery breakthroughs?").texts)
    assert any("2015" in text for text in planned("How did rents change since 2015?").texts)


def test_what_is_ruled_out_is_searched_only_as_ruled_out() -> None:
    for text in planned("How can I clean a sofa without chemicals?").texts:
        assert "chemicals" not in text or "without" in text


def test_the_same_question_gives_the_same_plan_by_name() -> None:
    assert planned("Why is the sky blue?") == planned("Why is the sky blue?")
    assert planned("Why is the sky blue?").planner == "builtin"


def test_an_empty_question_is_refused() -> None:
    with pytest.raises(BadValue, match="empty"):
        planned(" \n")


@pytest.mark.parametrize("question", ["x" * 50_000, "why and how " * 4_000, "???", "Wie funktioniert das?"])
def test_any_other_question_has_a_plan_of_bounded_size(question: str) -> None:
    plan = planned(question)
    assert 1 <= len(plan.queries) <= MOST_QUERIES
    assert all(len(text) <= LONGEST_QUERY for text in plan.texts)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200).filter(str.strip))
def test_no_query_is_asked_twice(question: str) -> None:
    found = planned(question).texts
    assert len(found) == len({text.lower() for text in found})


def feedback(mode: IterationMode) -> PlanFeedback:
    previous = Plan(
        question="How do volcanoes form?",
        queries=(PlannedQuery(text="volcanoes formation"), PlannedQuery(text="cheap flights")),
    )
    issue = Issue(issue="magma is missing", fix="add magma", terms=("magma",))
    return PlanFeedback(previous=previous, mode=mode, issues=(issue,))


def test_a_targeted_fix_keeps_what_was_about_the_question_and_adds_what_was_missing() -> None:
    found = RulePlanner().plan("How do volcanoes form?", feedback=feedback(IterationMode.TARGETED_FIX)).texts
    assert found[0] == "volcanoes formation"
    assert any("magma" in text for text in found)
    assert "cheap flights" not in found


def test_a_full_regeneration_keeps_nothing() -> None:
    found = RulePlanner().plan("How do volcanoes form?", feedback=feedback(IterationMode.FULL_REGENERATION)).texts
    assert "volcanoes formation" not in found
    assert any("magma" in text for text in found)


def test_another_approach_asks_in_the_users_own_sentence() -> None:
    found = RulePlanner().plan("How do volcanoes form?", feedback=feedback(IterationMode.ALTERNATIVE_APPROACH)).texts
    assert found[0] == "How do volcanoes form?"
