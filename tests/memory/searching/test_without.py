"""Searches made to be compared: with what the caller says it holds, and without one thing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.searching.shelf import Shelf

from assay.errors import BadValue, UnknownFlag
from assay.records import EdgeKind, Hit, SearchRequest
from assay.testing import note


def boosts_of(hit: Hit) -> set[str]:
    assert hit.explanation is not None
    return {one.name for one in hit.explanation.boosts}


@pytest.fixture
def filled(sqlite_shelf: Shelf) -> Shelf:
    sqlite_shelf.put(note("m_1", body="kestrel"), note("m_2", body="harbour wall"), note("m_3", body="harbour tower"))
    sqlite_shelf.join("m_1", EdgeKind.SUPPORTS, "m_3")
    return sqlite_shelf


def test_what_the_caller_holds_is_not_given_again_and_raises_what_it_is_joined_to(filled: Shelf) -> None:
    found = filled.search("harbour", working_memory=("m_1",), explain=True)
    assert "session" in boosts_of(found[0])
    assert found[0].memory_id == "m_3"
    again = filled.search("kestrel", working_memory=("m_1",))
    assert "m_1" not in again.ids
    assert [(held.memory_id, held.given_by) for held in again.held_back] == [("m_1", None)]
    assert not again.cold_start


def test_without_a_flag_a_search_is_the_same_in_everything_else(filled: Shelf) -> None:
    asked: dict[str, Any] = {"working_memory": ("m_1",), "explain": True}
    plain = filled.search("harbour", without=("session_boost",), **asked)
    assert all("session" not in boosts_of(hit) for hit in plain)
    assert set(plain.ids) == set(filled.search("harbour", **asked).ids)


def test_a_flag_that_does_not_exist_is_told(filled: Shelf) -> None:
    with pytest.raises(UnknownFlag, match="sesion_boost"):
        filled.search("harbour", without=("sesion_boost",))
    with pytest.raises(BadValue):
        SearchRequest(query="harbour", working_memory="m_1")  # type: ignore[arg-type]


def test_a_memory_of_one_passage_scores_as_its_passage_does(filled: Shelf) -> None:
    for hit in filled.search("harbour", explain=True):
        assert hit.explanation is not None
        assert hit.explanation.passage_scores() == {0: pytest.approx(hit.score)}
