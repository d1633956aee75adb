"""Questions that are being answered now: each in a thread of its own, with its events kept for whoever looks.

A browser that lost the stream, or came late, is told from the event it has not seen; one that never came back costs
nothing. Only so many run at once, and only so many are remembered. The events of a question are an `EventFeed`
(`streaming`). A question that another serving process answers is followed there (`peers`) and copied as it goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from assay.errors import AssayError, RecordNotFound, ServerBusy
from assay.records import IdFactory, Scope
from assay.records.research_log import ResearchAnswer
from assay.research.events import Listen, StageEvent
from assay.server.peers import Line, Peers
from assay.server.streaming import EventFeed, EventStreams

AT_ONCE = 4
"""Questions that are answered at the same time."""
REMEMBERED = 200
"""Questions whose events are kept, the newest."""
LOST = "The process that answered this question ended before the answer was there. Ask again."
_log = logging.getLogger(__name__)

Answering = Callable[[Listen], ResearchAnswer]


@dataclass(slots=True)
class LiveQuestion:
    """One question on its way."""

    ticket: str
    scope: Scope
    question: str
    feed: EventFeed = field(default_factory=EventFeed)
    """What has happened so far."""
    log_id: str = ""
    """Under which it is kept; empty until it is answered."""
    problem: str = ""
    """Why it ended without an answer."""

    @property
    def ended(self) -> bool:
        """Whether it was answered, or given up."""
        return self.feed.closed


class LiveQuestions:
    """The questions of one server; `peers`: the other processes that serve beside this one."""

    def __init__(self, ids: IdFactory, peers: Peers | None = None) -> None:
        self._ids = ids
        self.peers = peers
        self._known: dict[str, LiveQuestion] = {}
        self._copies: dict[str, LiveQuestion] = {}
        self._lock = threading.Lock()

    def start(self, scope: Scope, question: str, answering: Answering) -> LiveQuestion:
        """Begin to answer; returns at once."""
        with self._lock:
            if sum(not live.ended for live in self._known.values()) >= AT_ONCE:
                raise ServerBusy(f"{AT_ONCE} questions are being answered", remedy="Ask again in a few seconds.")
            # The number at its end says which process answers it.
            place = "" if self.peers is None else f"-{self.peers.number}"
            live = LiveQuestion(ticket=f"{self._ids.new('ask')}{place}", scope=scope, question=question)
            _remember(self._known, live)
        threading.Thread(target=self._answer, args=(live, answering), name="assay-ask", daemon=True).start()
        return live

    def get(self, scope: Scope, ticket: str) -> LiveQuestion:
        """Return a question that the caller may see; one of another process may have to be asked for there."""
        found = self._known.get(ticket) or self._copies.get(ticket) or self._copied(scope, ticket)
        if found is None or found.scope.tenant != scope.tenant:
            raise RecordNotFound(
                "this question is not being answered any more",
                remedy="The server was started again since, or it was long ago: it is in the list of questions.",
            )
        return found

    async def tell(self, streams: EventStreams, tenant: str, ticket: str) -> AsyncIterator[Line]:
        """Tell another process of a question: what it is, each event, and how it ended."""
        live = self._known.get(ticket)
        if live is None or live.scope.tenant != tenant:
            return
        yield {"question": live.question, "ended": live.ended}
        async for event in live.feed.read(0, streams):
            yield event._asdict()
        if live.ended:
            yield {"log_id": live.log_id, "problem": live.problem}

    def _copied(self, scope: Scope, ticket: str) -> LiveQuestion | None:
        """Return a copy of a question that another process answers, which goes on as the question does."""
        number = ticket.rpartition("-")[2]
        if self.peers is None or not (number.isascii() and number.isdigit()) or int(number) == self.peers.number:
            return None
        lines = self.peers.ask(int(number), scope.tenant, ticket)
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

    @staticmethod
    def _answer(live: LiveQuestion, answering: Answering) -> None:
        def listen(event: StageEvent) -> None:
            live.feed.add("stage", event.as_json())

        try:
            answer = answering(listen)
            live.log_id = answer.log_id if answer.kept else ""
            live.problem = "" if answer.kept else "The answer could not be kept; see the notices in the server's log."
        except AssayError as problem:
            live.problem = f"{problem.message}. {problem.remedy}"
        except Exception:  # noqa: BLE001 - the page is told instead of left waiting
            _log.exception("question %s failed", live.ticket)
            live.problem = "Assay itself failed; the server's log says more."
        finally:
            live.feed.close()


def _remember(questions: dict[str, LiveQuestion], live: LiveQuestion) -> None:
    """Keep a question; of those that have ended, the oldest go."""
    for old in [key for key, known in questions.items() if known.ended][: len(questions) + 1 - REMEMBERED]:
        del questions[old]
    questions[live.ticket] = live


def _copy(copy: LiveQuestion, lines: Iterator[Line]) -> None:
    """Let a copy go on as its question does, to the end."""
    problem = LOST
    for line in lines:
        if "place" in line:
            copy.feed.add(line["name"], line["data"], place=line["place"])
        else:
            copy.log_id, problem = line["log_id"], line["problem"]
    copy.problem = problem
    copy.feed.close()
