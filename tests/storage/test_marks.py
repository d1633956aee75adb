"""What a row is recognised by that holds something to be erased."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.storage.erasing import ERASED, Marks

ANN = Marks(names=("Ann Lee",))


@pytest.mark.parametrize("text", ["Ann Lee", "by ANN  LEE.", "(ann\nlee)", "Ann Lee's", "\uff21nn Lee"])
def test_a_name_is_found_whatever_its_case_width_and_spaces(text: str) -> None:
    assert ANN.in_value(text)


@pytest.mark.parametrize("text", ["annual lee", "Joann Leeds", "Ann and Lee", "", "Hann Lee"])
def test_a_name_inside_another_word_is_another_word(text: str) -> None:
    assert not ANN.in_value(text)


def test_names_are_found_inside_json() -> None:
    assert ANN.in_value({"deep": [{"Ann Lee": 1}]})
    assert ANN.in_value([["x", "Ann Lee"]])
    assert not ANN.in_value({"deep": [None, 3, True]})


def test_ids_are_found_whole_alone_or_in_a_sentence() -> None:
    marks = Marks(ids=frozenset({"m_1"}))
    assert marks.in_value("m_1")
    assert marks.in_value("m_1#4")
    assert marks.in_value("taken out of m_1 (0.9)")
    assert not marks.in_value("m_12")
    assert not marks.in_value("am_1")


def test_striking_leaves_ids_and_numbers_and_everybody_else() -> None:
    marks = Marks(ids=frozenset({"m_1"}), names=("Ann Lee",))
    said = {
        "nearest": [
            {"memory_id": "m_1", "reasons": ["Lee / Fox"], "similarity": 0.5},
            {"memory_id": "m_2", "reasons": ["Fox / Hen"], "similarity": 0.4},
        ],
        "steps": [["merge", "m_1 (0.9: Lee / Fox)"], ["write", "store"]],
        "title": "About Ann Lee",
        "superseded": ["m_1"],
    }
    assert marks.strike(said) == {
        "nearest": [
            {"memory_id": "m_1", "reasons": [ERASED], "similarity": 0.5},
            {"memory_id": "m_2", "reasons": ["Fox / Hen"], "similarity": 0.4},
        ],
        "steps": [["merge", ERASED], ["write", "store"]],
        "title": ERASED,
        "superseded": ["m_1"],
    }


def test_a_learned_word_is_a_part_of_a_name() -> None:
    assert not Marks(names=("Ann O. Leebrook",)).in_value("leebrook")
    assert Marks(names=("Ann O. Leebrook",)).word_by_word().in_value("leebrook")
    assert not Marks(names=("Ann O. Leebrook",)).word_by_word().in_value("o")


@given(st.text(min_size=1, max_size=40))
def test_every_spelling_that_is_looked_for_has_something_in_it(name: str) -> None:
    spelt = Marks(pieces=(name,)).as_bytes()
    assert all(one.strip() for one in spelt)
    assert not name.strip() or name.lower().encode().lower() in spelt


def test_quotes_are_also_looked_for_as_json_has_them() -> None:
    assert b'she said \\"no\\"' in Marks(pieces=('She said "no"',)).as_bytes()
