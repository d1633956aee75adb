"""Questions on their way: told from where a listener left off, bounded, and nobody else's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from tests.server.serving import FOREIGN, OWN

from assay.errors import InputError, RecordNotFound, ServerBusy
from assay.records import IdFactory
from assay.records.research_log import TracedAnswer
from assay.research.events import EventKind, Listen, StageEvent, StageName
from assay.server.streaming import AT_ONCE, REMEMBERED, LiveQuestion, LiveQuestions
from assay.testing import FixedClock

BOUND_S = 30.0


def questions() -> LiveQuestions:
    return LiveQuestions(IdFactory(FixedClock()))


def failing(listen: Listen) -> TracedAnswer:
    """Tells two steps, then gives up."""
    clock = FixedClock()
    for stage in (StageName.PLAN, StageName.SEARCH):
        listen(StageEvent(log_id="r_1", at=clock.now(), kind=EventKind.STARTED, stage=stage))
    raise InputError("the question is no question", remedy="Ask another.")


@contextmanager
def held() -> Iterator[threading.Event]:
    """Something to wait for, let go at the end."""
    event = threading.Event()
    yield event
    event.set()


def ended(live: LiveQuestion) -> LiveQuestion:
    """The question when its thread is done."""
    for thread in threading.enumerate():
        if thread.name == "assay-ask":
            thread.join(BOUND_S)
    assert live.ended
    return live


def heard(live: LiveQuestion, after: int) -> list[int]:
    async def listen() -> list[int]:
        return [event.place async for event in live.feed.read(after)]

    return anyio.run(listen)


def test_a_listener_is_told_what_it_has_not_heard() -> None:
    live = ended(questions().start(OWN, "?", failing))
    assert heard(live, 0) == [1, 2]
    assert heard(live, 1) == [2]
    assert heard(live, 99) == []


def test_what_goes_wrong_is_told_and_ends_the_question() -> None:
    live = ended(questions().start(OWN, "?", failing))
    assert live.problem == "the question is no question. Ask another."
    assert live.log_id == ""


def test_a_fault_of_the_program_ends_the_question_without_its_inside() -> None:
    def broken(_: Listen) -> TracedAnswer:
        raise ZeroDivisionError("secret")

    live = ended(questions().start(OWN, "?", broken))
    assert "log says more" in live.problem
    assert "secret" not in live.problem


def test_a_question_of_another_tenant_is_not_there() -> None:
    known = questions()
    live = ended(known.start(OWN, "?", failing))
    assert known.get(OWN, live.ticket) is live
    for scope, ticket in ((FOREIGN, live.ticket), (OWN, "ask_nope")):
        with pytest.raises(RecordNotFound):
            known.get(scope, ticket)


def test_only_so_many_are_answered_at_once() -> None:
    known = questions()
    with held() as released:

        def waiting(_: Listen) -> TracedAnswer:
            released.wait(BOUND_S)
            raise InputError("done", remedy="-")

        for _ in range(AT_ONCE):
            last = known.start(OWN, "?", waiting)
        with pytest.raises(ServerBusy):
            known.start(OWN, "one too many", waiting)
    ended(last)
    ended(known.start(OWN, "now there is room", failing))


def test_only_so_many_are_remembered() -> None:
    known = questions()
    first = ended(known.start(OWN, "?", failing))
    for _ in range(REMEMBERED):
        newest = ended(known.start(OWN, "?", failing))
    assert known.get(OWN, newest.ticket) is newest
    with pytest.raises(RecordNotFound):
        known.get(OWN, first.ticket)
