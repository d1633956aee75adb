"""What a planner is told of a new question: patterns it fits, with words to search for, and no others."""

from __future__ import annotations

from tests.analysis.made import scored, session

from assay.analysis.patterns import MOST_TOLD, Caution, cautions_of, find_patterns, issues_for
from assay.analysis.traits import NEWEST, TIME
from assay.records.analysis import TraitKind

NEW = Caution(kind=TraitKind.INTENT, name=NEWEST, found="Low.", advice="Search the newest.")


def test_a_planted_pattern_is_told_of_a_new_question_that_has_its_trait() -> None:
    known = cautions_of(find_patterns(scored(240, seed=3, lowered=lambda number: number % 8 == 0)))
    assert known
    (first, *_) = issues_for("What is the latest rule to paint fences?", known)
    assert "intent_alignment" in first.issue
    assert first.fix
    assert first.terms
    assert not issues_for("Who painted the fences?", known)


def test_patterns_of_answers_and_of_tags_are_not_for_planners() -> None:
    sessions = [
        session(number, scores={"faithfulness": 0.2 if number % 4 == 0 else 0.9}, tags=("legal",) * (number % 4 == 0))
        for number in range(80)
    ]
    found = find_patterns(sessions)
    assert found.found
    assert cautions_of(found) == ()
    planned = [
        session(number, scores={"query_coverage": 0.2 if number % 4 == 0 else 0.9}, tags=("legal",) * (number % 4 == 0))
        for number in range(80)
    ]
    assert all(one.kind is not TraitKind.TAG for one in cautions_of(find_patterns(planned)))


def test_a_word_fits_in_every_form_and_is_searched_for() -> None:
    known = (Caution(kind=TraitKind.TERM, name="tokens", found="Low.", advice="Do better."),)
    assert [one.terms for one in issues_for("How is a token made?", known)] == [("tokens",)]
    assert not issues_for("How is a coin made?", known)


def test_the_time_a_question_names_and_what_a_long_one_says_late_are_searched_for() -> None:
    timed = (Caution(kind=TraitKind.INTENT, name=TIME, found="Low.", advice="Keep the time."),)
    assert "2024" in issues_for("What did backups cost in 2024?", timed)[0].terms[0]
    many = (Caution(kind=TraitKind.LENGTH, name="10 to 19 words", found="Low.", advice="Split it."),)
    asked = "Which invoices, reports, tokens, queues, dashboards, tenants and certificates does Anna export?"
    assert issues_for(asked, many)[0].terms


def test_only_the_costliest_few_are_told() -> None:
    assert len(issues_for("What is the latest rule?", (NEW,) * 9)) == MOST_TOLD
