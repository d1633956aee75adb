"""Live questions of servers on other machines: told to the store, and read from it.

The server that answers a question writes each event to the store, and every few seconds that it is still at work. A
server whose browser asks for the question reads new events a few times a second. When the server that answers falls
silent, its questions count as lost. Writing is not waited for by the disk of the database, and a store that cannot
take an event costs the event and not the answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

from assay.errors import AssayError
from assay.records import Scope
from assay.records.coordination import LiveEvent
from assay.server.streaming import FeedEvent, Line
from assay.storage import Store, Work

LOOK_S = 0.25
"""Seconds between two looks for new events of another server."""
BEAT_S = 3.0
"""Seconds after which a server says again that it is at work on a question."""
SILENT = timedelta(seconds=15)
"""How long a server may be silent before its questions count as lost."""
KEPT = timedelta(hours=6)
"""How long a question is kept for other servers; its answer is stored apart."""
_log = logging.getLogger(__name__)


class SharedQuestions:
    """The live questions of all servers that share a store."""

    def __init__(
        self, store: Store, *, look_s: float = LOOK_S, beat_s: float = BEAT_S, silent: timedelta = SILENT
    ) -> None:
        self._store = store
        self._look_s = look_s
        self._beat_s = beat_s
        self._silent = silent
        self._working: dict[str, str] = {}
        """Tenants of the questions that this server answers, by ticket."""
        self._lock = threading.Lock()
        self._beating: threading.Thread | None = None

    def begin(self, tenant: str, ticket: str, question: str) -> None:
        """Tell other servers that a question is being answered here."""

        def write(work: Work) -> None:
            work.live_questions.remove_before(work.live_questions.now() - KEPT)
            work.live_questions.begin(ticket, question)

        self._write(tenant, write)
        with self._lock:
            self._working[ticket] = tenant
            if self._beating is None:
                self._beating = threading.Thread(target=self._beat, name="assay-live-questions", daemon=True)
                self._beating.start()

    def add(self, tenant: str, ticket: str, event: FeedEvent) -> None:
        """Tell them an event."""
        told = LiveEvent(*event)
        self._write(tenant, lambda work: work.live_questions.add_event(ticket, told))

    def end(self, tenant: str, ticket: str, *, log_id: str, problem: str) -> None:
        """Tell them how it ended."""
        with self._lock:
            self._working.pop(ticket, None)
        self._write(tenant, lambda work: work.live_questions.end(ticket, log_id=log_id, problem=problem))

    def ask(self, tenant: str, ticket: str) -> Iterator[Line]:
        """Yield the lines about a question of another server as they come; none if no server has it.

        The last line is its result; without one the server that answered it is lost.
        """
        scope, place = Scope(tenant=tenant, principal="server"), 0
        with self._store.reading(scope) as work:
            row = work.live_questions.find(ticket)
        if row is None:
            return
        yield {"question": row.question, "ended": row.ended_at is not None}
        while row is not None:
            with self._store.reading(scope) as work:
                row, now = work.live_questions.find(ticket), work.live_questions.now()
                events = work.live_questions.events(ticket, after=place)
            for event in events:
                place = event.place
                yield event._asdict()
            if row is not None and row.ended_at is not None:
                yield {"log_id": row.log_id, "problem": row.problem}
                return
            if row is not None and now - row.seen_at > self._silent:
                return
            threading.Event().wait(self._look_s)

    def _write(self, tenant: str, write: Callable[[Work], object]) -> None:
        scope = Scope(tenant=tenant, principal="server")
        writing: AbstractContextManager[Work] = self._store.coordinating(scope, durable=False)
        try:
            with writing as work:
                write(work)
        except AssayError as problem:
            _log.warning("other servers cannot follow a live question: %s", problem)

    def _beat(self) -> None:
        while True:
            threading.Event().wait(self._beat_s)
            with self._lock:
                working = list(self._working.items())
                if not working:
                    self._beating = None
                    return
            for ticket, tenant in working:
                self._see(tenant, ticket)

    def _see(self, tenant: str, ticket: str) -> None:
        self._write(tenant, lambda work: work.live_questions.see(ticket))
