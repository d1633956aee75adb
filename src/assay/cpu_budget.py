"""Processor time that one request may use, checked between its steps.

A server begins a budget around each call (`limited`); searches, saves and the store look at it between their steps
(`check`). Code that runs without one, such as the command line, is not limited. It travels in a context variable and
not as an argument, like a cancellation: what a use-case computes does not depend on it, and every step may be the last.

Only the time of the thread that began the budget counts. Once a transaction was committed the budget no longer ends
the request: the caller must get the result. A step cannot be interrupted; its length is bounded by the sizes of what
a request may send (`design/connection-limits.md`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from assay.errors import RequestTooCostly


class CpuBudget:
    """What one request may use."""

    def __init__(
        self,
        seconds: float,
        *,
        used: Callable[[], float] = time.thread_time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._used = used
        self._elapsed = elapsed
        self._began = elapsed()
        self._thread = threading.get_ident()
        self._from = used()
        self._settled = False

    def check(self, step: str) -> None:
        """Raise `RequestTooCostly` before a step, when what came before it has used up the budget."""
        # A thread never uses more of the processor than time passes, and asking for the time that passed is quicker.
        if self._settled or self._elapsed() - self._began <= self._seconds or threading.get_ident() != self._thread:
            return
        spent = self._used() - self._from
        if spent > self._seconds:
            raise RequestTooCostly(
                f"the request used {spent:.1f} s of processor time before {step}; it may use {self._seconds:g} s",
                remedy="Ask for less at a time: a shorter text, fewer results, a narrower filter.",
            )

    def settle(self) -> None:
        """Let the request end by itself from now on: something of it was committed."""
        self._settled = True


_CURRENT: ContextVar[CpuBudget | None] = ContextVar("assay_cpu_budget", default=None)


@contextmanager
def apply_budget(budget: CpuBudget) -> Iterator[None]:
    """Hold what runs inside to a budget."""
    token = _CURRENT.set(budget)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def check(step: str) -> None:
    """Raise `RequestTooCostly` before a step of a request that has used up its budget."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.check(step)


def settle() -> None:
    """Note that something of the request was committed."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.settle()
