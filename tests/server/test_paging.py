"""Cursors: lists are walked without gaps or repeats, and a cursor that was made up is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.server.serving import OWN, reaching, services_at

from assay.errors import BadValue
from assay.records import Judgment, JudgmentSource, LoggedQuery
from assay.server.services import Services
from assay.testing import note
from assay.verbs.paging import read_cursor, row_number, write_cursor


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services) as found:
        yield found


def walked(client: TestClient, path: str, name: str, limit: int) -> list[dict[str, object]]:
    rows, cursor = [], None
    while True:
        given = {"limit": limit} | ({} if cursor is None else {"cursor": cursor})
        page = client.get(path, params=given).json()
        assert len(page[name]) <= limit
        rows += page[name]
        cursor = page["next_cursor"]
        if cursor is None:
            return rows


def test_every_memory_is_listed_once(client: TestClient, services: Services) -> None:
    with services.engine.store.writing(OWN) as work:
        for number in range(11):
            work.memories.add(note(f"m_{number:02}", title=f"Note {number}"))
    for limit in (1, 4, 11, 200):
        listed = [one["memory_id"] for one in walked(client, "/api/memory", "memories", limit)]
        assert listed == [f"m_{number:02}" for number in reversed(range(11))], "newest first"


def test_every_line_of_the_audit_log_is_listed_once_newest_first(client: TestClient, services: Services) -> None:
    with services.engine.store.writing(OWN) as work:
        for number in range(7):
            work.audit.append("test", f"t{number}")
    listed = [one["target"] for one in walked(client, "/api/audit", "entries", 3) if one["action"] == "test"]
    assert listed == [f"t{number}" for number in reversed(range(7))]


def test_every_session_is_listed_once_the_newest_search_first(client: TestClient, services: Services) -> None:
    begun = services.clock.now()
    # Three sessions each share the time of their last search.
    searches = [
        LoggedQuery(
            query_id=f"q{number}",
            query="x",
            tool_name="test",
            created_at=begun + timedelta(minutes=number // 3),
            session_id=f"s{number}",
        )
        for number in range(7)
    ]
    with services.engine.store.writing(OWN) as work:
        work.queries.add_many(searches)
    for limit in (1, 2, 5, 200):
        listed = [session["session_id"] for session in walked(client, "/api/memory-sessions", "sessions", limit)]
        assert listed == ["s6", "s3", "s4", "s5", "s0", "s1", "s2"]


def test_every_judgment_is_listed_once(client: TestClient, services: Services) -> None:
    now = services.clock.now()
    found = [
        Judgment(
            query_id=f"q{query}", memory_id=f"m{memory}", relevance=1, source=source, annotator=who, created_at=now
        )
        for query in range(2)
        for memory in range(3)
        for source in (JudgmentSource.MANUAL, JudgmentSource.LLM_JUDGE)
        for who in ("", "ada")
    ]
    with services.engine.store.writing(OWN) as work:
        work.judgments.put_many(found)
    for limit in (1, 5, 24):
        listed = walked(client, "/api/judgments", "judgments", limit)
        keys = [(one["query_id"], one["memory_id"], one["source"], one["annotator"]) for one in listed]
        assert keys == sorted((one.query_id, one.memory_id, str(one.source), one.annotator) for one in found)


@pytest.mark.parametrize(
    "path", ["/api/memory", "/api/runs", "/api/audit", "/api/judgments", "/api/searches", "/api/memory-sessions"]
)
@pytest.mark.parametrize("cursor", ["", "x", "W10", "e30", "WyJtZW1vcnkiXQ", "%F0%9F%98%80", "-" * 500])
def test_a_cursor_that_was_made_up_is_refused(client: TestClient, path: str, cursor: str) -> None:
    answer = client.get(f"{path}?cursor={cursor}")
    assert answer.status_code == 422, answer.text


def test_a_cursor_of_another_list_leads_nowhere() -> None:
    with pytest.raises(BadValue):
        read_cursor("runs", write_cursor("audit", 5), row_number, 0)


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_a_cursor_leads_where_it_was_made_for(place: int) -> None:
    assert read_cursor("runs", write_cursor("runs", place), row_number, 0) == place
