"""What every route and page works with: the engine, worker threads, and the server's own metrics.

- Worker threads of one lane.
- Metrics of the server in Prometheus format.
- Services of a request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import Context, copy_context
from enum import StrEnum
from functools import cached_property, partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from assay import wiring
from assay.access import Grant, Policy, StoredTokens, Tokens
from assay.clock import Clock
from assay.cpu_budget import CpuBudget, limited
from assay.errors import ServerBusy
from assay.gateway.quotas import TokenFailures
from assay.records import Scope
from assay.server.streaming import EventStreams, LiveQuestions, Peers

if TYPE_CHECKING:
    from starlette.requests import Request

    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.settings import Settings


# --- Worker threads of one lane ---
#
# So a call crosses from the event loop to a thread once, and its answer back once; the loop has no part in whose turn
# it is. Threads are there when there is something to do: another begins when all are busy, one ends when nothing came
# for a while, and none keeps the process from ending.

IDLE_S = 10.0
"""A thread ends when nothing came for so long."""

CallResult = TypeVar("CallResult")


class _Call(NamedTuple):
    """What is to be done, and whoever waits for it."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    context: Context
    cpu_s: float | None

    def perform(self) -> None:
        """Do it in this thread, unless nobody waits any more."""
        if self.answer.cancelled():
            return
        try:
            done = partial(_set_result, self.answer, self.context.run(self._run_limited))
        except BaseException as problem:  # noqa: BLE001 - whoever waits for it is told
            done = partial(_set_exception, self.answer, problem)
        # A loop that has ended takes no answers.
        with suppress(RuntimeError):
            self.answer.get_loop().call_soon_threadsafe(done)

    def _run_limited(self) -> Any:
        if self.cpu_s is None:
            return self.work()
        with limited(CpuBudget(self.cpu_s)):
            return self.work()


class WorkerThreads:
    """So many threads at most, and so many calls that may wait for them."""

    def __init__(self, threads: int, waiting: int, *, idle_s: float = IDLE_S, cpu_s: float | None = None) -> None:
        """`cpu_s`: seconds of processor time that each call may use."""
        self._most = threads
        self._waiting = waiting
        self._idle_s = idle_s
        self._cpu_s = cpu_s
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._open = 0
        """Calls that are waiting or being worked on."""
        self._threads = 0
        self._lock = threading.Lock()

    @property
    def threads(self) -> int:
        """How many are there now."""
        return self._threads

    async def run(self, work: Callable[[], CallResult]) -> CallResult:
        """Do something off the event loop."""
        if self._open >= self._most + self._waiting:
            raise ServerBusy(f"{self._waiting} calls are waiting already", remedy="Call again in a few seconds.")
        answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
        self._open += 1
        try:
            self._calls.put(_Call(work, answer, copy_context(), self._cpu_s))
            self._start_thread_if_needed()
            return await answer
        finally:
            self._open -= 1

    def _start_thread_if_needed(self) -> None:
        with self._lock:
            if self._threads < min(self._open, self._most):
                self._threads += 1
                threading.Thread(target=self._work, name="assay-lane", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                self._calls.get(timeout=self._idle_s).perform()
            except Empty:
                if self._may_end():
                    return

    def _may_end(self) -> bool:
        """Whether a thread that waited in vain may end: not when a call came just now."""
        with self._lock:
            leaves = self._calls.empty()
            self._threads -= leaves
            return leaves


def _set_result(waiting: asyncio.Future[CallResult], result: CallResult) -> None:
    if not waiting.done():
        waiting.set_result(result)


def _set_exception(waiting: asyncio.Future[Any], problem: BaseException) -> None:
    if not waiting.done():
        # No future takes a StopIteration.
        waiting.set_exception(RuntimeError(repr(problem)) if isinstance(problem, StopIteration) else problem)


# --- Metrics of the server in Prometheus format ---

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServerMetrics:
    """One server's numbers. Labels are declared paths and codes of errors, so their number is bounded."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "assay_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "assay_request_seconds", "How long an answer took.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.refused = Counter("assay_refused", "Requests the guard refused.", ("code",), registry=self.registry)
        self.under_way = Gauge("assay_requests_under_way", "Requests being answered.", registry=self.registry)
        self.log_dropped = Gauge("assay_query_log_dropped", "Searches the log had no room for.", registry=self.registry)

        self.shadow = Gauge(
            "assay_shadow_searches",
            "Searches of this process by what became of their shadow: seen, sampled, dropped, compared, failed.",
            ("what",),
            registry=self.registry,
        )

    def write(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)


# --- Services of a request ---
#
# Pages find it at `request.app.state.services`; the caller's grant is `request.scope[GRANT]`. A call waits for a free
# thread; when too many wait already it is refused at once.

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
        self.failures = TokenFailures(engine.clock)
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
            Lane.SHORT: WorkerThreads(threads, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.PAGES: WorkerThreads(PAGES, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.LONG: WorkerThreads(LONG, waiting, cpu_s=settings.server_long_request_cpu_s),
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
