"""No more calls at once than a server bears: a bound on concurrency, and work done side by side within it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from assay.clock import Clock
from assay.errors import EndpointUnavailable
from assay.models.chat import ChatModel, ChatReply, ChatRequest, ModelFingerprint

Given = TypeVar("Given")
Made = TypeVar("Made")


class LimitedModel:
    """Lets so many calls through at once; the others wait, within their own deadline."""

    def __init__(self, model: ChatModel, *, most: int, clock: Clock, deadline_s: float = 60.0) -> None:
        self._model = model
        self._most = most
        self._places = threading.BoundedSemaphore(most)
        self._clock = clock
        self._deadline_s = deadline_s

    @property
    def name(self) -> str:
        """The model as the settings name it."""
        return self._model.name

    def fingerprint(self) -> ModelFingerprint:
        """That of the model inside."""
        return self._model.fingerprint()

    def complete(self, request: ChatRequest) -> ChatReply:
        """Wait for a place, then ask with the time that is left."""
        allowed = request.deadline_s or self._deadline_s
        began = self._clock.monotonic()
        if not self._places.acquire(timeout=allowed):
            raise EndpointUnavailable(
                f"none of the {self._most} places at {self.name} became free within {allowed:g} s",
                remedy="Ask less at once, or raise model.concurrency.",
            )
        try:
            left = max(allowed - (self._clock.monotonic() - began), 0.001)
            return self._model.complete(replace(request, deadline_s=left))
        finally:
            self._places.release()


def side_by_side(work: Callable[[Given], Made], items: Iterable[Given], *, threads: int) -> Iterator[Made]:
    """Do the work for each item, `threads` at a time; results in the order of the items.

    Items are drawn as places become free. What one raises ends it: no further item is drawn, and none is waited for.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="assay-model")
    waiting: list[Future[Made]] = []
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= threads:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
