"""What a query is after: the kinds, the evidence, and how often unseen queries are told right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.searching.intent_queries import HELD_OUT, SEEN

from assay.memory.searching.query import CUES, INTENT_CHARACTERS, classify_intent, read_plainly
from assay.records import Intent


@pytest.mark.parametrize("intent", Intent)
def test_every_query_the_rules_were_made_with_is_told_right(intent: Intent) -> None:
    assert len(SEEN[intent]) >= 10
    assert [query for query in SEEN[intent] if classify_intent(query).intent is not intent] == []


def test_of_unseen_queries_three_in_five_are_told_right_and_few_are_taken_for_another_kind() -> None:
    told = [(intent, classify_intent(query).intent) for intent, queries in HELD_OUT.items() for query in queries]
    right = sum(intent is guess for intent, guess in told)
    misled = sum(intent is not guess and guess is not Intent.UNDERSTAND for intent, guess in told)
    assert right / len(told) >= 0.6
    # What is not recognised falls to the kind whose weights favour nothing.
    assert misled / len(told) <= 0.06


def test_unseen_queries_are_not_among_those_the_rules_were_made_with() -> None:
    seen = {query for queries in SEEN.values() for query in queries}
    assert not [query for queries in HELD_OUT.values() for query in queries if query in seen]


def test_where_no_cue_speaks_the_query_asks_for_understanding() -> None:
    guess = classify_intent("Lisbon hotel")
    assert (guess.intent, dict(guess.scores), guess.evidence) == (Intent.UNDERSTAND, {}, ())


def test_the_evidence_is_the_words_that_spoke() -> None:
    guess = classify_intent("Fix the crash: IndexError in pager")
    assert guess.intent is Intent.FIX_BUG
    assert guess.evidence == ("IndexError", "Fix")
    assert guess.scores == {Intent.FIX_BUG: 6}


def test_of_equal_scores_the_more_specific_kind_wins() -> None:
    guess = classify_intent("vulnerable regression")
    assert guess.scores == {Intent.SECURITY_AUDIT: 3, Intent.FIX_BUG: 3}
    assert guess.intent is Intent.SECURITY_AUDIT


def test_what_stands_behind_the_part_that_is_read_says_nothing() -> None:
    assert classify_intent("x" * INTENT_CHARACTERS + " security vulnerability").scores == {}


def test_every_kind_has_cues() -> None:
    assert set(CUES) == set(Intent)


@given(st.text(max_size=300))
def test_any_text_has_a_kind_and_always_the_same(query: str) -> None:
    assert classify_intent(query) == classify_intent(query)
    assert classify_intent(query).intent in Intent


@given(
    st.one_of(
        st.sampled_from([query for kinds in (SEEN, HELD_OUT) for queries in kinds.values() for query in queries]),
        st.lists(
            st.sampled_from(["FIX", "what", "does", "not", "keeps failing", "api contract", "-", "Why", "we"])
        ).map(" ".join),
        st.lists(
            st.sampled_from(["(fix", "trade-off", "don't", "_bug", "bug_", "re-add", "i'd", "like", " ", "/", "x"])
        ).map("".join),
        st.text(max_size=60),
    )
)
def test_the_quick_look_for_a_cue_never_hides_what_its_pattern_finds(query: str) -> None:
    plain = read_plainly(query)
    for cue in (cue for cues in CUES.values() for cue in cues):
        assert (cue.search(query, plain) is None) == (cue.pattern.search(query) is None), cue
