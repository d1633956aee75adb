"""Event streams: events of a piece of work, live questions, and reading those of other processes.

- Server-sent events.
- Live questions of other serving processes.
- Live questions of this process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent

from assay.errors import AssayError, RecordNotFound, ServerBusy
from assay.records import IdFactory, Scope
from assay.records.research_log import ResearchAnswer
from assay.research.events import Listen, StageEvent

# --- Server-sent events ---
#
# `EventFeed` is the bounded queue between the work and its readers. Work adds events from any thread and never waits;
# every reader is woken by the event itself, nothing polls. `EventStreams` turns a feed into a response and ends all
# streams of the server when it stops. `stream_work` runs work that reports its own steps.
#
# A reader that cannot keep up misses the oldest events and gets their number (`dropped`). A connection whose client
# reads nothing is closed by the gateway (`server.stalled_s`), and one whose client has disconnected ends at once.

EVENTS_KEPT = 256
"""Events that one feed keeps. A question has about a dozen for each attempt."""
HEARTBEAT_S = 15.0
"""Seconds between comments that keep a silent connection open."""
FAREWELL_S = 5.0
"""Seconds in which a stream may send its last event after the server is stopped."""
DROPPED = "dropped"
"""The name of the event with the number of events that a slow reader missed."""
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
    """Readers that wait for a change and are woken together."""

    def __init__(self) -> None:
        self._wakes: set[Wake] = set()
        self._lock = threading.Lock()

    @property
    def readers(self) -> int:
        """How many readers there are."""
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
            # The event loop of a reader may be closed already.
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

    def add(self, name: str, data: dict[str, Any], *, place: int | None = None) -> FeedEvent:
        """Append an event and wake the readers; beyond the limit the oldest event goes. Return it.

        `place`: where the event is in the feed that this one is a copy of; places follow each other.
        """
        with self._lock:
            self._added = self._added + 1 if place is None else place
            event = FeedEvent(self._added, name, data)
            self._events.append(event)
        self.wake_all()
        return event

    def close(self) -> None:
        """Mark the feed as complete, and wake the readers."""
        self.closed = True
        self.wake_all()

    def next_after(self, place: int) -> FeedEvent | None:
        """Return the first kept event after `place`; a `dropped` event if events in between are gone."""
        with self._lock:
            if not self._events or place >= self._added:
                return None
            oldest = self._events[0].place
            if place + 1 < oldest:
                missed = oldest - place - 1
                return FeedEvent(oldest - 1, DROPPED, {"dropped": missed})
            return self._events[place + 1 - oldest]

    async def read(self, after: int = 0, streams: EventStreams | None = None) -> AsyncIterator[FeedEvent]:
        """Yield every event after `after` as it comes, until the work has ended or the server stops."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()
        wake = partial(loop.call_soon_threadsafe, changed.set)
        place, stops = after, streams or EventStreams()
        with self.waking(wake), stops.waking(wake):
            while not stops.stopping:
                changed.clear()
                # Read before looking for an event: an event added after this wakes the reader again.
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
        """Return a response that sends the events after `after`, then the event that `last` makes.

        `numbered`: events have their place as id, so that a browser that reconnects gets the events it has missed.
        """
        return EventSourceResponse(
            self._send_events(feed, last, after, numbered=numbered),
            sep="\n",
            ping=self._heartbeat_s,
            ping_message_factory=lambda: ServerSentEvent(comment="still at work", sep="\n"),
            # The library cancels a stream at shutdown; this leaves time for its last event.
            shutdown_grace_period=FAREWELL_S,
        )

    async def _send_events(
        self, feed: EventFeed, last: Last, after: int, *, numbered: bool
    ) -> AsyncIterator[ServerSentEvent]:
        async for event in feed.read(after, self):
            yield as_sent(event.name, event.data, place=event.place if numbered else None)
        final = last()
        if final is not None:
            yield final


