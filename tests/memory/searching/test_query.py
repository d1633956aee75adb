"""A query taken apart: words, phrases, prefixes and runs, its caps, and the question for the precise channel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import (
    LONGEST_PHRASE,
    MAX_PHRASES,
    MAX_PREFIXES,
    MAX_TERMS,
    READ_WORDS,
    RUN_WORDS,
    full_text_query,
    parse,
)
from assay.records.searching import MAX_QUERY
from assay.storage.full_text import AllOf, AnyOf, FullTextQuery, Phrase, Prefix, check

OPTIONS = SearchOptions()


def asked(query: str, frequencies: dict[str, int], documents: int = 100) -> FullTextQuery | None:
    return full_text_query(parse(query), lambda word: frequencies.get(word, 0), documents, OPTIONS)


def test_words_stems_and_their_counts() -> None:
    parsed = parse("Locks lock the Lock")
    assert parsed.words == ("locks", "lock", "the", "lock")
    assert parsed.terms == ("locks", "lock", "the")
    assert parsed.stems == {"lock": 3, "the": 1}
    assert parsed.left_out == 0


@pytest.mark.parametrize("query", ['say "write ahead log" now', "say \u201cwrite ahead log\u201d now"])
def test_what_is_quoted_is_a_phrase_and_its_words_are_words_too(query: str) -> None:
    parsed = parse(query)
    assert parsed.phrases == (("write", "ahead", "log"),)
    assert parsed.terms == ("say", "write", "ahead", "log", "now")


@pytest.mark.parametrize("query", ['an "open quote', 'one "word" only', '""', '" "'])
def test_an_open_quote_and_a_single_quoted_word_are_no_phrases(query: str) -> None:
    assert parse(query).phrases == ()


def test_a_word_with_a_star_at_its_end_is_a_prefix_and_no_term() -> None:
    parsed = parse("migrat* store")
    assert parsed.prefixes == ("migrat",)
    assert parsed.terms == ("store",)
    assert parsed.stems == {"migrat": 1, "store": 1}


@pytest.mark.parametrize("query", ["**bold** text", "2*3", "*", "a*", "*start", "select * from notes"])
def test_other_stars_are_no_prefixes(query: str) -> None:
    assert parse(query).prefixes == ()


def test_runs_are_all_stretches_of_up_to_eight_words() -> None:
    assert parse("a b c").runs == ("a", "b", "c", "a b", "b c", "a b c")
    letters = "a b c d e f g h i j"
    assert max(len(run.split()) for run in parse(letters).runs) == 8
    assert "b c d e f g h i" in parse(letters).runs


@pytest.mark.parametrize("query", ["???", "\U0001f600", "--", "!"])
def test_a_query_without_words_is_empty_and_asks_nothing(query: str) -> None:
    parsed = parse(query)
    assert parsed.is_empty
    assert full_text_query(parsed, lambda _: 1, 10, OPTIONS) is None


def test_without_frequencies_the_first_terms_of_a_long_query_are_kept() -> None:
    parsed = parse(" ".join(f"word{number}" for number in range(100)))
    assert parsed.terms == tuple(f"word{number}" for number in range(MAX_TERMS))
    assert (len(parsed.stems), parsed.left_out) == (MAX_TERMS, 100 - MAX_TERMS)


def test_with_frequencies_the_rarest_known_terms_of_a_long_query_are_kept() -> None:
    times = {f"word{number}": 1000 - number for number in range(100)} | {"word99": 0}
    parsed = parse(" ".join(times), frequency=times.__getitem__)
    assert parsed.terms == tuple(f"word{number}" for number in range(99 - MAX_TERMS, 99))


def test_the_longest_query_stays_within_every_cap() -> None:
    text = " ".join(f'"word{number} and {number}" pre{number}*' for number in range(6000))[:MAX_QUERY]
    parsed = parse(text, frequency=lambda _: 5)
    assert len(parsed.words) == READ_WORDS
    assert len(parsed.terms) <= MAX_TERMS
    assert len(parsed.stems) == MAX_TERMS
    assert len(parsed.phrases) == MAX_PHRASES
    assert len(parsed.prefixes) == MAX_PREFIXES
    assert len(parsed.runs) <= 8 * RUN_WORDS
    assert parsed.left_out > 0
    question = full_text_query(parsed, lambda _: 5, 100, OPTIONS)
    assert question is not None
    check(question)


def test_a_long_phrase_is_looked_for_by_its_beginning() -> None:
    found = parse('"' + " ".join(f"w{number}" for number in range(50)) + '"').phrases
    assert found == (tuple(f"w{number}" for number in range(LONGEST_PHRASE)),)


def test_one_word_is_asked_for_as_it_is() -> None:
    assert asked("lock", {"lock": 3}) == "lock"


def test_of_two_words_both_have_to_be_there() -> None:
    assert asked("store lock", {"lock": 3, "store": 9}) == AllOf(["lock", "store"])


def test_of_more_words_all_or_two_of_the_three_rarest() -> None:
    assert asked("the store write lock", {"lock": 3, "store": 9, "write": 5, "the": 90}) == AnyOf(
        [
            AllOf(["lock", "write", "store", "the"]),
            AllOf(("lock", "write")),
            AllOf(("lock", "store")),
            AllOf(("write", "store")),
        ]
    )


def test_a_pair_whose_matches_would_be_too_many_is_not_asked_for() -> None:
    times = {"lock": 90, "write": 300, "store": 400}
    assert asked("store write lock", times, 10_000) == AnyOf(
        [AllOf(["lock", "write", "store"]), AllOf(("lock", "write")), AllOf(("lock", "store"))]
    )


def test_words_above_the_frequency_cap_are_left_out() -> None:
    assert asked("the lock", {"the": 1001, "lock": 1000}, 10_000) == "lock"


def test_of_nothing_but_common_words_the_rarest_is_asked_for() -> None:
    assert asked("the and", {"the": 9000, "and": 8000}, 10_000) == "and"


def test_a_word_that_no_passage_holds_is_not_asked_for() -> None:
    assert asked("lock frobnicate", {"lock": 3}) == "lock"
    assert asked("frobnicate", {}) is None


def test_beside_a_phrase_plain_words_are_not_asked_for() -> None:
    assert asked('how "write lock"', {"how": 9, "write": 2, "lock": 2}) == Phrase(("write", "lock"))


def test_a_prefix_has_to_be_there_and_so_have_plain_words() -> None:
    assert asked("migrat* store", {"store": 9}) == AllOf([Prefix("migrat"), "store"])
    assert asked("migrat*", {}) == Prefix("migrat")


HOSTILE = st.text(alphabet=st.sampled_from("abc \"*:()^-+{}ANDORNEAR'\\\u00e9\u4e2d\U0001f600"), max_size=80)


@given(query=HOSTILE, frequency=st.integers(0, 2000), documents=st.integers(0, 10_000))
def test_whatever_is_typed_the_question_holds_analysed_words_only(query: str, frequency: int, documents: int) -> None:
    parsed = parse(query)
    question = full_text_query(parsed, lambda _: frequency, documents, OPTIONS)
    if question is not None:
        check(question)
    assert set(parsed.terms) == parsed.term_set
    assert set(parsed.terms) | set(parsed.prefixes) >= set(parsed.words)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=20))
def test_runs_stand_by_length_and_place_each_once(read: list[str]) -> None:
    stretches = [
        " ".join(read[start : start + length]) for length in range(1, 9) for start in range(len(read) - length + 1)
    ]
    assert parse(" ".join(read)).runs == tuple(dict.fromkeys(stretches))
