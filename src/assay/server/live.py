"""Questions that are being answered now: each in a thread of its own, with its events kept for whoever looks.

A browser that lost the stream, or came late, is told from the event it has not seen; one that never came back costs
nothing. Only so many run at once, and only so many are remembered. The events of a question are an `EventFeed`
(`streaming`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from assay.errors import AssayError, RecordNotFound, ServerBusy
from assay.records import IdFactory, Scope
from assay.records.researched import ResearchAnswer
from assay.research.events import Listen, StageEvent
from assay.server.streaming import EventFeed

AT_ONCE = 4
"""Questions that are answered at the same time."""
REMEMBERED = 200
"""Questions whose events are kept, the newest."""
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
    """The questions of one server."""

    def __init__(self, ids: IdFactory) -> None:
        self._ids = ids
        self._known: dict[str, LiveQuestion] = {}
        self._lock = threading.Lock()

    def start(self, scope: Scope, question: str, answering: Answering) -> LiveQuestion:
        """Begin to answer; returns at once."""
        with self._lock:
            if sum(not one.ended for one in self._known.values()) >= AT_ONCE:
                raise ServerBusy(f"{AT_ONCE} questions are being answered", remedy="Ask again in a few seconds.")
            live = LiveQuestion(ticket=self._ids.new("ask"), scope=scope, question=question)
            for old in [key for key, one in self._known.items() if one.ended][: len(self._known) + 1 - REMEMBERED]:
                del self._known[old]
            self._known[live.ticket] = live
        threading.Thread(target=self._answer, args=(live, answering), name="assay-ask", daemon=True).start()
        return live

    def get(self, scope: Scope, ticket: str) -> LiveQuestion:
        """A question that the caller may see."""
        found = self._known.get(ticket)
        if found is None or found.scope.tenant != scope.tenant:
            raise RecordNotFound(
                "this question is not being answered any more",
                remedy="The server was started again since, or it was long ago: it is in the list of questions.",
            )
        return found

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
