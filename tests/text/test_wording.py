"""A text taken apart: which shapes are facts, and what a sentence tells of itself."""

from __future__ import annotations

import pytest

from assay.text.wording import wording


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("It opens in June.", [("month", "jun")]),
        ("The party is in May.", [("month", "may")]),
        ("May we go in? You may.", []),
        ("It opens on May 4.", [("date", "?-5-4")]),
        ("It opens on may\t4, 2026 or so.", [("date", "2026-5-4")]),
        ("It opens on 4 May", [("date", "?-5-4")]),
        ("By noon 12:30", [("time", "12:30")]),
        ("The set is foo-bar2 and foo.", [("name", "foo-bar2")]),
        ("The set is foo/bar, see /etc/foo.", [("name", "foo/bar"), ("name", "/etc/foo")]),
        ("The set is foo_bar or foo#1", [("name", "foo_bar"), ("name", "foo"), ("number", "1")]),
        ("We run v2 or v 2 in Q3", [("version", "2"), ("number", "2"), ("quarter", "q3")]),
        ("It waits three days", [("number", "259200")]),
        ("It waits 10ms", [("number", "0.01")]),
    ],
)
def test_a_fact_is_known_by_what_stands_beside_the_word(text: str, facts: list[tuple[str, str]]) -> None:
    assert [(fact.kind, fact.value) for fact in wording(text).facts] == facts


def test_the_first_word_of_a_sentence_is_no_name_and_the_same_word_later_is_one() -> None:
    one, two = wording("Redis is fast. We like Redis.").sentences
    assert [token.fact for token in one] == [None, None, None]
    assert [token.fact.value for token in two if token.fact] == ["redi"]


def test_a_sentence_tells_its_stems_those_that_matter_and_those_that_may_negate() -> None:
    [sentence] = wording("The inactive client is not in the list").sentences
    assert sentence.stems == {"the", "inact", "client", "is", "not", "in", "list"}
    assert sentence.telling == ["inact", "client", "is", "not", "in", "list"]
    assert sentence.negating == ["inact", "not", "in"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("To keep two nightly imports from running at once the team takes a lock.", []),
        ("The lock prevents two workers from writing in parallel.", []),
        ("The importer runs two jobs at once.", ["2"]),
        ("Keep two copies of each backup.", ["2"]),
        ("To keep three imports from running at once, set the limit.", ["3"]),
    ],
)
def test_two_that_must_not_run_at_once_are_no_number_that_somebody_chose(text: str, numbers: list[str]) -> None:
    assert [fact.value for fact in wording(text).facts if fact.kind == "number"] == numbers
