"""What a session was given, and what it attends to."""

from __future__ import annotations

import pytest

from assay.memory.sessions import DECAY, HISTORY, SESSIONS, TURNS, History, Sessions, Turn
from assay.records import LoggedQuery, Origin, Scope
from assay.storage import Store
from assay.testing import FixedClock


def logged(query_id: str, clock: FixedClock, *ids: str, session: str = "s", origin: Origin = Origin.USE) -> LoggedQuery:
    return LoggedQuery(
        query_id=query_id,
        query="q",
        tool_name="test",
        created_at=clock.now(),
        session_id=session,
        result_ids=ids,
        origin=origin,
    )


def test_attention_falls_with_every_further_search_and_ends() -> None:
    history = History((Turn("eq_1", ("a", "b", "noise"), 2), Turn("eq_2", ("c",), 1), Turn("eq_3", ("a",), 1)))
    assert history.attention() == pytest.approx({"a": 1.0, "c": DECAY, "b": DECAY**2})
    long_ago = History((Turn("eq_0", ("old",)), *(Turn(f"eq_{place}", ("new",)) for place in range(1, TURNS + 1))))
    assert set(long_ago.attention()) == {"new"}
    assert long_ago.memories_given() == {"old", "new"}


def test_only_what_was_near_the_top_of_the_last_searches_is_in_view() -> None:
    history = History((Turn("eq_1", ("a", "b", "c"), 2), Turn("eq_2", ("d", "e"), 0), Turn("eq_3", ("f", "g"))))
    assert history.in_view(3) == {"a": "eq_1", "b": "eq_1", "f": "eq_3"}
    assert history.in_view(2) == {"f": "eq_3"}
    assert history.in_view(0) == {}
    assert history.holding(("x", "y")).in_view(1) == {"x": "", "y": ""}


def test_a_session_without_searches_is_cold() -> None:
    assert History().cold
    assert not History((Turn("eq_1", ()),)).cold


def test_what_was_written_and_what_was_not_yet_make_one_history(store: Store, scope: Scope, clock: FixedClock) -> None:
    sessions = Sessions()
    with store.writing(scope) as work:
        work.queries.add_many(
            [
                logged("eq_1", clock, "a"),
                logged("eq_3", clock, "c"),
                logged("eq_4", clock, "x", session="other"),
                logged("eq_5", clock, "y", origin=Origin.CANARY),
            ]
        )
    for turn in (Turn("eq_2", ("b",)), Turn("eq_3", ("c",))):
        sessions.note(scope, "s", turn)
    sessions.note(Scope(tenant="rival"), "s", Turn("eq_9", ("z",)))
    with store.reading(scope) as work:
        history = sessions.history(work, scope, "s")
    assert history.turns == (Turn("eq_1", ("a",)), Turn("eq_2", ("b",)), Turn("eq_3", ("c",)))


def test_past_searches_are_read_once_and_then_kept_up(store: Store, scope: Scope, clock: FixedClock) -> None:
    sessions = Sessions()
    with store.writing(scope) as work:
        work.queries.add_many([logged("eq_1", clock, "a"), logged("eq_2", clock, "b", origin=Origin.EVALUATION)])
    with store.reading(scope) as work:
        assert sessions.past(work, scope) == (Turn("eq_1", ("a",)),)
        sessions.note(scope, None, Turn("eq_3", ("c",)))
        assert sessions.past(work, scope) == (Turn("eq_1", ("a",)), Turn("eq_3", ("c",)))


def test_a_process_forgets_the_session_not_used_for_longest(store: Store, scope: Scope) -> None:
    sessions = Sessions()
    for place in range(SESSIONS + 1):
        sessions.note(scope, f"s{place}", Turn("eq_1", ("a",)))
    for place in range(HISTORY + 1):
        sessions.note(scope, "long", Turn(f"eq_{place:04}", ("a",)))
    with store.reading(scope) as work:
        assert sessions.history(work, scope, "s0").cold
        assert not sessions.history(work, scope, f"s{SESSIONS}").cold
        assert len(sessions.history(work, scope, "long").turns) == HISTORY
