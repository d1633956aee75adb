"""Preparing batches ahead: while the caller writes one, the next ones are prepared on other threads.

Worth it where preparing is waiting for others, as for workers that embed: without it they have nothing to do while
this process writes. Preparing has two steps. The first is taken while workers are busy with batches before it, and two
batches are at their second step at once, so that workers go from the end of one straight to the beginning of the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

Batch = TypeVar("Batch")
Begun = TypeVar("Begun")
Ready = TypeVar("Ready")

AT_ONCE = 2
"""Batches at their second step."""


class Earlier(NamedTuple, Generic[Begun, Ready]):
    """A batch before the one at hand that may not be written yet."""

    begun: Begun
    ready: Callable[[], Ready]
    """Waits until it is prepared, and raises what preparing it raised."""


Begin = Callable[[Batch], Begun]
"""The first step, in this process: another batch may be at its second step meanwhile."""
Finish = Callable[[Begun, "Sequence[Earlier[Begun, Ready]]"], Ready]
"""The second step; beside it gets the batches before it that may not be written yet."""


def prepare_in_turn(
    batches: Iterable[Batch], begin: Begin[Batch, Begun], finish: Finish[Begun, Ready]
) -> Generator[Ready]:
    """Prepare each batch when the one before it is done with."""
    for batch in batches:
        # The batches before it are written by now, so there is none to know of.
        yield finish(begin(batch), ())


class _Underway(NamedTuple, Generic[Begun, Ready]):
    begun: Future[Begun]
    ready: Future[Ready]


def prepare_ahead(
    batches: Iterable[Batch], begin: Begin[Batch, Begun], finish: Finish[Begun, Ready]
) -> Generator[Ready]:
    """Prepare batches while the caller works on the ones before them.

    First steps are made in the order of the batches, which are taken from the iterable in the caller's thread. What
    preparing a batch raises is raised when its turn comes, after the caller is done with the batches before it. Whoever
    stops early waits for what is being prepared.
    """

    def finish_next(begun: Future[Begun], before: Sequence[_Underway[Begun, Ready]]) -> Ready:
        return finish(begun.result(), [Earlier(one.begun.result(), one.ready.result) for one in before])

    underway: deque[_Underway[Begun, Ready]] = deque()
    first = ThreadPoolExecutor(1, thread_name_prefix="assay-check")
    second = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="assay-prepare")
    try:
        for batch in batches:
            begun = first.submit(begin, batch)
            underway.append(_Underway(begun, second.submit(finish_next, begun, tuple(underway))))
            if len(underway) > AT_ONCE:
                yield underway.popleft().ready.result()
        while underway:
            yield underway.popleft().ready.result()
    finally:
        # What has not begun is not begun; second steps wait for first ones, so those end first.
        second.shutdown(wait=False, cancel_futures=True)
        first.shutdown()
        second.shutdown()
