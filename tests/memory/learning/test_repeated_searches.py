"""Searching again for the same need leaves an event at once, also when nothing else happens in the session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.memory.engines import engine_at, settings_of
from tests.storage.homes import Home

from assay.embedding.bundled import load_bundled
from assay.memory.engine import Engine
from assay.memory.learning.repeated_searches import (
    LOOKED_BACK,
    SAME_MEANING,
    SOON,
    AskedQuery,
    ComparedQuery,
    RepeatedSearches,
    compare_by,
    compare_words,
    find_repeated,
)
from assay.records import Draft, EventType, FeedbackEvent, Origin, Scope, SearchRequest, SessionSummary
from assay.records.learning import Observation
from assay.testing import FixedClock
from assay.wiring import open_engine

START = datetime(2026, 1, 5, tzinfo=UTC)
COOKIE = "The session cookie is HttpOnly and lives for twelve hours after the last request."


def keep(engine: Engine, scope: Scope) -> str:
    return str(engine.saver.save(scope, Draft(title="Session cookies", body=COOKIE), gated=False).memory_id)


def ask(engine: Engine, scope: Scope, query: str, session: str = "s_1", **given: Any) -> str:
    return engine.searcher.search(scope, SearchRequest(query=query, session_id=session, **given)).query_id


def repeats(engine: Engine, scope: Scope, session: str = "s_1") -> list[FeedbackEvent]:
    """The events as they are in the store, after what waits was looked at."""
    engine.repeated.settle()
    with engine.store.reading(scope) as work:
        return [event for event in work.sessions.events(session) if event.event_type is EventType.RE_SEARCH]


def summary(engine: Engine, scope: Scope) -> SessionSummary:
    return engine.session_summary(scope, "s_1")


def asked(number: int, query: str, minutes: float = 0) -> AskedQuery:
    return AskedQuery(f"eq_{number}", query, START + timedelta(minutes=minutes))


def test_search_search_again_give_up_leaves_one_event(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        keep(engine, scope)
        first = ask(engine, scope, "cookie lifetime of sessions")
        clock.advance(seconds=20)
        again = ask(engine, scope, "lifetime of the session cookie")
        [event] = repeats(engine, scope)
        assert (event.query_id, event.metadata["again"], event.memory_id) == (first, again, None)
        found = summary(engine, scope)
        assert [query.searched_again for query in found.queries] == [True, False]
        totals = found.totals
        assert (totals.total_searches, totals.needs, totals.searches_per_need) == (2, 1, 2.0)
        assert totals.re_search_rate == 0.5
        [listed] = engine.recent_sessions(scope)
        assert (listed.searches, listed.re_searches) == (2, 1)
        assert engine.repeated.counts() == {"recorded": 1, "dropped": 0, "failed": 0}


def test_two_processes_that_each_search_once_leave_it_too(home: Home, scope: Scope, clock: FixedClock) -> None:
    for query in ("session cookie lifetime", "lifetime of a session cookie"):
        with engine_at(home) as engine:
            if query.startswith("session"):
                keep(engine, scope)
            ask(engine, scope, query)
        clock.advance(seconds=1)
    with engine_at(home) as engine:
        assert len(repeats(engine, scope)) == 1


def test_what_comes_later_adds_nothing_and_takes_nothing_back(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        memory_id = keep(engine, scope)
        ask(engine, scope, "session cookie lifetime")
        clock.advance(seconds=5)
        ask(engine, scope, "lifetime of a session cookie")
        before = repeats(engine, scope)
        for _ in range(2):
            engine.observe(scope, Observation(session_id="s_1", memory_id=memory_id))
        assert repeats(engine, scope) == before
        assert len(before) == 1


def test_a_search_whose_result_was_used_was_not_in_vain(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        memory_id = keep(engine, scope)
        ask(engine, scope, "session cookie lifetime")
        engine.observe(scope, Observation(session_id="s_1", memory_id=memory_id))
        clock.advance(seconds=5)
        ask(engine, scope, "lifetime of a session cookie")
        assert repeats(engine, scope) == []
        assert summary(engine, scope).totals.searches_per_need == 1.0


def test_three_times_the_same_is_one_need(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        keep(engine, scope)
        cookie = ("session cookie lifetime", "lifetime session cookie", "cookie session lifetime")
        for query in (cookie[0], "harbour pilots", *cookie[1:]):
            ask(engine, scope, query)
            clock.advance(seconds=5)
        assert len(repeats(engine, scope)) == 2
        assert (summary(engine, scope).totals.needs, summary(engine, scope).totals.searches_per_need) == (2, 2.0)


@pytest.mark.parametrize(
    "given",
    [
        {"session": "s_2"},
        {"origin": Origin.EVALUATION},
        {"tool_name": "memory_match_triggers"},
    ],
)
def test_other_sessions_evaluations_and_matched_texts_repeat_nothing(
    home: Home, scope: Scope, given: dict[str, Any]
) -> None:
    with engine_at(home) as engine:
        keep(engine, scope)
        ask(engine, scope, "session cookie lifetime", **given)
        ask(engine, scope, "session cookie lifetime")
        assert repeats(engine, scope) == []
        ask(engine, scope, "session cookie lifetime", **given)
        assert repeats(engine, scope) == []


def test_a_search_does_not_wait_for_the_event_to_be_written(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        keep(engine, scope)
        ask(engine, scope, "session cookie lifetime")
        engine.store.log.flush()
        engine.repeated.settle()
        with engine.store.writing(scope):
            # Nothing can be written meanwhile, and the search is answered all the same.
            ask(engine, scope, "session cookie lifetime")
        assert len(repeats(engine, scope)) == 1


def test_what_fails_is_counted_and_stops_nothing(home: Home, scope: Scope) -> None:
    def embed(query: str) -> None:
        raise ValueError(f"the model broke at {query}")

    with engine_at(home) as engine:
        keep(engine, scope)
        watch = RepeatedSearches(store=engine.store, embed=embed, clock=home.clock)
        unwatched = engine.searcher.with_options(engine.searcher.options)
        for query in ("session cookie lifetime", "harbour pilots", "pilots of the harbour"):
            request = SearchRequest(query=query, session_id="s_1")
            watch.note(scope, request, unwatched.search(scope, request))
        watch.close()
        # The second differs in its words, so that the model is asked; the third is the second in the same words.
        assert watch.counts() == {"recorded": 1, "dropped": 0, "failed": 1}
        assert watch.problem == "ValueError: the model broke at session cookie lifetime"
        watch.note(scope, request, unwatched.search(scope, request))
        assert watch.counts()["dropped"] == 1


def test_the_newest_alike_search_within_half_an_hour_is_meant() -> None:
    earlier = [asked(1, "cookie lifetime"), asked(2, "harbour pilots", 1), asked(3, "cookie lifetime", 2)]
    found = find_repeated(asked(4, "lifetime cookie", 3), earlier, compare_words)
    assert found is not None
    assert (found.first.query_id, found.likeness.value, found.likeness.by) == ("eq_3", 1.0, "words")
    late = asked(4, "lifetime cookie", 2 + SOON.total_seconds() / 60 + 0.1)
    assert find_repeated(late, earlier, compare_words) is None
    others = [asked(2 + number, f"matter {number}") for number in range(LOOKED_BACK)]
    assert find_repeated(asked(9, "cookie lifetime"), [asked(1, "cookie lifetime"), *others], compare_words) is None


def test_likeness_by_hand() -> None:
    assert compare_words("the cookie lifetime", "Lifetimes of COOKIES?").value == 1.0
    assert compare_words("cookie lifetime", "cookie jar").value == pytest.approx(1 / 3)
    rows = {"a": np.array([1.0, 0.0], np.float32), "b": np.array([0.6, 0.8], np.float32)}
    compare = compare_by(lambda query: ComparedQuery(rows[query], 0.75))
    assert compare("a", "b").value == pytest.approx(0.6)
    assert compare("a", "b").threshold == pytest.approx(SAME_MEANING)
    # A model that sees one subject from .9 on gives higher cosines to everything.
    stricter = compare_by(lambda query: ComparedQuery(rows[query], 0.9))
    assert stricter("a", "b").threshold == pytest.approx(SAME_MEANING * 1.2)
    assert compare_by(lambda _: None)("cookie", "jar").by == "words"


def test_the_same_need_in_other_words_is_seen_by_meaning(home: Home, scope: Scope) -> None:
    with open_engine(settings_of(home), clock=home.clock, embedder=load_bundled()) as engine:
        keep(engine, scope)
        first = ask(engine, scope, "what time is breakfast")
        ask(engine, scope, "where is the car park")
        ask(engine, scope, "breakfast opening hours")
        [event] = repeats(engine, scope)
        assert (event.query_id, event.metadata["by"]) == (first, "meaning")
