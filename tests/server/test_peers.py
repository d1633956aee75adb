"""Processes that serve together show each other's live questions."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import pytest
import requests
from tests.server.serving import BOUND_S, FOREIGN, OWN, served, services_at

from assay.errors import InputError, RecordNotFound
from assay.records.research_log import ResearchAnswer
from assay.research.events import EventKind, Listen, StageEvent, StageName
from assay.server.services import Services
from assay.server.streaming import LOST, LiveQuestion, Peers
from assay.testing import FixedClock


class Work:
    """A question that tells one step, waits to be let go, tells another and gives up."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, listen: Listen) -> ResearchAnswer:
        clock = FixedClock()
        listen(StageEvent(log_id="r_1", at=clock.now(), kind=EventKind.STARTED, stage=StageName.PLAN))
        assert self.released.wait(BOUND_S)
        listen(StageEvent(log_id="r_1", at=clock.now(), kind=EventKind.STARTED, stage=StageName.SEARCH))
        raise InputError("nobody could answer it", remedy="Ask another.")


@contextmanager
def two_processes(folder: Path) -> Iterator[tuple[Services, Services]]:
    """Services of two processes over one store."""
    with services_at(folder) as services:
        engine, settings = services.engine, services.settings
        yield (
            Services(engine, settings, peers=Peers(folder, 0)),
            Services(engine, settings, peers=Peers(folder, 1)),
        )


@contextmanager
def reachable(services: Services) -> Iterator[str]:
    """A server of these services that has begun, and so answers its peers."""
    with served(services, pages=True) as address:
        assert requests.get(f"{address}/healthz", timeout=BOUND_S).status_code == 200
        yield address


def wait_for_end(live: LiveQuestion) -> list[str]:
    """The names of its events, when there is no more to come."""

    async def read() -> list[str]:
        with anyio.fail_after(BOUND_S):
            return [event.name async for event in live.feed.read()]

    return anyio.run(read)


def test_a_question_of_one_process_is_watched_through_another(tmp_path: Path) -> None:
    work = Work()
    with two_processes(tmp_path) as (first, second), ExitStack() as held:
        ticket = first.live.start(OWN, "Why?", work).ticket
        held.enter_context(reachable(first))
        address = held.enter_context(reachable(second))
        assert "Why?" in requests.get(f"{address}/ask/{ticket}", timeout=BOUND_S).text
        early = requests.get(f"{address}/ask/{ticket}/answer", timeout=BOUND_S)
        assert early.status_code == 409
        with requests.get(f"{address}/ask/{ticket}/events", stream=True, timeout=BOUND_S) as stream:
            lines = (line.decode() for line in stream.iter_lines())
            assert [next(lines), next(lines)] == ["id: 1", "event: stage"]
            work.released.set()
            rest = list(lines)
        assert rest[2:4] == ["id: 2", "event: stage"]
        ended = json.loads(rest[-2].removeprefix("data: "))
        assert ended == {"log_id": "", "problem": "nobody could answer it. Ask another."}
        answer = requests.get(f"{address}/ask/{ticket}/answer", timeout=BOUND_S)
        assert (answer.status_code, "nobody could answer it" in answer.text) == (200, True)


def test_a_question_that_has_ended_is_shown_whole(tmp_path: Path) -> None:
    work = Work()
    work.released.set()
    with two_processes(tmp_path) as (first, second), reachable(first):
        live = first.live.start(OWN, "Why?", work)
        wait_for_end(live)
        copy = second.live.get(OWN, live.ticket)
        assert (copy.ended, copy.question, copy.problem) == (True, "Why?", live.problem)
        assert wait_for_end(copy) == ["stage", "stage"]
        assert second.live.get(OWN, live.ticket) is copy


def test_a_question_of_another_tenant_is_not_there(tmp_path: Path) -> None:
    work = Work()
    work.released.set()
    with two_processes(tmp_path) as (first, second), reachable(first):
        ticket = first.live.start(OWN, "Why?", work).ticket
        for _ in range(2):
            with pytest.raises(RecordNotFound):
                second.live.get(FOREIGN, ticket)
            assert second.live.get(OWN, ticket).question == "Why?"


def test_a_process_that_ends_leaves_nobody_waiting(tmp_path: Path) -> None:
    work = Work()
    with two_processes(tmp_path) as (first, second):
        with reachable(first):
            ticket = first.live.start(OWN, "Why?", work).ticket
            copy = second.live.get(OWN, ticket)
            assert not copy.ended
        assert wait_for_end(copy) == ["stage"]
        assert copy.problem == LOST
        work.released.set()


@pytest.mark.parametrize("ticket", ["ask_1-0", "ask_1-1", "ask_1-9", "ask_1", "ask_1-", "ask_1-²"])
def test_a_ticket_that_no_process_knows_is_not_found(tmp_path: Path, ticket: str) -> None:
    with two_processes(tmp_path) as (_, second), pytest.raises(RecordNotFound):
        second.live.get(OWN, ticket)