def as_sent(name: str, data: dict[str, Any], *, place: int | None = None) -> ServerSentEvent:
    """Return an event in the format of server-sent events."""
    body = json.dumps(data, ensure_ascii=True, allow_nan=False, default=str)
    return ServerSentEvent(body, event=name, id=None if place is None else str(place), sep="\n")


Tell = Callable[[str, dict[str, Any]], object]
"""Sends one event: its name and its data. Called from the thread of the work."""
Work = Callable[[Tell], None]
T = TypeVar("T")


class WorkRunner(Protocol):
    """What `stream_work` needs of the server's services."""

    @property
    def streams(self) -> EventStreams:
        """The open streams."""
        ...

    def keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that runs to its end."""
        ...

    async def run_long(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, off the event loop."""
        ...


def stream_work(services: WorkRunner, request_id: str, work: Work) -> EventSourceResponse:
    """Run `work` off the event loop and send its events; it runs to its end even if the client disconnects."""
    feed = EventFeed()
    services.keep(_do(services, work, feed, request_id))

    def last() -> ServerSentEvent | None:
        if feed.closed:
            return None
        problem = ServerBusy(
            "the server is being stopped",
            remedy="The question is still answered and stored: look for it among the sessions when the server is back.",
        )
        return as_sent("error", _error(problem, request_id))

    return services.streams.respond(feed, last)


async def _do(services: WorkRunner, work: Work, feed: EventFeed, request_id: str) -> None:
    """Run the work; an error becomes its last event."""
    try:
        await services.run_long(partial(work, feed.add))
    except AssayError as problem:
        feed.add("error", _error(problem, request_id))
    finally:
        feed.close()


def _error(problem: AssayError, request_id: str) -> dict[str, Any]:
    return {"error": {**problem.as_json()["error"], "request_id": request_id}}


# --- Live questions of other serving processes ---
#
# With `--workers N` a browser's connection may reach any of N processes, while a question lives in the process that
# answers it. Each process listens on a Unix socket, in a folder that only this user can open. To follow a question of
# another process, a process connects there and reads one JSON line per event as it happens; the store is not involved.

Line = dict[str, Any]
AnswerPeer = Callable[[str, str], AsyncIterator[Line]]
"""Yields the lines about a question, by tenant and ticket; no line if this process does not have it."""
ANSWER_S = 5.0
"""Seconds in which a process must answer whether it has a question."""


