"""The words of a passage that support a sentence of an answer."""

from __future__ import annotations

from assay.research.support import find_support

PASSAGE = "# Parking\n\nThe garage takes cars up to 1.9 metres. A place costs 18 euros a night.\n- Dogs stay outside."


def test_the_sentence_itself_or_the_one_that_shares_most_words() -> None:
    exact = find_support("A place costs 18 euros a night.", PASSAGE)
    assert exact is not None
    assert PASSAGE[exact.start : exact.end] == "A place costs 18 euros a night."
    other = find_support("Each night a place in it costs 18 euros.", PASSAGE)
    assert other == exact
    tall = find_support("Cars of up to 1.9 metres fit the garage", PASSAGE)
    assert tall is not None
    assert PASSAGE[tall.start : tall.end] == "The garage takes cars up to 1.9 metres."


def test_words_that_are_not_there_have_no_support() -> None:
    assert find_support("The pool opens at seven in the morning.", PASSAGE) is None
    assert find_support("  ", PASSAGE) is None
    assert find_support("anything", "") is None
