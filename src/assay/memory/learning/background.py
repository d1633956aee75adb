"""Catching up in the background: whoever records an event does not wait for what is learned from it.

One thread, begun by the first event. Many events of one tenant while it works are one more look afterwards. What
fails is kept and shown by nobody's search: the events are in the store, and the next look begins where the last ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from assay.records import Scope

GATHER_S = 0.5
"""Events that come within this time are looked at together."""


class Background:
    """Calls `act` for every scope that was woken."""

    def __init__(self, act: Callable[[Scope], object]) -> None:
        self._act = act
        self._waiting: dict[str, Scope] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """What went wrong last."""

    def wake(self, scope: Scope) -> None:
        """There is something to look at."""
        with self._lock:
            if self._stopped.is_set():
                return
            self._waiting[scope.tenant] = scope
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="assay-learning", daemon=True)
                self._thread.start()
        self._woken.set()

    def close(self) -> None:
        """Look at what still waits, and end."""
        with self._lock:
            self._stopped.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            self._stopped.wait(GATHER_S)
            while (scope := self._next()) is not None:
                try:
                    self._act(scope)
                except Exception as problem:  # noqa: BLE001 - the thread outlives whatever a look meets
                    self.problem = f"{type(problem).__name__}: {problem}"
            if self._stopped.is_set():
                return

    def _next(self) -> Scope | None:
        with self._lock:
            return self._waiting.popitem()[1] if self._waiting else None
