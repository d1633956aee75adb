"""Who works through the cases: a seam. Here, this process; elsewhere, something that spreads them over machines.

An executor draws cases when it has room for one, so that whoever hands them out can stop at any time. One thread is the
default: cases that run side by side slow each other down, and latency would measure the crowd.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

from assay.errors import BadValue
from assay.records.datasets import Case
from assay.records.evaluations import CaseResult


class Task(NamedTuple):
    """One case, to be asked once."""

    case: Case
    repeat: int


Perform = Callable[[Task], CaseResult]


class Executor(Protocol):
    """Performs tasks; results come in any order."""

    def run(self, tasks: Iterator[Task], perform: Perform) -> Generator[CaseResult]:
        """Perform what is drawn from the tasks."""
        ...


class LocalExecutor:
    """Performs tasks in this process, `threads` at a time."""

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise BadValue(f"threads {threads} is below 1", remedy="Give 1 or more.")
        self._threads = threads

    def run(self, tasks: Iterator[Task], perform: Perform) -> Generator[CaseResult]:
        """In order with one thread, as they finish with more."""
        if self._threads == 1:
            yield from map(perform, tasks)
        else:
            yield from self._side_by_side(tasks, perform)

    def _side_by_side(self, tasks: Iterator[Task], perform: Perform) -> Generator[CaseResult]:
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="assay-run")
        pending: set[Future[CaseResult]] = set()
        try:
            for task in tasks:
                pending.add(pool.submit(perform, task))
                if len(pending) >= self._threads:
                    finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (one.result() for one in finished)
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in finished)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
