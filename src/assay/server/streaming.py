"""The one event stream of the server: events of a piece of work as server-sent events.

`EventFeed` is the bounded queue between the work and its readers. Work adds events from any thread and never waits;
every reader is woken by the event itself, nothing polls. `EventStreams` turns a feed into a response and ends all
streams of the server when it stops. `stream_work` runs work that reports its own steps.

A reader that cannot keep up misses the oldest events and is told how many (`dropped`). A connection that takes nothing
at all is closed by the gateway (`server.stalled_s`), and one whose client has gone ends at once.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent

from assay.errors import AssayError, ServerBusy

EVENTS_KEPT = 256
"""Events of one feed that are kept. A question has about a dozen for each attempt."""
HEARTBEAT_S = 15.0
"""Seconds between comments that keep a silent connection open."""
FAREWELL_S = 5.0
"""Seconds in which a stream may send its last event after the server was told to stop."""
DROPPED = "dropped"
"""The event that says how many events a slow reader missed."""
KIND = "text/event-stream"
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["stage", "answer", "error", DROPPED]},
        "data": {"type": "string", "description": "JSON: the step, the answer, or the error in its one shape."},
    },
    "required": ["event", "data"],
}
STREAMED: Mapping[int | str, dict[str, Any]] = {200: {"content": {KIND: {"schema": _EVENT}}}}
"""How the OpenAPI description shows a streamed response."""

Wake = Callable[[], object]
"""Wakes one reader; may be called from any thread."""
Last = Callable[[], ServerSentEvent | None]
"""Makes the last event of a stream; None: the stream ends without one."""


class FeedEvent(NamedTuple):
    """One event, with its place in the feed counted from 1."""

    place: int
    name: str
    data: dict[str, Any]


class _Wakes:
    """The readers that wait for something, to be woken together."""

    def __init__(self) -> None:
        self._wakes: set[Wake] = set()
        self._lock = threading.Lock()

    @property
    def readers(self) -> int:
        """How many wait, or are about to."""
        return len(self._wakes)

    @contextmanager
    def waking(self, wake: Wake) -> Iterator[None]:
        """Call `wake` at each change for as long as this lasts."""
        with self._lock:
            self._wakes.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakes.discard(wake)

    def wake_all(self) -> None:
        """Wake every reader."""
        with self._lock:
            wakes = list(self._wakes)
        for wake in wakes:
            # The loop of a reader that is just going may be closed already.
            with suppress(RuntimeError):
                wake()


class EventFeed(_Wakes):
    """The newest events of one piece of work, in order, for any number of readers."""

    def __init__(self, kept: int = EVENTS_KEPT) -> None:
        super().__init__()
        self._events: deque[FeedEvent] = deque(maxlen=kept)
        self._added = 0
        self.closed = False
        """Whether the work has ended; no event follows."""

    def add(self, name: str, data: dict[str, Any], *, place: int | None = None) -> None:
        """Append an event and wake the readers; beyond the limit the oldest event goes.

        `place`: where the event is in the feed that this one is a copy of; places follow each other.
        """
        with self._lock:
            self._added = self._added + 1 if place is None else place
            self._events.append(FeedEvent(self._added, name, data))
        self.wake_all()

    def close(self) -> None:
        """Say that no event follows, and wake the readers."""
        self.closed = True
        self.wake_all()

    def next_after(self, place: int) -> FeedEvent | None:
        """Return the first kept event behind `place`; one of name `dropped` where events between them are gone."""
        with self._lock:
            if not self._events or place >= self._added:
                return None
            oldest = self._events[0].place
            if place + 1 < oldest:
                missed = oldest - place - 1
                return FeedEvent(oldest - 1, DROPPED, {"dropped": missed})
            return self._events[place + 1 - oldest]

    async def read(self, after: int = 0, streams: EventStreams | None = None) -> AsyncIterator[FeedEvent]:
        """Yield every event behind `after` as it comes, until the work has ended or the server stops."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        wake = partial(loop.call_soon_threadsafe, changed.set)
        place, stops = after, streams or EventStreams()
        with self.waking(wake), stops.waking(wake):
            while not stops.stopping:
                changed.clear()
                # Before looking for an event: what is added after this wakes the reader again.
                closed = self.closed
                event = self.next_after(place)
                if event is not None:
                    place = event.place
                    yield event
                elif closed:
                    return
                else:
                    await changed.wait()


class EventStreams(_Wakes):
    """The open event streams of one server; `heartbeat_s`: seconds between comments on a silent one."""

    def __init__(self, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        super().__init__()
        self.stopping = False
        self._heartbeat_s = heartbeat_s

    def stop(self) -> None:
        """End every stream now; the work behind them goes on."""
        self.stopping = True
        self.wake_all()

    def respond(self, feed: EventFeed, last: Last, *, after: int = 0, numbered: bool = False) -> EventSourceResponse:
        """Return a response that sends the events behind `after`, then what `last` makes.

        `numbered`: events carry their place as id, so that a browser that comes back is told what it has missed.
        """
        return EventSourceResponse(
            self._sent(feed, last, after, numbered=numbered),
            sep="\n",
            ping=self._heartbeat_s,
            ping_message_factory=lambda: ServerSentEvent(comment="still at work", sep="\n"),
            # The library cancels a stream when it sees the signal to stop; this leaves it time for its last event.
            shutdown_grace_period=FAREWELL_S,
        )

    async def _sent(self, feed: EventFeed, last: Last, after: int, *, numbered: bool) -> AsyncIterator[ServerSentEvent]:
        async for event in feed.read(after, self):
            yield as_sent(event.name, event.data, place=event.place if numbered else None)
        final = last()
        if final is not None:
            yield final


def as_sent(name: str, data: dict[str, Any], *, place: int | None = None) -> ServerSentEvent:
    """Return an event as it goes over the wire."""
    body = json.dumps(data, ensure_ascii=True, allow_nan=False, default=str)
    return ServerSentEvent(body, event=name, id=None if place is None else str(place), sep="\n")


Tell = Callable[[str, dict[str, Any]], None]
"""Sends one event: its name and its data. Called from the thread of the work."""
Work = Callable[[Tell], None]
T = TypeVar("T")


class Background(Protocol):
    """What `stream_work` needs of the server's services."""

    @property
    def streams(self) -> EventStreams:
        """The open streams."""
        ...

    def keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin work that goes on to its end."""
        ...

    async def run_long(self, work: Callable[[], T]) -> T:
        """Do something off the event loop."""
        ...


def stream_work(services: Background, request_id: str, work: Work) -> EventSourceResponse:
    """Do `work` off the event loop and send what it tells; it runs to its end, whoever stops listening."""
    feed = EventFeed()
    services.keep(_do(services, work, feed, request_id))

    def last() -> ServerSentEvent | None:
        if feed.closed:
            return None
        problem = ServerBusy(
            "the server is being stopped",
            remedy="The question is still answered and kept: look for it among the sessions when the server is back.",
        )
        return as_sent("error", _error(problem, request_id))

    return services.streams.respond(feed, last)


async def _do(services: Background, work: Work, feed: EventFeed, request_id: str) -> None:
    """Do the work; an error is its last event."""
    try:
        await services.run_long(partial(work, feed.add))
    except AssayError as problem:
        feed.add("error", _error(problem, request_id))
    finally:
        feed.close()


def _error(problem: AssayError, request_id: str) -> dict[str, Any]:
    return {"error": {**problem.as_json()["error"], "request_id": request_id}}
