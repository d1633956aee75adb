"""What nobody sees is taken out and reported; what a script needs stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.saving.conftest import draft

from assay.memory.saving.drafts import (
    HIDDEN_TEXT,
    PRIVATE,
    REORDERED,
    STRAY,
    mask_secrets,
    remove_hidden_text,
    strip_hidden,
)
from assay.records import Mask
from assay.records.memory import TEXT_FIELDS

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")


@pytest.mark.parametrize(
    ("text", "left", "kind"),
    [
        ("pay\u200bload", "payload", HIDDEN_TEXT),
        (f"menu{TAGS}", "menu", HIDDEN_TEXT),
        ("abc\u202edef", "abcdef", REORDERED),
        ("a\u2066b\u2069", "ab", HIDDEN_TEXT),
        ("ab\u200d\u200ccd", "abcd", HIDDEN_TEXT),
        ("\U0001f600\U000e0100\U000e0101\U000e0102", "\U0001f600\U000e0100", HIDDEN_TEXT),
        ("\u0645\u06cc\u200c\u200c\u200c\u062e", "\u0645\u06cc\u200c\u062e", HIDDEN_TEXT),
        ("\ufeffTitle", "Title", STRAY),
        ("\uf0b7 item", " item", PRIVATE),
        ("\x1b[31mred", "red", REORDERED),
        ("co\xadoperate", "cooperate", STRAY),
    ],
)
def test_what_nobody_sees_is_taken_out(text: str, left: str, kind: str) -> None:
    masks: list[Mask] = []
    assert strip_hidden(text, "body", masks) == left
    assert masks == [Mask(kind, "body", len(text) - len(left))]


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 at home",
        "\u2764\ufe0f and 1\ufe0f\u20e3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\u845b\U000e0100",
        "cafe\u0301, tabs\tand\nlines",
    ],
)
def test_what_a_script_needs_stays(text: str) -> None:
    masks: list[Mask] = []
    assert (strip_hidden(text, "body", masks), masks) == (text, [])


# An escape sequence goes with its letters and digits ("\x1b[31m"), so texts with one are not among these.
@given(st.text(st.characters(exclude_characters="\x1b\x9b")))
def test_taking_out_twice_is_taking_out_once(text: str) -> None:
    once = strip_hidden(text, "body", [])
    assert strip_hidden(once, "body", []) == once


@given(st.text(st.characters(exclude_characters="\x1b\x9b")))
def test_no_letter_is_lost_outside_escape_sequences(text: str) -> None:
    once = strip_hidden(text, "body", [])
    assert [letter for letter in once if letter.isalnum()] == [letter for letter in text if letter.isalnum()]


def test_an_escape_sequence_goes_with_its_parameters() -> None:
    assert strip_hidden("a\x9b31mb", "body", []) == "ab"


def test_every_field_is_looked_at_and_a_clean_draft_is_left_alone() -> None:
    dirty = draft(title=f"A{TAGS}", triggers=(f"b{TAGS}",), tags=("c\u200b",), metadata={"k\u200b": ["v\u200b", 1]})
    clean, masks = remove_hidden_text(dirty)
    assert (clean.title, clean.triggers, clean.tags, dict(clean.metadata)) == ("A", ("b",), ("c",), {"k": ["v", 1]})
    assert [one.where for one in masks] == ["title", "triggers", "tags", "metadata", "metadata"]
    assert remove_hidden_text(clean) == (clean, ())


@pytest.mark.parametrize("name", TEXT_FIELDS)
def test_no_text_field_keeps_a_hidden_character(name: str) -> None:
    changed: dict[str, Any] = {name: "a\u200bb"}
    clean, masks = remove_hidden_text(replace(draft(), **changed))
    assert getattr(clean, name) == "ab"
    assert [mask.where for mask in masks] == [name]


def test_a_secret_with_an_invisible_character_in_it_is_masked_all_the_same() -> None:
    hidden = draft(body="The key is AKIA\u200bIOSFODNN7EXAMPLQ for the bucket.")
    assert not mask_secrets(hidden)[1]
    assert "AKIA" not in mask_secrets(remove_hidden_text(hidden)[0])[0].body
