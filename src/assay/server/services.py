"""What every route and page works with: the engine and what hangs on it, and the one way off the event loop.

Pages find it at `request.app.state.services`; the caller's grant is `request.scope[GRANT]`. A call waits for a free
thread; when too many wait already it is refused at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from assay import wiring
from assay.access import Grant, Policy, StoredTokens, Tokens
from assay.clock import Clock
from assay.gateway.rates import Failures
from assay.records import Scope
from assay.server.crews import Crew
from assay.server.live import LiveQuestions
from assay.server.metrics import ServerMetrics
from assay.server.peers import Peers
from assay.server.streaming import EventStreams

if TYPE_CHECKING:
    from starlette.requests import Request

    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.settings import Settings

GRANT = "assay.grant"
"""Where the guard leaves the caller's grant in the request's scope."""
SIGNED_IN = "assay.signed_in"
"""Where it leaves whether the caller is a browser that signed in, and can sign out."""
REQUEST_ID = "assay.request_id"
"""Where it leaves the request's own id."""
THREADS = 2
"""Short calls worked on at once. Python does one thing at a time: more would wait for each other in no order, and each
keeps memory of its own."""
PAGES = 2
"""The same of pages for people."""
LONG = 4
"""The same of calls that take seconds."""
WAITING = 256
"""Calls that may wait for a thread."""

T = TypeVar("T")


class Lane(StrEnum):
    """Calls that may keep each other waiting, and nobody else."""

    SHORT = "short"
    PAGES = "pages"
    LONG = "long"

    @classmethod
    def of(cls, policy: Policy) -> Lane:
        """The lane of a route of the API."""
        return cls.LONG if policy.takes_long else cls.SHORT


class Services:
    """A memory in the service of HTTP clients."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        *,
        threads: int = THREADS,
        waiting: int = WAITING,
        peers: Peers | None = None,
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.tokens = Tokens(engine.store, engine.clock)
        self.sign_ins = wiring.sign_ins_of(settings, engine.store, engine.clock)
        self.metrics = ServerMetrics()
        self.failures = Failures(engine.clock)
        """Tokens that opened nothing, in a header, a cookie or the login form."""
        self.live = LiveQuestions(engine.store.ids, peers)
        self.streams = EventStreams()
        """The event streams that are open."""
        self.under_way: dict[str, str] = {}
        """Requests being answered: method and route by the request's id."""
        self.interrupted: list[tuple[str, str]] = []
        """Requests that the end of the server cut off."""
        self.alongside: list[Callable[[], AbstractAsyncContextManager[Any]]] = []
        """What lasts as long as the server does, such as another protocol that it serves."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._lanes = {
            Lane.SHORT: Crew(threads, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.PAGES: Crew(PAGES, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.LONG: Crew(LONG, waiting, cpu_s=settings.server_long_request_cpu_s),
        }

    @property
    def clock(self) -> Clock:
        """The engine's."""
        return self.engine.clock

    @property
    def own_scope(self) -> Scope:
        """The settings' own: of whoever runs the server."""
        return wiring.scope_of(self.settings)

    def shelf(self, scope: Scope) -> Shelf:
        """The runs, datasets and labels that a caller may see: there is no other way to them."""
        return wiring.shelf_of(self.settings, self.engine, scope)

    @cached_property
    def stored_tokens(self) -> StoredTokens:
        """Knows the tokens that the store keeps."""
        return StoredTokens(self.engine.store, self.engine.clock)

    def cut_off(self, request_id: str) -> None:
        """Remember that a request was not answered to its end."""
        self.interrupted.append((request_id, self.under_way.get(request_id, "")))

    def keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin work that goes on to its end even when whoever asked for it has gone."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, deadline_s: float) -> int:
        """Wait for work that goes on by itself; how much of it did not end in time."""
        if not self._tasks:
            return 0
        _, left = await asyncio.wait(set(self._tasks), timeout=deadline_s)
        return len(left)

    async def run(self, work: Callable[[], T], lane: Lane = Lane.SHORT) -> T:
        """Do something off the event loop."""
        return await self._lanes[lane].run(work)

    async def run_long(self, work: Callable[[], T]) -> T:
        """Do something that takes seconds off the event loop."""
        return await self.run(work, Lane.LONG)


def services_of(request: Request) -> Services:
    """What a request is served with."""
    found: Services = request.app.state.services
    return found


def grant_of(request: Request) -> Grant:
    """What the caller may do."""
    found: Grant = request.scope[GRANT]
    return found


def scope_of(request: Request) -> Scope:
    """Whose rows the caller sees."""
    return grant_of(request).scope
