"""Memories within two edges of the best hits."""

from __future__ import annotations

from tests.memory.searching.shelf import Shelf, ids

from assay.records import EdgeKind
from assay.testing import note


def joined(shelf: Shelf) -> None:
    """A chain of four, of which only the first speaks of the query; and a weak neighbour."""
    shelf.put(
        note("m_1", title="Outage", body="The queue ran full in March."),
        note("m_2", title="Limit", body="Producers are held back."),
        note("m_3", title="Alarm", body="Somebody is called at night."),
        note("m_4", title="Rota", body="Everybody takes a week."),
        note("m_weak", title="Colours", body="Blue is used for links."),
    )
    shelf.join("m_1", EdgeKind.CAUSED, "m_2")
    shelf.join("m_3", EdgeKind.DERIVED_FROM, "m_2")
    shelf.join("m_3", EdgeKind.CAUSED, "m_4")
    shelf.join("m_weak", EdgeKind.SUPPORTS, "m_1", strength=0.1)


def test_neighbours_are_found_up_to_two_edges_away_whichever_way_the_edges_point(shelf: Shelf) -> None:
    joined(shelf)
    result = shelf.search("queue full", channels=("bm25", "graph"), explain=True)
    assert ids(result) == ["m_1", "m_2", "m_3", "m_weak"]
    votes = {
        hit.memory_id: [vote.score for vote in hit.explanation.passages[0].votes if vote.channel == "graph"]
        for hit in result
        if hit.explanation is not None
    }
    assert votes == {"m_1": [], "m_2": [0.5], "m_3": [0.25], "m_weak": [0.05]}


def test_neighbours_of_a_weaker_hit_count_less(sqlite_shelf: Shelf) -> None:
    joined(sqlite_shelf)
    sqlite_shelf.put(note("m_half", title="Shop", body="At noon the queue is long there, says the cook."))
    sqlite_shelf.put(note("m_cook", title="Cook", body="Trained abroad."))
    sqlite_shelf.join("m_half", EdgeKind.SUPPORTS, "m_cook")
    result = sqlite_shelf.search("queue full", channels=("bm25", "graph"))
    assert ids(result).index("m_2") < ids(result).index("m_cook")


def test_without_a_hit_there_is_no_neighbour_and_the_flag_switches_the_channel_off(sqlite_shelf: Shelf) -> None:
    joined(sqlite_shelf)
    assert ids(sqlite_shelf.search("zebra", channels=("bm25", "graph"))) == []
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=sqlite_shelf.flags(graph_scoring=0))
    assert "graph" not in sqlite_shelf.search("queue full").weights


def test_a_neighbour_votes_for_its_best_passage(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        note("m_1", body="alpha beta gamma"),
        note("m_2", body="nothing here\n\nalpha alone\n\nnothing there"),
        note("m_3", body="first part\n\nsecond part"),
    )
    sqlite_shelf.join("m_1", EdgeKind.CAUSED, "m_2")
    sqlite_shelf.join("m_1", EdgeKind.CAUSED, "m_3")
    result = sqlite_shelf.search("beta gamma alpha", channels=("bm25", "graph"), explain=True)
    by_id = {hit.memory_id: hit for hit in result}
    assert by_id["m_2"].text == "alpha alone"
    assert by_id["m_3"].text == "first part"
