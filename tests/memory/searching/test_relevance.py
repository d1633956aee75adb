"""The relevance of a hit: how it is computed and explained, and what `min_relevance` leaves out."""

from __future__ import annotations

import math

import pytest
from tests.memory.searching.shelf import Shelf, ids

from assay.errors import BadValue
from assay.memory.searching.fusion import AggregatedMemory, FusedPassage
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.relevance import (
    CLUES,
    MEANING,
    WORDS,
    FoundResult,
    find_relevance,
    load_profiles,
    read_query,
)
from assay.records import Channel, CosineSpread, FusionMethod, Scope, SearchRequest, Tier
from assay.storage import Store
from assay.testing import FixedClock, note

QUESTION = "how long does the session cookie live"


@pytest.fixture
def filled(store: Store, scope: Scope, clock: FixedClock) -> Shelf:
    shelf = Shelf(store, scope, clock)
    shelf.put(
        note("m_cookies", title="Session cookies", body="The session cookie lives for twelve hours."),
        note("m_backups", title="Backups", body="Backups run every night and are kept for 30 days."),
        note("m_kitchen", title="Kitchen", body="The kitchen has a new coffee machine and a long table."),
        note("m_release", title="Release train", body="Releases leave on Tuesday.", triggers=("long live",)),
    )
    return shelf


# --- The clues ---


def result_of(number: int, *ballots: tuple[Channel, int, float, float, float]) -> AggregatedMemory:
    return AggregatedMemory.of(number, 0.5, (FusedPassage(number, 0.5, ballots),))


def test_clues_are_what_their_names_say() -> None:
    spread = CosineSpread(mean=0.1, deviation=0.1, passages=10_000)
    held_by = {"session": 1, "cooki": 9}
    query = read_query(["session", "cooki", "how"], held_by.__getitem__, 100, store=spread, cosines=[0.6, 0.2])
    found = [
        FoundResult(result_of(1, (Channel.VECTOR, 1, 0.6, 0.6, 0.7), (Channel.TRIGGER, 1, 0.75, 0.75, 0.1)), 1.0),
        FoundResult(result_of(2), 0.5),
    ]
    lines = {1: " session cookies \n\n they live ", 2: " the list \n\n a session "}
    first, second = (relevance.clues for relevance in find_relevance(found, query, lines))
    assert first == pytest.approx(
        {"best_share": 0.0, "standing": 5.0, "words": 1.0, "title": 1.0, "trigger": 0.75}, 0.02
    )
    weights = query.stems
    assert set(weights) == {"session", "cooki"}, "framing words are not counted"
    assert second["words"] == pytest.approx(weights["session"] / sum(weights.values()))
    assert second["best_share"] == pytest.approx(math.log(0.5))
    assert second["standing"] == pytest.approx(spread.standing_of(0.2)), "at most as near as the last that was listed"
    assert second["trigger"] == second["title"] == 0.0


def test_a_query_of_framing_words_alone_finds_none_of_its_words() -> None:
    query = read_query(["how", "do"], lambda _: 3, 10, store=None, cosines=())
    (relevance,) = find_relevance([FoundResult(result_of(1), 1.0)], query, {1: " how to \n\n do it "})
    assert (relevance.clues["words"], relevance.clues["title"]) == (0.0, 0.0)


def test_every_profile_weighs_its_clues_and_more_of_each_is_more_relevant() -> None:
    profiles = load_profiles()
    assert {name: tuple(profile.weights) for name, profile in profiles.items()} == dict(CLUES)
    assert all(weight > 0.0 for profile in profiles.values() for weight in profile.weights.values())
    assert ("standing" in profiles[MEANING].weights, "standing" in profiles[WORDS].weights) == (True, False)


# --- In a search ---


def test_every_hit_has_a_relevance_that_its_explanation_repeats(filled: Shelf) -> None:
    for hit in filled.search(QUESTION, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.relevance is not None
        assert hit.relevance == pytest.approx(hit.explanation.relevance.recompute(), abs=1e-12)
        # The hashed embedder of tests is not the fitted one, so its cosines do not count.
        assert hit.explanation.relevance.profile == WORDS


def test_explaining_does_not_change_a_relevance(filled: Shelf) -> None:
    plain, explained = filled.search(QUESTION), filled.search(QUESTION, explain=True)
    assert [hit.relevance for hit in plain] == [hit.relevance for hit in explained]


def test_min_relevance_leaves_out_the_rest_and_says_how_many(filled: Shelf) -> None:
    every = filled.search(QUESTION)
    least = 0.5
    some = filled.search(QUESTION, min_relevance=least)
    assert "m_cookies" in ids(some)
    assert some.below_relevance == len(every) - len(some) > 0
    assert (some.min_relevance, every.min_relevance, every.below_relevance) == (least, None, 0)
    assert [hit.rank for hit in some] == list(range(1, len(some) + 1))


def test_what_is_kept_keeps_its_order_and_its_scores(filled: Shelf) -> None:
    every = {hit.memory_id: hit.score for hit in filled.search(QUESTION)}
    some = filled.search(QUESTION, min_relevance=0.01)
    assert [(hit.memory_id, hit.score) for hit in some] == [pair for pair in every.items() if pair[0] in ids(some)]


def test_a_triggered_memory_is_never_left_out(filled: Shelf) -> None:
    kept = filled.search("long live the train", min_relevance=1.0)
    assert ids(kept) == ["m_release"]


def test_constitutional_memories_are_never_left_out(filled: Shelf) -> None:
    filled.put(note("m_law", title="Law", body="Never store passwords.", tier=Tier.CONSTITUTIONAL))
    nothing = filled.search(QUESTION, min_relevance=1.0)
    assert ids(nothing) == []
    assert [memory.memory_id for memory in nothing.pinned] == ["m_law"]


def test_under_rank_fusion_the_relevance_is_not_known_and_nothing_is_left_out(filled: Shelf) -> None:
    filled.searcher = filled.searching(options=SearchOptions(method=FusionMethod.RRF))
    found = filled.search(QUESTION, min_relevance=1.0)
    assert {hit.relevance for hit in found} == {None}
    assert (found.min_relevance, found.below_relevance) == (None, 0)
    assert len(found) > 1


def test_what_fills_the_place_of_a_held_back_result_is_relevant_too(filled: Shelf) -> None:
    filled.search(QUESTION, session_id="s_1", k=1)
    again = filled.search(QUESTION, session_id="s_1", k=1, min_relevance=0.9)
    assert (ids(again), [held.memory_id for held in again.held_back]) == ([], ["m_cookies"])


def test_a_token_budget_counts_the_results_it_leaves_out(filled: Shelf) -> None:
    every = filled.search(QUESTION)
    small = filled.search(QUESTION, token_budget=every[0].tokens)
    assert (len(small), small.beyond_budget) == (1, len(every) - 1)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "much"])
def test_min_relevance_is_a_share(wrong: object) -> None:
    with pytest.raises(BadValue, match="min_relevance"):
        SearchRequest(query="cookies", min_relevance=wrong)  # type: ignore[arg-type]
