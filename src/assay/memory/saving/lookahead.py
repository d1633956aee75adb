"""Preparing one batch ahead: while the caller writes a batch, the next one is prepared on another thread.

Worth it where preparing is waiting for others, as for workers that embed: without it they have nothing to do while
this process writes. Batches come in their order, and nothing is prepared more than one ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Batch = TypeVar("Batch")
Ready = TypeVar("Ready")

Prepare = Callable[[Batch, "Ready | None"], Ready]
"""Prepares a batch; beside it gets the batch that was prepared before it, which may not be written yet."""


def prepare_in_turn(batches: Iterable[Batch], prepare: Prepare[Batch, Ready]) -> Generator[Ready]:
    """Prepare each batch when the one before it is done with."""
    for batch in batches:
        # The batch before it is written by now, so there is none to know of.
        yield prepare(batch, None)


def prepare_ahead(batches: Iterable[Batch], prepare: Prepare[Batch, Ready]) -> Generator[Ready]:
    """Prepare each batch while the caller works on the one before it.

    Batches are taken from the iterable in the caller's thread. What preparing a batch raises is raised when its turn
    comes, after the caller is done with the batches before it. Whoever stops early waits for the one being prepared.
    """
    waiting = iter(batches)
    with ThreadPoolExecutor(1, thread_name_prefix="assay-prepare") as helper:
        coming: Future[Ready] | None = None
        for batch in waiting:
            coming = helper.submit(prepare, batch, None)
            break
        while coming is not None:
            # Taken while the batch before it is still being prepared.
            following = next(waiting, None)
            ready = coming.result()
            coming = None if following is None else helper.submit(prepare, following, ready)
            yield ready
