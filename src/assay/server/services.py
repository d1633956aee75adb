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
from assay.cpu_budget import CpuBudget, apply_budget
from assay.errors import ServerBusy
from assay.gateway.quotas import SharedCounts, TokenFailures
from assay.records import Scope
from assay.server.live_runs import LiveRuns
from assay.server.shared_questions import SharedQuestions
from assay.server.streaming import EventStreams, LiveQuestions, Peers

if TYPE_CHECKING:
    from starlette.requests import Request

    from assay.evaluation.shelf import Shelf
    from assay.memory.engine import Engine
    from assay.settings import Settings


# --- Worker threads of one lane ---
#
# A call passes from the event loop to a thread once, and its result back once; the queue between them decides the
# order. Another thread starts when all are busy, a thread ends after a while without work, and none keeps the process
# from ending.

IDLE_S = 10.0
"""Seconds without work after which a thread ends."""

CallResult = TypeVar("CallResult")


class _Call(NamedTuple):
    """A call, and the future that its caller awaits."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    context: Context
    cpu_s: float | None

    def perform(self) -> None:
        """Run the call in this thread, unless it was cancelled."""
        if self.answer.cancelled():
            return
        try:
            done = partial(_set_result, self.answer, self.context.run(self._run_limited))
        except BaseException as problem:  # noqa: BLE001 - it is raised where the result is awaited
            done = partial(_set_exception, self.answer, problem)
        # The event loop may be closed by now.
        with suppress(RuntimeError):
            self.answer.get_loop().call_soon_threadsafe(done)

    def _run_limited(self) -> Any:
        if self.cpu_s is None:
            return self.work()
        with apply_budget(CpuBudget(self.cpu_s)):
            return self.work()


class WorkerThreads:
    """A pool of at most `threads` threads, with a limit on the calls that wait for one."""

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
        """How many threads there are now."""
        return self._threads

    async def run(self, work: Callable[[], CallResult]) -> CallResult:
        """Run `work` in a thread, off the event loop; raise `ServerBusy` if too many calls wait."""
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
        """Whether a thread that got no work may end: not if a call has come just now."""
        with self._lock:
            leaves = self._calls.empty()
            self._threads -= leaves
            return leaves


def _set_result(waiting: asyncio.Future[CallResult], result: CallResult) -> None:
    if not waiting.done():
        waiting.set_result(result)


def _set_exception(waiting: asyncio.Future[Any], problem: BaseException) -> None:
    if not waiting.done():
        # A future cannot hold a StopIteration.
        waiting.set_exception(RuntimeError(repr(problem)) if isinstance(problem, StopIteration) else problem)


# --- Metrics of the server in Prometheus format ---

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServerMetrics:
    """The metrics of one server. Labels are declared paths and error codes, so their number is limited."""

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
        self.repeated = Gauge(
            "assay_repeated_searches",
            "Searches of this process that repeated one in vain: recorded, dropped, failed.",
            ("what",),
            registry=self.registry,
        )

    def write(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


# --- Services of a request ---
#
# Pages find the services at `request.app.state.services`; the caller's grant is `request.scope[GRANT]`. A call waits
# for a free thread; when too many wait already it is refused at once.

GRANT = "assay.grant"
"""Key in the request's scope: the caller's grant, set by the guard."""
SIGNED_IN = "assay.signed_in"
"""Key in the request's scope: whether the caller is a browser that signed in, and can sign out."""
REQUEST_ID = "assay.request_id"
"""Key in the request's scope: the id of the request."""
FINISH_S = 20.0
"""Seconds that work whose caller has disconnected may take after the server is stopped."""
PAGES = 2
"""Threads for pages."""
LONG = 4
"""Threads for calls that take seconds."""
WAITING = 256
"""Calls that may wait for a thread."""

T = TypeVar("T")


class Lane(StrEnum):
    """Groups of calls with threads of their own, so that one group does not delay another."""

    SHORT = "short"
    PAGES = "pages"
    LONG = "long"

    @classmethod
    def of(cls, policy: Policy) -> Lane:
        """Return the lane of a route of the API."""
        return cls.LONG if policy.takes_long else cls.SHORT


