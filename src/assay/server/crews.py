"""The threads of one lane: calls wait for them in one queue, and a thread that is done takes the next by itself.

So a call crosses from the event loop to a thread once, and its answer back once; the loop has no part in whose turn it
is. Threads are there when there is something to do: another begins when all are busy, one ends when nothing came for a
while, and none keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from assay.cpu_budget import CpuBudget, limited
from assay.errors import ServerBusy

IDLE_S = 10.0
"""A thread ends when nothing came for so long."""

T = TypeVar("T")


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
            done = partial(_answer, self.answer, self.context.run(self._limited))
        except BaseException as problem:  # noqa: BLE001 - whoever waits for it is told
            done = partial(_fail, self.answer, problem)
        # A loop that has ended takes no answers.
        with suppress(RuntimeError):
            self.answer.get_loop().call_soon_threadsafe(done)

    def _limited(self) -> Any:
        if self.cpu_s is None:
            return self.work()
        with limited(CpuBudget(self.cpu_s)):
            return self.work()


class Crew:
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

    async def run(self, work: Callable[[], T]) -> T:
        """Do something off the event loop."""
        if self._open >= self._most + self._waiting:
            raise ServerBusy(f"{self._waiting} calls are waiting already", remedy="Call again in a few seconds.")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._open += 1
        try:
            self._calls.put(_Call(work, answer, copy_context(), self._cpu_s))
            self._have_enough()
            return await answer
        finally:
            self._open -= 1

    def _have_enough(self) -> None:
        with self._lock:
            if self._threads < min(self._open, self._most):
                self._threads += 1
                threading.Thread(target=self._work, name="assay-lane", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                self._calls.get(timeout=self._idle_s).perform()
            except Empty:
                if self._leaves():
                    return

    def _leaves(self) -> bool:
        """Whether a thread that waited in vain may end: not when a call came just now."""
        with self._lock:
            leaves = self._calls.empty()
            self._threads -= leaves
            return leaves


def _answer(waiting: asyncio.Future[T], result: T) -> None:
    if not waiting.done():
        waiting.set_result(result)


def _fail(waiting: asyncio.Future[Any], problem: BaseException) -> None:
    if not waiting.done():
        # No future takes a StopIteration.
        waiting.set_exception(RuntimeError(repr(problem)) if isinstance(problem, StopIteration) else problem)