class Peers:
    """This process, by its number, among those that serve together."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self.number = number

    def _door(self, number: int) -> Path:
        return self._folder / f"{number}.sock"

    @asynccontextmanager
    async def answering(self, tell: AnswerPeer) -> AsyncIterator[None]:
        """Answer the other processes until the context ends."""
        door = self._door(self.number)
        # A process that crashed leaves its socket behind; this one replaces it.
        door.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(partial(_answer, tell), door)
        try:
            yield
        finally:
            server.close()
            door.unlink(missing_ok=True)

    def ask(self, number: int, tenant: str, ticket: str) -> Iterator[Line]:
        """Yield the lines of another process about a question as they come; none if it cannot be reached."""
        with suppress(OSError, ValueError), closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(str(self._door(number)))
            connection.sendall(_encode_line({"tenant": tenant, "ticket": ticket}))
            with connection.makefile("rb") as lines:
                for place, line in enumerate(lines):
                    if place == 0:
                        # Minutes may pass between two events; the connection closes when the process ends.
                        connection.settimeout(None)
                    yield json.loads(line)


async def _answer(tell: AnswerPeer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # A peer that disconnects or sends something else is ignored.
    with suppress(OSError, ValueError, TimeoutError):
        request = json.loads(await asyncio.wait_for(reader.readline(), ANSWER_S))
        async for line in tell(request["tenant"], request["ticket"]):
            writer.write(_encode_line(line))
            await writer.drain()
    writer.close()


def _encode_line(line: Line) -> bytes:
    return json.dumps(line, allow_nan=False, default=str).encode() + b"\n"


# --- Live questions of this process ---
#
# The events of a question are an `EventFeed`, so a browser that reconnects or comes late gets the events it has not
# seen. The number of questions that run at once, and of those kept, is limited. A question that another serving process
# answers is followed there (`Peers`), one of another machine through the store (`SharedQuestions`), and copied as it
# goes on.

AT_ONCE = 4
"""Questions that are answered at the same time."""
REMEMBERED = 200
"""Questions whose events are kept, the newest."""
LOST = "The process that answered this question ended before the answer was ready. Ask again."
STOPPED = "The server was stopped before the answer was ready. Ask again."
_log = logging.getLogger(__name__)

Answering = Callable[[Listen], ResearchAnswer]


@dataclass(slots=True)
class LiveQuestion:
    """A question that is being answered."""

    ticket: str
    scope: Scope
    question: str
    feed: EventFeed = field(default_factory=EventFeed)
    """Its events so far."""
    log_id: str = ""
    """The id of the stored answer; empty until it is answered."""
    problem: str = ""
    """Why it ended without an answer."""

    @property
    def ended(self) -> bool:
        """Whether it was answered or has failed."""
        return self.feed.closed


class Elsewhere(Protocol):
    """Where other servers look for live questions."""

    def begin(self, tenant: str, ticket: str, question: str) -> None:
        """Tell that a question is being answered here."""
        ...

    def add(self, tenant: str, ticket: str, event: FeedEvent) -> None:
        """Tell an event of it."""
        ...

    def end(self, tenant: str, ticket: str, *, log_id: str, problem: str) -> None:
        """Tell how it ended; again, if it ended otherwise than was told before."""
        ...

    def ask(self, tenant: str, ticket: str) -> Iterator[Line]:
        """Yield the lines about a question of another server as they come; none if nobody has it."""
        ...


class LiveQuestions:
    """The questions of one server.

    `peers`: the other processes that serve beside this one. `elsewhere`: where servers on other machines look.
    """

    def __init__(self, ids: IdFactory, peers: Peers | None = None, elsewhere: Elsewhere | None = None) -> None:
        self._ids = ids
        self.peers = peers
        self._elsewhere = elsewhere
        self._threads: dict[str, threading.Thread] = {}
        self._known: dict[str, LiveQuestion] = {}
        self._copies: dict[str, LiveQuestion] = {}
        self._lock = threading.Lock()

    def start(self, scope: Scope, question: str, answering: Answering) -> LiveQuestion:
        """Start answering in a thread; return at once."""
        with self._lock:
            if sum(not live.ended for live in self._known.values()) >= AT_ONCE:
                raise ServerBusy(f"{AT_ONCE} questions are being answered", remedy="Ask again in a few seconds.")
            # The number at the end of the ticket is that of the process that answers it.
            place = "" if self.peers is None else f"-{self.peers.number}"
            live = LiveQuestion(ticket=f"{self._ids.new('ask')}{place}", scope=scope, question=question)
            _remember(self._known, live)
            thread = threading.Thread(target=self._answer, args=(live, answering), name="assay-ask", daemon=True)
            self._threads = {ticket: begun for ticket, begun in self._threads.items() if begun.is_alive()}
            self._threads[live.ticket] = thread
        if self._elsewhere is not None:
            self._elsewhere.begin(scope.tenant, live.ticket, question)
        thread.start()
        return live

    def finish(self, deadline_s: float) -> None:
        """Wait for questions that other servers may follow; tell them of those that did not end in time.

        A server that shares its store with no other machine does not wait: nobody could read the answer.
        """
        if self._elsewhere is None:
            return
        ends = time.monotonic() + deadline_s
        for ticket, thread in list(self._threads.items()):
            if thread.is_alive():
                thread.join(max(ends - time.monotonic(), 0.0))
            if thread.is_alive():
                self._elsewhere.end(self._known[ticket].scope.tenant, ticket, log_id="", problem=STOPPED)

    def get(self, scope: Scope, ticket: str) -> LiveQuestion:
        """Return a question that the caller may see, following it in another process if needed."""
        found = (
            self._known.get(ticket)
            or self._copies.get(ticket)
            or self._copy_from_peer(scope, ticket)
            or self._copy_from_elsewhere(scope, ticket)
        )
        if found is None or found.scope.tenant != scope.tenant:
            raise RecordNotFound(
                "this question is no longer being answered",
                remedy="The server was restarted, or it was long ago: look for it in the list of questions.",
            )
        return found

    async def tell(self, streams: EventStreams, tenant: str, ticket: str) -> AsyncIterator[Line]:
        """Yield the lines about a question for another process: its text, each event, and its result."""
        live = self._known.get(ticket)
        if live is None or live.scope.tenant != tenant:
            return
        yield {"question": live.question, "ended": live.ended}
        async for event in live.feed.read(0, streams):
            yield event._asdict()
        if live.ended:
            yield {"log_id": live.log_id, "problem": live.problem}

    def _copy_from_peer(self, scope: Scope, ticket: str) -> LiveQuestion | None:
        """Return a copy of a question that another process answers, which goes on as the question does."""
        number = ticket.rpartition("-")[2]
        if self.peers is None or not (number.isascii() and number.isdigit()) or int(number) == self.peers.number:
            return None
        return self._copy_lines(scope, ticket, self.peers.ask(int(number), scope.tenant, ticket))

    def _copy_from_elsewhere(self, scope: Scope, ticket: str) -> LiveQuestion | None:
        """Return a copy of a question that a server on another machine answers."""
        return (
            None
            if self._elsewhere is None
            else self._copy_lines(scope, ticket, self._elsewhere.ask(scope.tenant, ticket))
        )

    def _copy_lines(self, scope: Scope, ticket: str, lines: Iterator[Line]) -> LiveQuestion | None:
        first = next(lines, None)
        if first is None:
            return None
        copy = LiveQuestion(ticket=ticket, scope=scope, question=first["question"])
        with self._lock:
            _remember(self._copies, copy)
        if first["ended"]:
            _copy(copy, lines)
        else:
            threading.Thread(target=_copy, args=(copy, lines), name="assay-copy", daemon=True).start()
        return copy

    def _answer(self, live: LiveQuestion, answering: Answering) -> None:
        tenant, elsewhere = live.scope.tenant, self._elsewhere

        def listen(event: StageEvent) -> None:
            added = live.feed.add("stage", event.as_json())
            if elsewhere is not None:
                elsewhere.add(tenant, live.ticket, added)

        try:
            answer = answering(listen)
            live.log_id = answer.log_id if answer.kept else ""
            live.problem = "" if answer.kept else "The answer could not be stored; see the notices in the server's log."
        except AssayError as problem:
            live.problem = f"{problem.message}. {problem.remedy}"
        except Exception:  # noqa: BLE001 - the page shows the problem instead of waiting for ever
            _log.exception("question %s failed", live.ticket)
            live.problem = "Assay itself failed; the server's log says more."
        finally:
            if elsewhere is not None:
                elsewhere.end(tenant, live.ticket, log_id=live.log_id, problem=live.problem)
            live.feed.close()


def _remember(questions: dict[str, LiveQuestion], live: LiveQuestion) -> None:
    """Keep a question, and drop the oldest of those that have ended."""
    for old in [key for key, known in questions.items() if known.ended][: len(questions) + 1 - REMEMBERED]:
        del questions[old]
    questions[live.ticket] = live


def _copy(copy: LiveQuestion, lines: Iterator[Line]) -> None:
    """Copy the events and the result of a question from its lines."""
    problem = LOST
    for line in lines:
        if "place" in line:
            copy.feed.add(line["name"], line["data"], place=line["place"])
        else:
            copy.log_id, problem = line["log_id"], line["problem"]
    copy.problem = problem
    copy.feed.close()
