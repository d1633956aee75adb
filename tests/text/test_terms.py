from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.terms import LONGEST_WORD, look_up_stems, normalise_phrase, stems, stems_of, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n.,;-_*\"'", []),
        ("Don't PANIC_now", ["don", "t", "panic", "now"]),
        ("naïve Café, Straße", ["naive", "cafe", "strasse"]),
        ("\ufb01x \uff46\uff55\uff4c\uff4c x\u00b2", ["fix", "full", "x2"]),
        ("İstanbul ΟΔΟΣ οδος", ["istanbul", "οδοσ", "οδοσ"]),
        ("日本語、がぎ 한국어", ["日本語", "がぎ", "한국어"]),
        ("हिन्दी", ["हिन्दी"]),
        ("❤️ 👩‍💻 ok", ["ok"]),
        ("co\u00adoperate", ["cooperate"]),
        ("2026-01-31 v1.2", ["2026", "01", "31", "v1", "2"]),
        ("a\x00b", ["a", "b"]),
    ],
)
def test_words_are_runs_of_letters_and_digits_without_case_or_diacritics(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_letter_reads_the_same_composed_and_decomposed() -> None:
    written = "Ångström déjà がぎ 한국어"
    assert words(unicodedata.normalize("NFD", written)) == words(unicodedata.normalize("NFC", written))


def test_stems_lose_english_endings() -> None:
    assert stems("Running connections, connected") == ["run", "connect", "connect"]


def test_a_long_word_is_cut_before_it_is_stemmed() -> None:
    long = "x" * (LONGEST_WORD - 1) + "ings"
    assert words(long) == ["x" * (LONGEST_WORD - 1) + "i"]
    assert stems(long) == stems_of(words(long))


def test_phrases_that_read_alike_are_equal() -> None:
    assert normalise_phrase("  Roll-back  the DEPLOY! ") == normalise_phrase("roll back the deploy")


@given(st.text())
def test_every_word_has_one_stem(text: str) -> None:
    assert len(stems(text)) == len(words(text))


@given(st.text())
def test_words_hold_no_space_and_no_ascii_but_small_letters_and_digits(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= LONGEST_WORD
        assert not re.search(r"\s", word)
        assert re.fullmatch(r"[a-z0-9]*", "".join(filter(str.isascii, word)))


@given(st.text())
def test_words_of_joined_words_are_the_same_words(text: str) -> None:
    assert words(normalise_phrase(text)) == words(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_quick_way_for_ascii_agrees_with_the_general_way(text: str) -> None:
    assert words(text) == words(text + " é")[:-1]


@given(st.text(max_size=80))
def test_stems_that_are_looked_up_are_those_of_the_stemmer(text: str) -> None:
    assert look_up_stems(words(text)) == stems_of(words(text))
