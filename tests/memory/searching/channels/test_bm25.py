"""Bags of stems, and what expansion adds in deep mode."""

from __future__ import annotations

from dataclasses import replace

from tests.memory.searching.shelf import Shelf, ids

from assay.memory.searching import SearchOptions
from assay.records import Hit, Mode
from assay.testing import note


def test_other_forms_of_a_word_are_found(shelf: Shelf) -> None:
    shelf.put(note("m_1", body="Deploying runs nightly."), note("m_2", body="Nothing of it."))
    assert ids(shelf.search("deploys run", channels=("bm25",))) == ["m_1"]


def test_what_only_vectors_find_has_the_score_that_the_channel_alone_gives_it(shelf: Shelf) -> None:
    shelf.put(
        note("m_word", title="Wall", body="kestrel stone lime mill river bridge gate moat"),
        *(note(f"m_{place}", title="Tower", body=f"tower tower kestrel{place}") for place in range(6)),
    )
    query = "tower kestrel lime mill"
    pools = dict.fromkeys((Mode.QUICK, Mode.FOCUSED, Mode.DEEP), 2)
    shelf.searcher = shelf.searcher.with_options(replace(SearchOptions(), pools=pools, nearest_share=1.0))
    every = {hit.memory_id: bm25_of(hit) for hit in shelf.search(query, channels=("bm25",), k=7, explain=True)}
    found = shelf.search(query, channels=("vector", "bm25"), k=2, explain=True)
    by_vector = [hit for hit in found if [channel.value for channel in hit.channels] == ["vector"]]
    assert by_vector, "bm25 lists two of them, and the nearest are others"
    assert all(bm25_of(hit) == every[hit.memory_id] > 0.0 for hit in by_vector)
    detail = next(stage for stage in found.stages if stage.name == "candidate").detail
    assert (detail["bm25"]["found"], detail["bm25"]["compared"]) == (2, len(by_vector))
    passed = next(stage for stage in found.stages if stage.name == "filter").detail["compared"]
    assert passed["bm25"] == len(by_vector)
    assert all(hit.explanation is not None and hit.explanation.recompute() == hit.score for hit in found)


def bm25_of(hit: Hit) -> float:
    """What the channel scored it, found or compared."""
    assert hit.explanation is not None
    return next((vote.score for vote in hit.explanation.passages[0].votes if vote.channel.value == "bm25"), 0.0)


LONG = " hovers" * 30
"""Makes a passage long enough to have words to give."""


def test_in_deep_mode_words_of_the_first_results_join_the_query_unless_switched_off(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        note("m_1", title="a", body=f"The kestrel is a falcon that hovers.{LONG}"),
        note("m_2", title="b", body=f"A kestrel, the small falcon, nests in towers.{LONG}"),
        note("m_3", title="c", body="Every falcon moults in summer."),
        *(note(f"m_other{place}", title="d", body=f"Bread number {place} is baked.") for place in range(20)),
    )
    assert "m_3" in ids(sqlite_shelf.search("kestrel", mode="deep", channels=("bm25",)))
    assert "m_3" not in ids(sqlite_shelf.search("kestrel", mode="focused", channels=("bm25",)))
    sqlite_shelf.searcher = sqlite_shelf.searching(flags=sqlite_shelf.flags(query_expansion=0))
    assert "m_3" not in ids(sqlite_shelf.search("kestrel", mode="deep", channels=("bm25",)))


def test_what_short_passages_share_does_not_join_the_query(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        note("m_1", title="a", body="The kestrel is a falcon that hovers."),
        note("m_2", title="b", body="A kestrel, the small falcon, nests in towers."),
        note("m_3", title="c", body="Every falcon moults in summer."),
    )
    assert "m_3" not in ids(sqlite_shelf.search("kestrel", mode="deep", channels=("bm25",)))


def test_words_are_taken_from_what_all_channels_find_and_the_trace_names_them(sqlite_shelf: Shelf) -> None:
    sqlite_shelf.put(
        note("m_1", title="a", body=f"The kestrel is a falcon that hovers.{LONG * 5}"),
        note("m_2", title="b", body=f"A kestrel, the small falcon, nests in towers.{LONG * 5}"),
        note("m_3", title="c", body="Every falcon moults in summer."),
        note("m_old", title="e", body="Kestrel of the zeppelin.", superseded_at=sqlite_shelf.clock.now()),
        note("m_old2", title="e", body="Kestrel by the zeppelin.", superseded_at=sqlite_shelf.clock.now()),
        *(note(f"m_other{place}", title="d", body=f"Bread number {place} is baked.") for place in range(20)),
    )
    result = sqlite_shelf.search("kestrel", mode="deep")
    detail = next(stage for stage in result.stages if stage.name == "candidate").detail
    assert "falcon" in detail["added_stems"]
    # What the caller may not see adds no words.
    assert "zeppelin" not in detail["added_stems"]
    focused = sqlite_shelf.search("kestrel", mode="focused")
    assert "added_stems" not in next(stage for stage in focused.stages if stage.name == "candidate").detail
