"""Executors: who works through the items of a job.

- Jobs and the protocol of executors.
- Threads of this process.

An executor draws items when it has room for one, so that whoever hands them out can stop at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from assay.errors import BadValue

# --- Jobs and the protocol of executors ---

Item = TypeVar("Item")
Result = TypeVar("Result")


class Hold(Enum):
    """What a source of items gives when it has no item yet."""

    UNTIL_A_RESULT = "until a result"
    """No item may begin before another has ended, such as where a budget must know first what that one cost."""


class OpenedJob(Protocol):
    """A job inside a worker. `perform` may be called by several threads at once."""

    def perform(self, item: Any) -> Any:
        """Perform one item."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class RemoteJob(Protocol):
    """A description of a job that can be pickled: a worker opens it once and keeps it."""

    def open(self) -> OpenedJob:
        """Open it inside a worker; an `AssayError` says why this worker cannot take part."""
        ...


@dataclass(frozen=True, kw_only=True)
class Job(Generic[Item, Result]):
    """What is to be done with each item."""

    perform: Callable[[Item], Result]
    """Performs an item in this process."""
    lost: Callable[[Item, str], Result]
    """The result of an item that no worker could finish, with the reason in a sentence."""
    remote: Callable[[], RemoteJob] | None = None
    """Describes the job for other processes; None: only this process can do it."""
    limit_s: float | None = None
    """Seconds that one item may take; None: as long as it likes."""
    what: str = "items"
    """What items are called in messages, in the plural."""
    keep: str = ""
    """A name under which workers keep the job open between calls of one executor; empty: it is closed after each."""


class Executor(Protocol):
    """Performs items; results come in any order."""

    def run(self, items: Iterator[Item | Hold], job: Job[Item, Result]) -> Generator[Result]:
        """Perform what is drawn from the items."""
        ...

    def workers(self) -> Sequence[WorkerFigures]:
        """What each worker has done so far; empty where there is no more than this process."""
        ...

    def close(self) -> None:
        """Give the workers back. Closing twice is fine."""
        ...


class WorkerFigures(NamedTuple):
    """What one worker did in a job."""

    name: str
    done: int
    """Items it finished."""
    seconds: float
    """From the beginning of its first batch to its last result, without what it took to open the job."""
    lost: int = 0
    """Items that were taken back from it."""
    problem: str = ""
    """Why it is not given any more; empty while it works."""

    @property
    def rate(self) -> float | None:
        """Items a second; None before the first result."""
        return self.done / self.seconds if self.done and self.seconds > 0.0 else None


_END = object()


def draw(items: Iterator[Item | Hold], most: int) -> tuple[list[Item], bool]:
    """Draw up to `most` items; return them, and whether there are no more."""
    drawn: list[Item] = []
    while len(drawn) < most:
        item = next(items, _END)
        if item is _END:
            return drawn, True
        if isinstance(item, Hold):
            return drawn, False
        drawn.append(cast("Item", item))
    return drawn, False


# --- Threads of this process ---
#
# One thread is the default: cases that run side by side slow each other down, and latency would measure the crowd.


@dataclass
class LocalExecutor:
    """Performs items in this process, `threads` at a time."""

    threads: int = 1
    _no_workers: tuple[WorkerFigures, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise BadValue(f"threads {self.threads} is below 1", remedy="Give 1 or more.")

    def run(self, items: Iterator[Item | Hold], job: Job[Item, Result]) -> Generator[Result]:
        """In order with one thread, as they finish with more."""
        if self.threads == 1:
            for item in items:
                if not isinstance(item, Hold):  # nothing else is at work, so there is nothing to wait for
                    yield job.perform(item)
        else:
            yield from self._side_by_side(items, job)

    def _side_by_side(self, items: Iterator[Item | Hold], job: Job[Item, Result]) -> Generator[Result]:
        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="assay-run")
        pending: set[Future[Result]] = set()
        try:
            while True:
                drawn, _ = draw(items, self.threads - len(pending))
                pending |= {pool.submit(job.perform, item) for item in drawn}
                if not pending:
                    return
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def workers(self) -> Sequence[WorkerFigures]:
        """Nobody but this process."""
        return self._no_workers

    def close(self) -> None:
        """Nothing to give back."""
