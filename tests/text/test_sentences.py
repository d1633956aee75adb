"""Where sentences end, and that no text makes looking for it slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.claims import LONGEST, sentences


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It rains. It snows.", ["It rains.", "It snows."]),
        ("Dr. Smith et al. found it. It works.", ["Dr. Smith et al. found it.", "It works."]),
        ("The U.S. Army left in Jan. 1990.", ["The U.S. Army left in Jan. 1990."]),
        ("It costs 3.5 million. That is a lot!", ["It costs 3.5 million.", "That is a lot!"]),
        ("It is so [1]. And so [2, 3].", ["It is so [1].", "And so [2, 3]."]),
        ("# Head\n- one\n2. two", ["Head", "one", "two"]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ("...\n!!!\n   ", []),
        ("", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


@given(st.text(max_size=400))
def test_no_letter_is_lost_and_none_is_added(text: str) -> None:
    found = "".join(sentences(text))
    assert all(character in text for character in found if character != " ")
    assert all(one.strip() == one and one for one in sentences(text))


def test_a_sentence_without_an_end_is_cut_at_spaces() -> None:
    found = sentences("word " * 1_000)
    assert max(map(len, found)) <= LONGEST
    assert " ".join(found).split() == ["word"] * 1_000


def test_what_no_store_can_keep_is_left_out() -> None:
    assert sentences("a\0b \ud800 c") == ["a b ? c"]


@pytest.mark.parametrize("piece", [".", " ", "\n", "a. ", "[1]", "x", "。", '."'])
def test_a_long_monotonous_text_is_cut_all_the_same(piece: str) -> None:
    """Each of these once took the square of its length; 60,000 characters would not come to an end."""
    assert sum(map(len, sentences(piece * (60_000 // len(piece))))) <= 60_000
