"""A search from question to answer, on both back ends."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.memory.searching.shelf import Shelf, ids
from tests.storage.homes import BOUND_S

from assay.errors import StorageError
from assay.index import Indexes, IndexOptions
from assay.memory.searching.fusion import replay
from assay.memory.searching.options import SearchOptions
from assay.records import Channel, EdgeKind, Filters, Mode, Origin, Scope, SearchRequest, SearchResult, Tier
from assay.storage import Store
from assay.testing import NOTES, FixedClock, note

STAGES = [
    "folder-choice",
    "candidate",
    "filter",
    "fusion",
    "aggregate",
    "boost",
    "rerank",
    "hops",
    "current-facts",
    "trust",
    "final-rank",
]


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    shelf.put(*NOTES)
    shelf.join("m_pkce", EdgeKind.CAUSED, "m_cookies")
    return shelf


@pytest.fixture
def filled_sqlite(sqlite_shelf: Shelf) -> Shelf:
    sqlite_shelf.put(*NOTES)
    return sqlite_shelf


def test_a_question_finds_its_memory_with_text_trace_and_telemetry(filled: Shelf) -> None:
    result = filled.search("how does a client sign in with PKCE?")
    assert result[0].memory_id == "m_pkce"
    assert result[0].text == NOTES[0].body
    assert result[0].channels == (Channel.VECTOR, Channel.BM25, Channel.TRIGGER)
    assert [stage.name for stage in result.stages] == STAGES
    assert result.stages[2].inputs == result.stages[2].outputs == 3
    assert (result.telemetry.result_count, result.telemetry.top_result_score) == (len(result), result[0].score)
    assert (result.degraded, result.cold_start, result.chosen_folders) == ((), False, None)
    assert result.trace_id.startswith("tr_")


def test_the_log_holds_the_search_and_its_fusion_can_be_replayed(filled: Shelf) -> None:
    result = filled.search("sign in with PKCE cookie", session_id="s_1", tool_name="test")
    filled.store.log.flush()
    with filled.store.reading(filled.scope) as work:
        line = work.queries.get(result.query_id)
    assert (line.result_ids, line.session_id, line.tool_name) == (result.ids, "s_1", "test")
    assert (line.intent, line.mode, line.trace_id) == (result.intent, "focused", result.trace_id)
    assert line.fusion_weights == {"method": "convex", "weights": dict(result.weights)}
    assert line.quality_proxy_score == result.telemetry.quality_proxy_score
    assert line.channel_contributions["trigger"] == {"candidates": 1, "found": 1, "alone": 0}
    weights = {Channel(name): weight for name, weight in result.weights.items()}
    replayed = replay(line.candidates, result.fusion, weights)
    in_order = list(dict.fromkeys(one.number.split("#")[0] for one in replayed))
    assert in_order[0] == result.ids[0]
    assert set(in_order) >= set(result.ids)


@pytest.mark.parametrize("origin", list(Origin))
def test_the_origin_is_logged_and_only_use_counts_for_a_session(filled_sqlite: Shelf, origin: Origin) -> None:
    first = filled_sqlite.search("sign in", session_id="s_1", origin=origin)
    filled_sqlite.store.log.flush()
    again = filled_sqlite.search("sign in", session_id="s_1", origin=origin)
    with filled_sqlite.store.reading(filled_sqlite.scope) as work:
        assert work.queries.get(first.query_id).origin is origin
    assert again.cold_start is (origin is not Origin.USE)


def test_a_save_is_found_by_the_next_search(filled: Shelf) -> None:
    assert ids(filled.search("zebra crossing")) != ["m_new"]
    filled.put(note("m_new", body="The zebra crossing is closed."))
    assert ids(filled.search("zebra crossing"))[0] == "m_new"


def test_the_same_search_twice_gives_the_same_scores(filled: Shelf) -> None:
    first, second = (filled.search("session cookie", explain=True) for _ in range(2))
    assert [(hit.memory_id, hit.score, hit.explanation) for hit in first] == [
        (hit.memory_id, hit.score, hit.explanation) for hit in second
    ]


def test_an_explained_search_says_how_near_the_query_is_to_the_store_as_a_whole(filled: Shelf) -> None:
    found = filled.search("session cookie", explain=True)
    assert found.cosines is not None
    votes = [
        vote.score
        for hit in found
        if hit.explanation is not None
        for passage in hit.explanation.passages
        for vote in passage.votes
        if vote.channel is Channel.VECTOR
    ]
    assert found.cosines.mean < max(votes)
    assert found.cosines.passages >= len(votes)
    narrowed = filled.search("session cookie", explain=True, filters=Filters(folder="decisions")).cosines
    assert narrowed is not None
    assert narrowed.passages < found.cosines.passages, "only what may be found is compared"
    assert filled.search("session cookie").cosines is None
    by_words = filled.search("session cookie", explain=True, channels=(Channel.BM25,))
    assert by_words.cosines is None, "no vector was compared"


def test_filters_hold_whatever_the_channel(filled: Shelf) -> None:
    def found(**filters: Any) -> set[str]:
        return set(ids(filled.search("sign in session cookie release noon", filters=Filters(**filters))))

    assert found() == {"m_pkce", "m_cookies", "m_deploy"}
    assert found(folder="decisions") == {"m_pkce", "m_cookies"}
    assert found(tiers=(Tier.CRITICAL,)) == {"m_deploy"}
    assert found(tags=("auth",)) == {"m_pkce", "m_cookies"}
    assert found(tags=("auth", "release")) == set()
    assert found(entity_type="OTHER") == set()
    assert found(since=filled.clock.now() + timedelta(days=1)) == set()
    assert found(until=filled.clock.now()) == set()
    assert found(as_of=filled.clock.now() - timedelta(days=1)) == set()


def test_a_superseded_memory_is_found_only_when_asked_for_or_then(filled: Shelf, clock: FixedClock) -> None:
    clock.advance(days=2)
    filled.put(note("m_old", body="An aardvark digs.", superseded_at=clock.now()))
    clock.advance(days=2)
    assert "m_old" not in ids(filled.search("aardvark"))
    assert "m_old" in ids(filled.search("aardvark", filters=Filters(include_superseded=True)))
    assert "m_old" in ids(filled.search("aardvark", filters=Filters(as_of=clock.now() - timedelta(days=3))))
    assert "m_old" not in ids(filled.search("aardvark", filters=Filters(as_of=clock.now())))


def test_an_unknown_folder_finds_nothing_and_names_near_ones(filled: Shelf) -> None:
    result = filled.search("sign in", filters=Filters(folder="decision"))
    assert ids(result) == []
    assert "no folder 'decision'" in result.degraded[0]
    assert "near names: decisions" in result.degraded[0]


def test_tenants_never_mix(filled: Shelf) -> None:
    other = Scope(tenant="rival")
    filled.put(note("m_pkce", body="PKCE sign in of the rival.", triggers=("sign in",)), scope=other)
    filled.put(note("m_rival", body="sign in, law of the rival", tier=Tier.CONSTITUTIONAL), scope=other)
    theirs = filled.searcher.search(other, SearchRequest(query="sign in", mode=Mode.FOCUSED))
    assert set(theirs.ids) == {"m_pkce", "m_rival"}
    assert "rival" in theirs[0].text
    ours = filled.search("rival sign in")
    assert "m_rival" not in ours.ids
    assert ours.pinned == ()
    assert all("rival" not in hit.text for hit in ours)


def test_a_session_is_named_what_it_has_in_view_and_the_tokens_are_counted(filled: Shelf) -> None:
    first = filled.search("sign in with PKCE", session_id="s_1", k=1)
    assert (first.cold_start, first.held_back) == (True, ())
    second = filled.search("sign in with PKCE", session_id="s_1", k=1)
    [held] = second.held_back
    assert (held.memory_id, held.title, held.given_by) == ("m_pkce", NOTES[0].title, first.query_id)
    assert second.cold_start is False
    assert second.tokens_saved == held.tokens == filled.embedder.count_tokens(NOTES[0].body)
    assert ids(filled.search("sign in with PKCE", session_id="s_2", k=1)) == ["m_pkce"]


def test_what_is_held_back_is_not_replaced_by_something_unrelated(filled: Shelf) -> None:
    """The next note is about something else: nothing takes the place of the one that is held back."""
    filled.search("sign in with PKCE", session_id="s_1", k=1)
    again = filled.search("sign in with PKCE", session_id="s_1", k=1)
    assert ids(again) == []
    assert [held.memory_id for held in again.held_back] == ["m_pkce"]


def test_a_relevant_result_takes_the_place_of_one_that_is_held_back(filled: Shelf) -> None:
    filled.put(note("m_pkce_2", title="PKCE at sign in", body="A client signs in with PKCE, on the phone too."))
    filled.search("how does a client sign in with PKCE", session_id="s_1", k=1)
    again = filled.search("how does a client sign in with PKCE", session_id="s_1", k=1)
    assert {*ids(again), *(held.memory_id for held in again.held_back)} == {"m_pkce", "m_pkce_2"}
    assert len(again) == 1


def test_what_a_session_was_given_as_noise_is_given_when_it_is_the_answer(filled: Shelf) -> None:
    noise = filled.search("sign in with PKCE", session_id="s_1")
    assert "m_cookies" in noise.ids[1:]
    answer = filled.search("how long does the session cookie live", session_id="s_1")
    assert answer.ids[0] == "m_cookies"


def test_a_result_is_given_again_once_it_is_out_of_view(filled: Shelf) -> None:
    asked = [filled.search("sign in with PKCE", session_id="s_1", k=1) for _ in range(2 + SearchOptions().in_view)]
    assert [ids(one) for one in asked] == [["m_pkce"], *([[]] * SearchOptions().in_view), ["m_pkce"]]


def test_only_relevant_results_are_given_when_only_those_are_asked_for(filled: Shelf) -> None:
    some = filled.search("sign in with PKCE", relevant_only=True)
    every = filled.search("sign in with PKCE")
    assert ids(some)[0] == ids(every)[0] == "m_pkce"
    assert len(some) + some.below_cut == len(every)
    assert some.below_cut > 0
    least = max(SearchOptions().relevant_share * every[0].score, SearchOptions().relevant_least)
    assert all(hit.score >= least for hit in some)


def test_another_process_knows_what_a_session_was_given_once_the_log_is_written(filled: Shelf) -> None:
    filled.search("sign in with PKCE", session_id="s_1", k=1)
    filled.store.log.flush()
    filled.searcher = filled.searching()
    [held] = filled.search("sign in with PKCE", session_id="s_1", k=1).held_back
    assert held.memory_id == "m_pkce"


def test_hits_fit_the_budget_and_the_first_is_always_shown(filled_sqlite: Shelf) -> None:
    whole = filled_sqlite.search("sign in session cookie release noon")
    first = whole[0].tokens
    some = filled_sqlite.search("sign in session cookie release noon", token_budget=first + 1)
    assert ids(some) == ids(whole)[:1]
    none_left = filled_sqlite.search("sign in session cookie release noon", token_budget=100, tokens_used=100)
    assert ids(none_left) == ids(whole)[:1]
    assert none_left.stages[-1].detail["tokens_over_budget"] == first
    assert none_left.telemetry.pressure_level == "critical"


def test_a_channel_that_raises_costs_only_itself(filled: Shelf) -> None:
    class Bent(Indexes):
        def view(self, work: Any, **given: Any) -> Any:
            view = super().view(work, **given)

            class Wrong:
                def __getattr__(self, name: str) -> Any:
                    return getattr(view, name)

                def lexical(self, *_: Any, **__: Any) -> Sequence[Any]:
                    raise TypeError("a mistake in the code")

            return Wrong()

    indexes = Bent(filled.store, None, clock=filled.clock, options=IndexOptions(background=False))
    filled.searcher = filled.searching(indexes=indexes)
    result = filled.search("sign in with PKCE")
    assert ids(result)[0] == "m_pkce"
    assert result.degraded == ("bm25 was left out: TypeError: a mistake in the code",)
    assert filled.searcher.failures.counts() == {("bm25", "TypeError"): 1}
    assert all(0.0 < hit.score <= 1.0 for hit in result)
    # What it would have found by words, the full text finds.
    assert result[0].channels == (Channel.VECTOR, Channel.FTS5, Channel.TRIGGER)


def test_a_channel_whose_statement_fails_costs_only_itself(filled: Shelf) -> None:
    """On PostgreSQL a failed statement would take the whole transaction with it."""

    class Bent(Indexes):
        def view(self, work: Any, **given: Any) -> Any:
            view = super().view(work, **given)

            class Wrong:
                def __getattr__(self, name: str) -> Any:
                    return getattr(view, name)

                def nearest(self, *_: Any, **__: Any) -> Sequence[Any]:
                    work._bound.connection.exec_driver_sql("SELECT * FROM no_such_table")
                    raise AssertionError

            return Wrong()

    indexes = Bent(filled.store, None, clock=filled.clock, options=IndexOptions(background=False))
    filled.searcher = filled.searching(indexes=indexes)
    result = filled.search("sign in with PKCE")
    assert ids(result)[0] == "m_pkce"
    assert "no_such_table" in result.degraded[0]
    assert "vector" not in result.weights


def test_the_index_folder_may_vanish_between_two_searches(filled_sqlite: Shelf, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    indexes = Indexes(filled_sqlite.store, folder, clock=filled_sqlite.clock, options=IndexOptions(background=False))
    filled_sqlite.searcher = filled_sqlite.searching(indexes=indexes)
    indexes.compact(filled_sqlite.scope)
    before = filled_sqlite.search("sign in")
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    after = filled_sqlite.search("sign in")
    assert [(hit.memory_id, hit.score) for hit in after] == [(hit.memory_id, hit.score) for hit in before]
    filled_sqlite.put(note("m_new", body="quokka"))
    assert ids(filled_sqlite.search("quokka"))[0] == "m_new"


def test_a_store_that_cannot_be_read_fails_the_search(filled_sqlite: Shelf) -> None:
    filled_sqlite.store.close()
    with pytest.raises(StorageError):
        filled_sqlite.search("sign in")


def test_a_query_of_100_000_characters_is_answered(filled: Shelf) -> None:
    words = " ".join(f"w{place}" for place in range(20_000))
    result = filled.search(f"sign in with PKCE {words}"[:100_000], mode="auto")
    assert result.degraded == ()
    assert "m_pkce" in ids(result)


def test_observers_see_the_result_and_can_neither_change_nor_stop_it(filled_sqlite: Shelf) -> None:
    seen: list[tuple[Scope, SearchRequest, SearchResult]] = []

    def failing(*_: object) -> None:
        raise RuntimeError("an observer's own trouble")

    def watching(scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        seen.append((scope, request, result))

    filled_sqlite.searcher = filled_sqlite.searching(observers=(failing, watching))
    result = filled_sqlite.search("sign in")
    assert seen[0][0] == filled_sqlite.scope
    assert seen[0][2] is result
    assert filled_sqlite.searcher.failures.counts() == {("observer", "RuntimeError"): 1}


def test_a_thousand_searches_at_once_all_answer(filled_sqlite: Shelf) -> None:
    """While somebody saves."""
    begin = threading.Barrier(9)

    def ask(place: int) -> int:
        if place < 8:
            begin.wait(timeout=BOUND_S)
        return len(filled_sqlite.search(("sign in", "session cookie", "release noon")[place % 3], mode="quick"))

    def save() -> None:
        begin.wait(timeout=BOUND_S)
        for place in range(5):
            filled_sqlite.put(note(f"m_more{place}", body=f"more of it {place}"))

    with ThreadPoolExecutor(8) as pool, ThreadPoolExecutor(1) as saving:
        writing = saving.submit(save)
        found = list(pool.map(ask, range(1_000)))
        writing.result(timeout=BOUND_S)
    assert min(found) >= 1
    assert filled_sqlite.searcher.failures.counts() == {}


def test_a_store_of_another_process_is_searched_as_it_is_now(filled: Shelf, home: Any) -> None:
    other: Store = home.open()
    there = Shelf(other, filled.scope, filled.clock)
    there.put(note("m_there", body="A numbat eats termites."))
    assert ids(filled.search("numbat termites"))[0] == "m_there"
    filled.put(note("m_here", body="An okapi eats leaves."))
    assert ids(there.search("okapi leaves"))[0] == "m_here"
