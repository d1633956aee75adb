"""Exact trigger phrases that stand in a query."""

from __future__ import annotations

import pytest
from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching.channels import phrase_score
from assay.memory.searching.options import SearchOptions
from assay.records import Channel, Filters, SearchRequest
from assay.testing import FixedClock, note


def test_a_phrase_is_worth_more_the_longer_it_is_and_all_when_it_is_the_query() -> None:
    assert [phrase_score(length, 9) for length in (1, 2, 3)] == [0.5, 0.75, 0.875]
    assert phrase_score(2, 2) == 1.0


def test_a_memory_is_found_by_its_trigger_wherever_it_stands_in_the_query(shelf: Shelf) -> None:
    shelf.put(
        note("m_flow", body="Nothing of the kind.", triggers=("OAuth Flow", "café")),
        note("m_other", body="Neither.", triggers=("oauth",)),
        note("m_none", body="oauth flow oauth flow"),
    )
    result = shelf.search("please: what of the oauth-flow, then?", channels=("trigger",), explain=True)
    votes = {hit.memory_id: hit.explanation.passages[0].votes[0].score for hit in result if hit.explanation}
    assert (ids(result), votes) == (["m_flow", "m_other"], {"m_flow": 0.75, "m_other": 0.5})
    assert ids(shelf.search("CAFE", channels=("trigger",))) == ["m_flow"]
    assert ids(shelf.search("o auth flo", channels=("trigger",))) == []


def test_matching_triggers_alone_honours_the_limit_and_leaves_out_superseded_memories(
    shelf: Shelf, clock: FixedClock
) -> None:
    shelf.put(note("m_old", triggers=("deploy",), superseded_at=clock.now()))
    shelf.put(*(note(f"m_{place}", triggers=("deploy",)) for place in range(3)))
    found = shelf.searcher.match_triggers(shelf.scope, "may I deploy now?", 2)
    assert ids(found) == ["m_0", "m_1"]
    assert set(found.weights) == {"trigger"}
    again = shelf.search("deploy", channels=("trigger",), filters=Filters(include_superseded=True))
    assert "m_old" in ids(again)


@pytest.mark.parametrize("query", ["???", "\U0001f600"])
def test_a_query_without_words_matches_nothing(sqlite_shelf: Shelf, query: str) -> None:
    sqlite_shelf.put(note("m_1", triggers=("a",)))
    result = sqlite_shelf.search(query, channels=("trigger", "fts5", "bm25"))
    assert ids(result) == []
    assert result.degraded == ()


def test_ordinary_words_do_not_fire_however_many_they_are(shelf: Shelf) -> None:
    shelf.put(note("m_1", triggers=("always", "how do you", "how do you graft", "out of memory")))
    assert ids(shelf.search("how do you always win?", channels=("trigger",))) == []
    assert ids(shelf.search("how do you graft a pear?", channels=("trigger",))) == ["m_1"]
    assert ids(shelf.search("it ran out of memory", channels=("trigger",))) == ["m_1"]


def test_a_single_word_that_is_common_here_does_not_fire_and_a_phrase_with_it_does(sqlite_shelf: Shelf) -> None:
    shelf = sqlite_shelf
    shelf.put(*(note(f"m_{place}", body=f"Orchard {place} is pruned.") for place in range(20)))
    shelf.put(note("m_t", body="Nothing.", triggers=("orchard", "orchard gate")))
    common = "what of the orchard then"
    assert ids(shelf.search(common, channels=("trigger",))) == []
    assert ids(shelf.search("is the orchard gate open", channels=("trigger",))) == ["m_t"]
    generous = shelf.searching(options=SearchOptions(ordinary_least=50))
    asked = SearchRequest(query=common, channels=(Channel.TRIGGER,))
    assert ids(generous.search(shelf.scope, asked)) == ["m_t"]


def test_a_simulation_without_safeguards_lets_ordinary_words_fire(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(note("m_1", triggers=("always",)))
    asked = SearchRequest(query="how do you always win?", channels=(Channel.TRIGGER,))
    unsafe = sqlite_shelf.searching(options=SearchOptions(ordinary_fire=True))
    assert ids(unsafe.search(sqlite_shelf.scope, asked)) == ["m_1"]
    assert ids(unsafe.with_options(SearchOptions()).search(sqlite_shelf.scope, asked)) == []
