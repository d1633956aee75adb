"""The observation hook: what an agent read or wrote becomes events of the query that led there, each once."""

from __future__ import annotations

import pytest
from tests.memory.learning.desk import OTHERS, Desk

from assay.errors import BadValue, RecordNotFound
from assay.memory.learning.observing import read_from
from assay.records import EventType, Origin, Scope
from assay.records.learning import Observation
from assay.storage.repositories.queries import GivenMemory

SAID = "The session cookie is HttpOnly and lives for exactly twelve hours after the last request was seen"


def test_a_read_is_tied_to_the_newest_query_that_returned_it_with_what_was_passed_over(desk: Desk) -> None:
    older, newer = desk.asked("one thing"), desk.asked("other matter", ("m_a", "m_b", "m_1"))
    done = desk.read("m_1")
    assert (done.new, done.repeated) == (3, 0)
    assert desk.events(older) == []
    found = {(one.event_type.value, one.memory_id, one.rank_in_results) for one in desk.events(newer)}
    assert found == {("read_after_search", "m_1", 3), ("scroll_past", "m_a", 1), ("scroll_past", "m_b", 2)}
    assert {one.metadata["principal"] for one in desk.events(newer)} == {"ada"}


def test_the_same_observation_three_times_counts_once(desk: Desk) -> None:
    query = desk.asked("query")
    assert [desk.read("m_1").new for _ in range(3)] == [4, 0, 0]
    assert len(desk.events(query)) == 4


def test_what_no_search_of_the_session_returned_leaves_no_event(sqlite_desk: Desk) -> None:
    sqlite_desk.asked("query", OTHERS)
    assert sqlite_desk.read("m_1").events == ()
    assert sqlite_desk.read("m_a", "s_other").events == ()
    sqlite_desk.asked("query", ("m_1",), session="s_test", origin=Origin.EVALUATION)
    assert sqlite_desk.read("m_1", "s_test").events == ()


def test_a_memory_that_is_not_there_is_named(sqlite_desk: Desk) -> None:
    with pytest.raises(RecordNotFound, match="m_never"):
        sqlite_desk.read("m_never")
    seen = Observation(session_id="s_1", memory_id="m_1")
    with pytest.raises(RecordNotFound, match="m_1"):
        sqlite_desk.learning.observe(Scope(tenant="other"), seen)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/home/ada/notes/decisions/auth.md", "m_deep"),
        ("auth.md", "m_flat"),
        ("C:\\notes\\decisions\\auth.md", "m_deep"),
        ("/home/ada/other.md", None),
        ("xauth.md", None),
        ("vault://auth", "m_source"),
        ("", None),
    ],
)
def test_a_path_leads_to_the_memory_whose_own_path_it_ends_with(path: str, found: str | None) -> None:
    given = [
        GivenMemory("m_flat", "auth.md", None),
        GivenMemory("m_deep", "decisions/auth.md", None),
        GivenMemory("m_source", "", "vault://auth"),
    ]
    assert read_from(path, given) == found


def test_a_path_that_was_read_counts_as_its_memory(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_path", rel_path="decisions/auth.md")
    query = sqlite_desk.asked("query", ("m_path",))
    seen = Observation(session_id="s_1", path="/home/ada/notes/decisions/auth.md")
    assert sqlite_desk.learning.observe(sqlite_desk.scope, seen).new == 1
    assert sqlite_desk.kinds(query) == [EventType.READ_AFTER_SEARCH]


def test_a_text_that_repeats_a_memory_word_for_word_refers_to_it(desk: Desk) -> None:
    desk.put("m_cookie", body=f"{SAID}, as was decided in May.")
    query = desk.asked("cookie", ("m_a", "m_cookie"))
    wrote = Observation(session_id="s_1", wrote=f"I found this: {SAID.upper()}. So be it.")
    desk.learning.observe(desk.scope, wrote)
    [event] = desk.events(query)
    assert (event.event_type, event.memory_id, event.rank_in_results) == (EventType.REFERENCE, "m_cookie", 2)


def test_a_stock_phrase_refers_to_nothing(sqlite_desk: Desk) -> None:
    sqlite_desk.put("m_cookie", body=SAID)
    sqlite_desk.asked("cookie", ("m_cookie",))
    wrote = Observation(session_id="s_1", wrote="The session cookie is HttpOnly and lives, I think.")
    assert sqlite_desk.learning.observe(sqlite_desk.scope, wrote).events == ()


def test_loading_a_memory_in_a_session_is_a_read(desk: Desk) -> None:
    query = desk.asked("query", ("m_1",))
    before = desk.memory()
    assert desk.learning.load(desk.scope, "m_1", session_id="s_1").memory.id == "m_1"
    assert desk.kinds(query) == [EventType.READ_AFTER_SEARCH]
    assert desk.memory().access_count == before.access_count + 1
    assert desk.memory().updated_at == before.updated_at
    with pytest.raises(RecordNotFound, match="m_never"):
        desk.learning.load(desk.scope, "m_never", session_id="s_1")


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"memory_id": "m_1", "wrote": "x"},
        {"memory_id": "not an id"},
        {"path": ""},
        {"wrote": "x" * 1_000_001},
        {"memory_id": "m_1", "event_key": "x" * 101},
        {"path": "x", "session_id": ""},
    ],
)
def test_an_observation_says_one_thing(bad: dict[str, str]) -> None:
    with pytest.raises(BadValue):
        Observation(**{"session_id": "s_1", **bad})