class Services:
    """What routes and pages use: the engine, tokens, worker threads, streams and metrics."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        *,
        waiting: int = WAITING,
        peers: Peers | None = None,
        finish_s: float = FINISH_S,
    ) -> None:
        self.engine = engine
        self.settings = settings
        self.tokens = Tokens(engine.store, engine.clock)
        self.sign_ins = wiring.sign_ins_of(settings, engine.store, engine.clock)
        self.metrics = ServerMetrics()
        store = engine.store
        self.counts = SharedCounts(store.take_from_limit, self.run) if store.is_shared else None
        """Where all servers count requests together; None: this one counts by itself."""
        self.failures = TokenFailures(engine.clock, self.counts)
        """Counts invalid tokens in a header, a cookie or the login form."""
        self.live = LiveQuestions(store.ids, peers, SharedQuestions(store) if store.is_shared else None)
        self.finish_s = finish_s
        """Seconds that work without a waiting caller may take after the server is stopped."""
        self.draining = False
        """Whether the server is being stopped: it answers, and asks callers to go elsewhere."""
        self.streams = EventStreams()
        """The open event streams."""
        self.under_way: dict[str, str] = {}
        """Requests being answered: method and route by the request's id."""
        self.interrupted: list[tuple[str, str]] = []
        """Requests that were not finished when the server stopped."""
        self.live_runs = LiveRuns()
        """The runs that this process works on."""
        self.alongside: list[Callable[[], AbstractAsyncContextManager[Any]]] = [self.live_runs.serving]
        """Contexts to enter while the server runs, such as another protocol that it serves."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._lanes = {
            # Python runs one thread at a time: more would compete in no defined order, and each has memory of its own.
            Lane.SHORT: WorkerThreads(settings.server_threads, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.PAGES: WorkerThreads(PAGES, waiting, cpu_s=settings.server_request_cpu_s),
            Lane.LONG: WorkerThreads(LONG, waiting, cpu_s=settings.server_long_request_cpu_s),
        }

    @property
    def clock(self) -> Clock:
        """The clock of the engine."""
        return self.engine.clock

    @property
    def own_scope(self) -> Scope:
        """The scope of the settings: the tenant and principal that run the server."""
        return wiring.scope_of(self.settings)

    def shelf(self, scope: Scope) -> Shelf:
        """Return the runs, datasets and labels that a caller may see; routes reach them only through this."""
        return wiring.shelf_of(self.settings, self.engine, scope)

    @cached_property
    def stored_tokens(self) -> StoredTokens:
        """Authenticates callers by the tokens in the store."""
        return StoredTokens(self.engine.store, self.engine.clock)

    def drain(self) -> None:
        """Turn unready: whoever distributes requests sends no more, and connections are closed after an answer."""
        self.draining = True

    def cut_off(self, request_id: str) -> None:
        """Record that a request was not answered completely."""
        self.interrupted.append((request_id, self.under_way.get(request_id, "")))

    def keep(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that runs to its end even if the caller disconnects."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def finish(self, deadline_s: float) -> int:
        """Wait for work started by `keep`; return how many pieces did not end in time."""
        if not self._tasks:
            return 0
        _, left = await asyncio.wait(set(self._tasks), timeout=deadline_s)
        return len(left)

    async def run(self, work: Callable[[], T], lane: Lane = Lane.SHORT) -> T:
        """Run `work` in a thread of a lane, off the event loop."""
        return await self._lanes[lane].run(work)

    async def run_long(self, work: Callable[[], T]) -> T:
        """Run `work` that takes seconds in a thread, off the event loop."""
        return await self.run(work, Lane.LONG)


def services_of(request: Request) -> Services:
    """Return the services of a request."""
    found: Services = request.app.state.services
    return found


def grant_of(request: Request) -> Grant:
    """Return the grant of the caller."""
    found: Grant = request.scope[GRANT]
    return found


def scope_of(request: Request) -> Scope:
    """Return the tenant and principal of the caller."""
    return grant_of(request).scope
