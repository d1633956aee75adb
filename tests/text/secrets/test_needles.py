"""Needles are found exactly as `in` finds them, whatever the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.text.secrets import formats, masking, named
from assay.text.secrets.needles import Needles, cut_grams
from assay.text.secrets.rules import lower_in_place

PREFIXES = [rule.prefix for rule in formats.PREFIXED]
SENSITIVE = Needles(PREFIXES)
WORDS = Needles(named.WORDS)
PARTS = st.lists(
    st.sampled_from([*PREFIXES, *named.WORDS]) | st.text(max_size=12) | st.text("aeiknoprstwy_-. 0129", max_size=30),
    max_size=12,
)


@given(PARTS)
def test_words_are_found_as_a_plain_search_finds_them(parts: list[str]) -> None:
    text = "".join(parts)
    lower = lower_in_place(text)
    assert WORDS.find_texts(lower, cut_grams(lower)) == [word for word in dict.fromkeys(named.WORDS) if word in lower]


@given(PARTS)
def test_beginnings_are_found_in_their_case_as_a_plain_search_finds_them(parts: list[str]) -> None:
    text = "".join(parts)
    grams = cut_grams(lower_in_place(text))
    assert SENSITIVE.find(text, grams) == [place for place, prefix in enumerate(PREFIXES) if prefix in text]


def test_a_needle_that_stands_twice_is_found_at_both_places() -> None:
    twice = Needles(["live_", "test_", "live_"])
    assert twice.find("a live_ key", cut_grams("a live_ key")) == [0, 2]
    assert twice.find_texts("a live_ key", cut_grams("a live_ key")) == ["live_"]


def test_a_text_too_short_for_a_gram_is_searched_for_short_needles() -> None:
    short = Needles(["pw", "키", "pass"])
    assert short.find("pw", cut_grams("pw")) == [0]
    assert short.find("키", cut_grams("키")) == [1]
    assert short.find("", cut_grams("")) == []


@given(PARTS)
def test_no_finder_that_is_left_out_would_have_found_anything(parts: list[str]) -> None:
    text = "".join(parts)
    for word, find in masking.FINDERS:
        others = [other for other, same in masking.FINDERS if same is find]
        if not any(other in text for other in others):
            assert list(find(text)) == [], word
    for least, find in masking.LONG_ENOUGH:
        assert list(find(text[: least - 1])) == []
