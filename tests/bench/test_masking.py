"""The masker on lists that it was not made from."""

from __future__ import annotations

from bench.masking import is_left, measure

from assay.text.secrets import mask_text


def test_what_is_promised_holds_on_lists_the_masker_was_not_made_from() -> None:
    found = measure(lambda text: mask_text(text, "body", []))
    assert (found.secrets, found.lookalikes) == (614, 1_206)
    assert found.masked >= 0.95, found.missed_kinds
    assert found.wrong <= 0.01, found.wrong_kinds


def test_a_masker_that_does_nothing_or_too_much_fails() -> None:
    assert not measure(lambda text: text).holds
    assert not measure(lambda _: "").holds


def test_a_secret_of_which_twelve_characters_are_left_is_not_masked() -> None:
    assert is_left("abcdefghijklmnop", "it was [masked]defghijklmnop")
    assert not is_left("abcdefghijklmnop", "it was [masked]mnop")
    assert is_left("hunter2", "the word is hunter2")
