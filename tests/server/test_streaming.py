"""The one event stream: readers are woken, slow ones are told what they missed, and a server that stops ends them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message
from tests.server.serving import BOUND_S, OWN, served, services_at

from assay.errors import InputError
from assay.records.research_log import TracedAnswer
from assay.research.events import Listen
from assay.server.streaming import DROPPED, EVENTS_KEPT, EventFeed, EventStreams, FeedEvent, as_sent, stream_work


def fill(feed: EventFeed, count: int) -> EventFeed:
    for number in range(1, count + 1):
        feed.add("stage", {"number": number})
    return feed


def read_all(feed: EventFeed, after: int = 0) -> list[tuple[int, str]]:
    async def read() -> list[tuple[int, str]]:
        return [(event.place, event.name) async for event in feed.read(after)]

    return anyio.run(read)


def test_a_waiting_reader_is_woken_by_an_event_of_another_thread() -> None:
    feed = EventFeed()
    waiting = threading.Event()

    def work() -> None:
        waiting.wait(BOUND_S)
        fill(feed, 2).close()

    class Noted(EventStreams):
        """Says when the reader is about to wait."""

        @property
        def stopping(self) -> bool:
            waiting.set()
            return False

        @stopping.setter
        def stopping(self, value: bool) -> None:
            assert not value

    async def read() -> list[int]:
        with anyio.fail_after(BOUND_S):
            return [event.place async for event in feed.read(0, Noted())]

    thread = threading.Thread(target=work)
    thread.start()
    assert anyio.run(read) == [1, 2]
    thread.join(BOUND_S)
    assert feed.readers == 0


def test_a_slow_reader_loses_the_oldest_events_and_is_told_how_many() -> None:
    feed = fill(EventFeed(kept=3), 10)
    feed.close()
    assert read_all(feed) == [(7, DROPPED), (8, "stage"), (9, "stage"), (10, "stage")]
    assert feed.next_after(0) == FeedEvent(7, DROPPED, {"dropped": 7})
    assert feed.next_after(5) == FeedEvent(7, DROPPED, {"dropped": 2})
    assert read_all(feed, after=7) == [(8, "stage"), (9, "stage"), (10, "stage")]


def test_a_feed_holds_so_many_events_however_many_are_added() -> None:
    feed = fill(EventFeed(), 10 * EVENTS_KEPT)
    feed.close()
    assert len(read_all(feed)) == EVENTS_KEPT + 1


def test_readers_of_one_feed_each_see_every_event() -> None:
    feed = fill(EventFeed(), 3)
    seen: list[list[int]] = [[], []]

    async def read(into: list[int]) -> None:
        async for event in feed.read():
            into.append(event.place)
            if event.place == 3:
                feed.close()

    async def both() -> None:
        async with anyio.create_task_group() as group:
            for into in seen:
                group.start_soon(read, into)

    anyio.run(both)
    assert seen == [[1, 2, 3], [1, 2, 3]]


def test_a_reader_that_stops_reading_leaves_nothing_behind() -> None:
    feed = fill(EventFeed(), 1)

    async def read() -> None:
        events: AsyncIterator[FeedEvent] = feed.read()
        async with aclosing(events):  # type: ignore[type-var] # a generator has aclose
            assert (await anext(events)).place == 1
            assert feed.readers == 1

    anyio.run(read)
    assert feed.readers == 0


Receive = Callable[[list[bytes]], Message | None]


def answer(streams: EventStreams, feed: EventFeed, gone: Callable[[bytes], bool]) -> bytes:
    """Send the stream to a client that goes away once `gone` says so of what it was sent."""
    sent = b""

    async def call() -> None:
        leaving = anyio.Event()

        async def receive() -> Message:
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal sent
            sent += message.get("body", b"")
            if gone(sent):
                leaving.set()

        response = streams.respond(feed, lambda: as_sent("ended", {}))
        with anyio.fail_after(BOUND_S):
            await response({"type": "http", "method": "GET"}, receive, send)

    anyio.run(call)
    return sent


def test_a_client_that_goes_away_ends_its_stream() -> None:
    feed = fill(EventFeed(), 1)
    sent = answer(EventStreams(), feed, lambda sent: b"stage" in sent)
    assert sent == b'event: stage\ndata: {"number": 1}\n\n'
    assert feed.readers == 0


def test_a_silent_stream_has_a_heartbeat() -> None:
    sent = answer(EventStreams(heartbeat_s=0.01), EventFeed(), lambda sent: sent.count(b": still at work") == 2)
    assert sent.startswith(b": still at work\n\n")


def test_a_stream_ends_when_the_server_stops_and_says_no_more_than_it_knows() -> None:
    streams, feed = EventStreams(), fill(EventFeed(), 1)

    def stop(sent: bytes) -> bool:
        if b"stage" in sent:
            streams.stop()
        return False

    assert answer(streams, feed, stop) == b'event: stage\ndata: {"number": 1}\n\nevent: ended\ndata: {}\n\n'
    assert not feed.closed


def open_stream(address: str, path: str, body: dict[str, Any] | None = None) -> socket.socket:
    host, _, port = address.removeprefix("http://").partition(":")
    given = b"" if body is None else json.dumps(body).encode()
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {host}:{port}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(given)}\r\n"
    connection = socket.create_connection((host, int(port)), timeout=BOUND_S)
    connection.sendall(f"{head}\r\n".encode() + given)
    return connection


def read_to_end(connection: socket.socket) -> bytes:
    return connection.makefile("rb").read()


def test_a_server_with_open_streams_stops_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    released = threading.Event()

    def answering(listen: Listen) -> TracedAnswer:
        del listen
        released.wait(BOUND_S)
        raise InputError("nobody waits any more", remedy="Ask again.")

    with services_at(tmp_path) as services:
        ticket = services.live.start(OWN, "?", answering).ticket
        with served(services, pages=True) as address:
            streams = [open_stream(address, f"/ask/{ticket}/events") for _ in range(8)]
            assert all(stream.recv(12) == b"HTTP/1.1 200" for stream in streams)
            began = time.monotonic()
        assert time.monotonic() - began < services.settings.server_stop_s / 2
        # A browser comes back by itself, so that nobody takes a server that stopped for an answer.
        assert not any(b"event: ended" in read_to_end(stream) for stream in streams)
        assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
        for stream in streams:
            stream.close()
        released.set()


def test_a_program_is_told_that_the_server_stops_and_its_work_goes_on(tmp_path: Path) -> None:
    finished: list[str] = []
    with services_at(tmp_path) as services:

        async def run() -> bytes:
            sent = b""
            release = threading.Event()

            def work(tell: Any) -> None:
                tell("stage", {})
                release.wait(BOUND_S)
                finished.append("done")

            async def receive() -> Message:
                await anyio.sleep_forever()
                raise AssertionError

            async def send(message: Message) -> None:
                nonlocal sent
                sent += message.get("body", b"")
                if b"stage" in sent:
                    services.streams.stop()

            with anyio.fail_after(BOUND_S):
                await stream_work(services, "r1", work)({"type": "http", "method": "POST"}, receive, send)
                assert not finished
                release.set()
                assert await services.finish(BOUND_S) == 0
            return sent

        stages, _, error = anyio.run(run).decode().partition("event: error\ndata: ")
    assert stages == "event: stage\ndata: {}\n\n"
    told = json.loads(error)["error"]
    assert (told["code"], told["request_id"]) == ("server_busy", "r1")
    assert "being stopped" in told["message"]
    assert finished == ["done"]
