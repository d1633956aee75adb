"""Where calls run: the engine, and one bounded limiter through which all work leaves the event loop.

A call waits for a free thread; when too many wait already, it is refused at once. A caller that goes away stops its own
work at the next progress step; whatever a use-case writes in one transaction is written whole or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio import from_thread, to_thread

from assay.cpu_budget import CpuBudget, limited
from assay.errors import ServerBusy
from assay.mcp.policies import Access, Grant
from assay.mcp.tool import Calling, Progress, Tool

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.settings import Settings

THREADS = 8
"""Calls worked on at once: as many as the store keeps connections for reading."""
WAITING = 64
"""Calls that may wait for a thread."""

T = TypeVar("T")
Report = Callable[[float, float | None, str | None], Coroutine[Any, Any, None]]
"""Sends progress to the caller."""


class Host:
    """A memory in the service of clients."""

    def __init__(self, engine: Engine, settings: Settings, *, read_only: bool = False, threads: int = THREADS) -> None:
        self.engine = engine
        self.settings = settings
        self.read_only = read_only
        self._limiter = anyio.CapacityLimiter(threads)
        self._measuring = threading.Lock()

    def capped(self, grant: Grant) -> Grant:
        """What is left of a grant here: a read-only host lets nobody write."""
        return grant._replace(access=Access.READ) if self.read_only else grant

    async def run(self, work: Callable[[], T]) -> T:
        """Do something off the event loop."""
        if self._limiter.statistics().tasks_waiting >= WAITING:
            raise ServerBusy(f"{WAITING} calls are waiting already", remedy="Call again in a few seconds.")
        return await to_thread.run_sync(self._hold, work, self.settings.server_request_cpu_s, limiter=self._limiter)

    @staticmethod
    def _hold(work: Callable[[], T], cpu_s: float) -> T:
        """Do something with so much processor time at most."""
        with limited(CpuBudget(cpu_s)):
            return work()

    def perform(self, tool: Tool[Any, Any], grant: Grant, given: dict[str, Any], report: Report) -> Any:
        """One call, in a thread of the limiter."""
        arguments = tool.read(given)
        calling = Calling(
            engine=self.engine,
            settings=self.settings,
            grant=grant,
            read_only=self.capped(grant).access is Access.READ,
            progress=_progress(report),
        )
        if not tool.policy.takes_long:
            return tool.call(calling, arguments)
        return self._measure(tool, calling, arguments)

    def _measure(self, tool: Tool[Any, Any], calling: Calling, arguments: Any) -> Any:
        """One evaluation at a time: two at once would distort each other's times, and block everybody else."""
        if not self._measuring.acquire(blocking=False):
            raise ServerBusy("an evaluation is running already", remedy="Wait until it has ended.")
        try:
            with limited(CpuBudget(self.settings.server_long_request_cpu_s)):
                return tool.call(calling, arguments)
        finally:
            self._measuring.release()


def _progress(report: Report) -> Progress:
    """Tells the caller about each percent, and stops the work when the caller has gone.

    What is told only ever grows, as the protocol wants it: a second count goes on where the first one ended.
    """
    before, last, told = 0.0, 0.0, -1

    def progress(done: float, of: float | None, what: str) -> None:
        nonlocal before, last, told
        from_thread.check_cancelled()
        if done < last:
            before, told = before + last, -1
        last = done
        percent = int(done * 100 // of) if of else int(done)
        if percent != told:
            told = percent
            from_thread.run(report, before + done, None if of is None else before + of, what)

    return progress
