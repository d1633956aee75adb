"""Preparing batches ahead: while the caller writes one, the next one is prepared on other threads.

Worth it where preparing is waiting for others, as for workers that embed: without it they have nothing to do while
this process writes. Preparing has two steps, so that workers need not wait for the first step of the next batch
either: it is taken while they are busy with the second step of the batch before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Batch = TypeVar("Batch")
Begun = TypeVar("Begun")
Ready = TypeVar("Ready")

Begin = Callable[[Batch], Begun]
"""The first step, in this process: another batch may be at its second step meanwhile."""
Finish = Callable[[Begun, "Ready | None"], Ready]
"""The second step; beside it gets the batch that was prepared before it, which may not be written yet."""


def prepare_in_turn(
    batches: Iterable[Batch], begin: Begin[Batch, Begun], finish: Finish[Begun, Ready]
) -> Generator[Ready]:
    """Prepare each batch when the one before it is done with."""
    for batch in batches:
        # The batch before it is written by now, so there is none to know of.
        yield finish(begin(batch), None)


def prepare_ahead(
    batches: Iterable[Batch], begin: Begin[Batch, Begun], finish: Finish[Begun, Ready]
) -> Generator[Ready]:
    """Prepare each batch while the caller works on the one before it.

    Both steps keep the order of the batches, which are taken from the iterable in the caller's thread. What preparing a
    batch raises is raised when its turn comes, after the caller is done with the batches before it. Whoever stops early
    waits for what is being prepared.
    """
    waiting = iter(batches)
    with (
        ThreadPoolExecutor(1, thread_name_prefix="assay-check") as first,
        ThreadPoolExecutor(1, thread_name_prefix="assay-prepare") as second,
    ):
        for batch in waiting:
            coming = second.submit(lambda begun: finish(begun.result(), None), first.submit(begin, batch))
            break
        else:
            return
        # The next one is taken, and its first step made, while the batch before it is still being prepared.
        for following in waiting:
            begun = first.submit(begin, following)
            ready = coming.result()
            coming = second.submit(lambda begun, before: finish(begun.result(), before), begun, ready)
            yield ready
        yield coming.result()
