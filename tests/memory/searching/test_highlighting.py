"""Words of a query in a text: found without case, accents and endings, and nothing of the text is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.memory.searching.highlighting import mark_matches


def marked(query: str, text: str) -> list[str]:
    return [piece.text for piece in mark_matches(query, text) if piece.matched]


def test_words_are_marked_as_the_text_spells_them() -> None:
    text = "The refund of a HOLIDAY at the caf\u00e9s: refunding, not fund."
    assert marked("refunds on holidays, cafe?", text) == ["refund", "HOLIDAY", "caf\u00e9s", "refunding"]


def test_function_words_are_not_marked() -> None:
    assert marked("what is in the garage", "What is there in the garage?") == ["garage"]


def test_a_query_without_words_marks_nothing() -> None:
    assert marked("?!", "words") == []
    assert mark_matches("words", "") == ()


@given(query=st.text(max_size=30), text=st.text(max_size=200))
def test_the_pieces_joined_are_the_text(query: str, text: str) -> None:
    assert "".join(piece.text for piece in mark_matches(query, text)) == text
