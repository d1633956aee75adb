"""Sessions of MCP over HTTP: a share for each principal, and fair places when all are taken."""

from __future__ import annotations

import anyio
import pytest

from assay.gateway.refusal import RequestRefused
from assay.mcp.sessions import McpSessions, Session
from assay.testing import FixedClock


class Ledger:
    """Sessions with a clock that is moved by hand, and the ids of those that were ended."""

    def __init__(self, share: int, total: int) -> None:
        self.clock = FixedClock()
        self.sessions = McpSessions(self.clock, share, total)
        self.ended: list[str | None] = []

    def open(self, owner: str, session_id: str, *, busy: bool = False) -> Session:
        """Open a session one second later than the last."""
        self.clock.advance(seconds=1)

        async def end(session: Session) -> None:
            self.ended.append(session.session_id)

        session = anyio.run(self.sessions.open, owner, end)
        session.session_id = session_id
        if not busy:
            self.sessions.finish(session)
        return session


def test_who_is_at_its_share_loses_its_own_oldest_idle_session() -> None:
    ledger = Ledger(share=2, total=10)
    first = ledger.open("one", "a")
    ledger.open("one", "b")
    ledger.clock.advance(seconds=1)
    ledger.sessions.begin(first)
    ledger.sessions.finish(first)
    ledger.open("one", "c")
    assert ledger.ended == ["b"]
    assert ledger.sessions.count("one") == 2


def test_who_uses_its_whole_share_is_refused_with_a_remedy() -> None:
    ledger = Ledger(share=1, total=10)
    ledger.open("one", "a", busy=True)
    with pytest.raises(RequestRefused, match="in use") as problem:
        ledger.open("one", "b")
    assert (problem.value.status, problem.value.code) == (503, "too_many_sessions")
    assert "DELETE" in problem.value.remedy
    ledger.open("two", "c")
    assert ledger.ended == []


def test_when_all_are_taken_who_has_most_gives_one_to_who_has_fewer() -> None:
    ledger = Ledger(share=3, total=5)
    for session_id in "abc":
        ledger.open("one", session_id)
    for session_id in "de":
        ledger.open("two", session_id, busy=True)
    ledger.open("three", "f")
    assert ledger.ended == ["a"]
    ledger.open("three", "g")
    # Nobody has more than it would have then: it gives way to itself.
    assert ledger.ended == ["a", "f"]


def test_equals_do_not_take_from_each_other() -> None:
    ledger = Ledger(share=3, total=2)
    ledger.open("one", "a", busy=True)
    ledger.open("two", "b", busy=True)
    with pytest.raises(RequestRefused, match="all 2 sessions"):
        ledger.open("three", "c")


def test_a_session_that_was_not_opened_after_all_leaves_its_place() -> None:
    ledger = Ledger(share=1, total=1)
    session = ledger.open("one", "a")
    ledger.sessions.forget(session)
    ledger.sessions.forget(session)
    assert ledger.sessions.find("a", "one") is None
    ledger.open("two", "b")
    assert ledger.ended == []
