"""The score of the precise channel by hand: coverage, place, nearness, phrases, prefixes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.channels import Precise, _find_places, inverse_frequencies, inverse_frequency
from assay.memory.searching.query import parse
from assay.storage.full_text import AnalysedPassage

FLAT = dict.fromkeys(["write", "lock", "store", "migrat"], 1.0)


def scored(query: str, *, title: str = "", triggers: str = "", body: str = "", idf: dict[str, float] = FLAT) -> float:
    return Precise(parse(query), idf).score(AnalysedPassage(1, title, triggers, body).lines())


def test_all_terms_side_by_side_in_the_title_score_one() -> None:
    assert scored("write lock", title="the write lock") == pytest.approx(1.0)


def test_the_same_in_triggers_and_in_the_body_by_hand() -> None:
    # coverage 1, nearness 1; place 2/3 and 1/3
    assert scored("write lock", triggers="write lock") == pytest.approx(0.5 + 0.2 * 2 / 3 + 0.3)
    assert scored("write lock", body="a write lock") == pytest.approx(0.5 + 0.2 / 3 + 0.3)


def test_terms_apart_are_less_near_by_hand() -> None:
    # two terms in a stretch of four words: nearness 1/2
    assert scored("write lock", body="lock x y write") == pytest.approx(0.5 + 0.2 / 3 + 0.3 / 2)


def test_the_shortest_stretch_counts_by_hand() -> None:
    # write . . . lock . write: 5 words one way, 3 the other
    assert scored("write lock", body="write a b c lock d write") == pytest.approx(0.5 + 0.2 / 3 + 0.3 * 2 / 3)


def test_half_of_the_terms_score_a_quarter_of_the_whole_by_hand() -> None:
    assert scored("write lock", body="lock") == pytest.approx(0.25 * (0.5 + 0.2 / 3 + 0.3))


def test_a_rare_term_covers_more_than_a_common_one_by_hand() -> None:
    idf = {"write": 1.0, "lock": 3.0}
    assert scored("write lock", body="lock", idf=idf) == pytest.approx(0.75**2 * (0.5 + 0.2 / 3 + 0.3))


def test_terms_in_two_fields_by_hand() -> None:
    # place (3 + 1) / 2 / 3; each field holds one of the two terms found: nearness 1/2
    assert scored("write lock", title="lock", body="write") == pytest.approx(0.5 + 0.2 * 2 / 3 + 0.3 / 2)


def test_a_term_counts_in_its_best_field_and_nearness_in_the_nearest() -> None:
    # title holds lock, body both side by side: place (3 + 1) / 2 / 3
    assert scored("write lock", title="lock", body="write lock") == pytest.approx(0.5 + 0.2 * 2 / 3 + 0.3)


def test_a_quoted_phrase_in_a_field_is_as_near_as_can_be() -> None:
    apart = scored('store "write lock"', body="store a b c d lock write")
    assert apart < scored('store "write lock"', body="store a b c d write lock")
    assert scored('store "write lock"', body="store a b c d write lock") == pytest.approx(0.5 + 0.2 / 3 + 0.3)


def test_a_prefix_is_found_in_any_word_that_begins_so() -> None:
    assert scored("migrat*", body="the migrations") == pytest.approx(0.5 + 0.2 / 3 + 0.3)
    assert scored("migrat* lock", body="migration lock") == pytest.approx(0.5 + 0.2 / 3 + 0.3)


def test_a_passage_without_any_term_scores_nothing() -> None:
    assert scored("write lock", title="other", body="words") == 0.0
    assert scored("write lock") == 0.0


def test_idf_by_hand_and_for_terms_in_every_or_no_passage() -> None:
    assert inverse_frequency(1, 10) == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert inverse_frequency(10, 10) == pytest.approx(math.log(1 + 0.5 / 10.5))
    assert inverse_frequency(0, 0) == pytest.approx(math.log(2))
    assert inverse_frequency(12, 10) > 0.0


def test_a_prefix_weighs_as_much_as_the_mean_term() -> None:
    found = inverse_frequencies(parse("write lock migrat*"), {"write": 5, "lock": 1}.__getitem__, 10)
    assert found["migrat"] == pytest.approx((found["write"] + found["lock"]) / 2)
    assert inverse_frequencies(parse("migrat*"), lambda _: 0, 10) == {"migrat": 1.0}


WORDS = st.lists(st.sampled_from(["write", "lock", "store", "x", "y"]), max_size=12)


@given(
    title=WORDS, triggers=WORDS, body=WORDS, query=st.sampled_from(["write lock", "lock store write", '"lock write"'])
)
def test_a_score_lies_in_the_unit_interval_and_is_above_zero_exactly_for_a_match(
    title: list[str], triggers: list[str], body: list[str], query: str
) -> None:
    parsed = parse(query)
    passage = AnalysedPassage(1, *map(" ".join, (title, triggers, body)))
    score = Precise(parsed, FLAT).score(passage.lines())
    assert 0.0 <= score <= 1.0 + 1e-12
    assert (score > 0.0) == bool(parsed.term_set & {*title, *triggers, *body})


@given(
    title=WORDS, triggers=WORDS, body=WORDS, query=st.sampled_from(["write lock", "lock store write", '"lock write"'])
)
def test_terms_looked_for_one_by_one_score_as_those_of_a_field_taken_apart(
    title: list[str], triggers: list[str], body: list[str], query: str
) -> None:
    lines = AnalysedPassage(1, *map(" ".join, (title, triggers, body))).lines()
    one_by_one = Precise(parse(query), FLAT).score(lines)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("assay.memory.searching.channels._FEW", 0)
        assert Precise(parse(query), FLAT).score(lines) == one_by_one


@given(title=WORDS, body=WORDS)
def test_a_passage_with_all_terms_beats_every_passage_that_lacks_one(title: list[str], body: list[str]) -> None:
    # Of three equal terms, two cover 4/9 at the most; all of them score half or more wherever they stand.
    parsed = parse("write lock store")
    passage = AnalysedPassage(1, " ".join(title), "", " ".join(body))
    score = Precise(parsed, FLAT).score(passage.lines())
    assert (score >= 0.5) == (parsed.term_set <= {*title, *body})


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", "cc"])), st.sets(st.sampled_from(["a", "b", "ab", "cc"])))
def test_places_are_those_of_a_field_that_is_taken_apart(words: list[str], terms: set[str]) -> None:
    expected = [(place, f" {word} ") for place, word in enumerate(words) if word in terms]
    assert _find_places(f" {' '.join(words)} ", [f" {term} " for term in sorted(terms)]) == expected
