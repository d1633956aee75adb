"""What a plan finds: how far a passage stands out from the store as a whole."""

from __future__ import annotations

import pytest
from tests.memory.searching.shelf import Shelf

from assay.records import CosineSpread, Scope
from assay.records.research import Plan, PlannedQuery
from assay.records.searching import ORDINARY_DEVIATION, ORDINARY_MEAN, ORDINARY_PASSAGES
from assay.research.search import MemorySearch, SearchLimits
from assay.storage import Store
from assay.testing import FixedClock, note

LIMITS = SearchLimits(results=8, passages=12)


@pytest.fixture
def shelf(store: Store, scope: Scope, clock: FixedClock) -> Shelf:
    filled = Shelf(store, scope, clock)
    filled.put(
        note("m_cookies", title="Session cookies", body="The session cookie lives for twelve hours."),
        note("m_backups", title="Backups", body="Backups run every night and are kept for 30 days."),
        note("m_kitchen", title="Kitchen", body="The kitchen has a new coffee machine."),
    )
    return filled


def plan(*texts: str) -> Plan:
    return Plan(question=texts[0], queries=tuple(PlannedQuery(text=text) for text in texts))


def test_a_cosine_stands_as_far_above_a_large_store_as_its_spread_says() -> None:
    store = CosineSpread(mean=0.2, deviation=0.05, passages=1_000_000)
    assert store.standing_of(0.4) == pytest.approx(4.0, abs=0.01)
    assert store.standing_of(0.2) == pytest.approx(0.0, abs=0.01)


def test_the_same_cosine_stands_out_less_when_the_question_is_like_everything() -> None:
    clear = CosineSpread(mean=0.05, deviation=0.08, passages=500)
    vague = CosineSpread(mean=0.25, deviation=0.08, passages=500)
    spread_out = CosineSpread(mean=0.05, deviation=0.16, passages=500)
    assert clear.standing_of(0.5) > vague.standing_of(0.5)
    assert clear.standing_of(0.5) > spread_out.standing_of(0.5)


def test_one_note_is_held_against_an_ordinary_store() -> None:
    only = CosineSpread(mean=0.6, deviation=0.0, passages=1)
    ordinary = (0.6 - ORDINARY_MEAN) / ORDINARY_DEVIATION
    assert only.standing_of(0.6) == pytest.approx(ordinary, rel=0.1)
    prior = CosineSpread(mean=ORDINARY_MEAN, deviation=ORDINARY_DEVIATION, passages=ORDINARY_PASSAGES)
    assert prior.standing_of(0.6) == pytest.approx(ordinary)


def test_passages_carry_their_standing(shelf: Shelf) -> None:
    found = MemorySearch(shelf.searcher)(shelf.scope, plan("how long does the session cookie live"), LIMITS).passages
    result = shelf.search("how long does the session cookie live", explain=True)
    assert result.cosines is not None
    assert found[0].memory_id == "m_cookies"
    assert found[0].standing == pytest.approx(result.cosines.standing_of(found[0].channels["vector"]))
    assert found[0].standing == max(passage.standing or 0.0 for passage in found)


def test_a_passage_that_two_queries_find_has_the_larger_standing(shelf: Shelf) -> None:
    queries = ("what about machines in the house", "the kitchen has a new coffee machine")

    def standing(*texts: str) -> float:
        found = MemorySearch(shelf.searcher)(shelf.scope, plan(*texts), LIMITS).passages
        value = next(passage.standing for passage in found if passage.memory_id == "m_kitchen")
        assert value is not None
        return value

    vague, clear = (standing(query) for query in queries)
    assert vague < clear
    assert standing(*queries) == standing(*reversed(queries)) == clear


def test_without_vectors_no_passage_has_a_standing(shelf: Shelf) -> None:
    words_only = shelf.searching(embedder=None)
    found = MemorySearch(words_only)(shelf.scope, plan("session cookie"), LIMITS).passages
    assert found
    assert {passage.standing for passage in found} == {None}
