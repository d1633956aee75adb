"""Change the model: give every chunk a vector of the configured embedder, then switch over and drop the old ones.

Vectors of two models are never compared, so until the switch a search runs without the vector channel and reports that.
Batches are embedded outside the lock and each is durable when written: a run that is started again continues where the
last one stopped. In the background one process of all that share the store does it, by a lease; when it dies, another
goes on. Two that are asked to at once write the same vectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from assay.embedding.protocol import Embedder
from assay.errors import AssayError, StoreBusy
from assay.hashing import content_hash
from assay.records import Scope
from assay.storage import HeldLease, Store, Work
from assay.storage.repositories.vectors import NumberedVector, Unembedded
from assay.text.chunking import build_embedding_text

BATCH = 128
"""Chunks between two writes."""


class ModelState(NamedTuple):
    """How far a tenant's vectors are those of one model."""

    model: str
    """The configured one."""
    active: str | None
    """The one that search compares with; None before the first vector."""
    done: int
    chunks: int

    @property
    def needed(self) -> bool:
        """Whether there is anything to do before search can use the configured model."""
        return self.active != self.model or self.done < self.chunks


Progress = Callable[[ModelState], None]


def model_state(work: Work, model: str) -> ModelState:
    """Return how far a tenant's vectors have moved to a model."""
    return ModelState(model, work.vectors.active(), work.vectors.count(model), work.memories.count_chunks())


def reembed(
    store: Store,
    scope: Scope,
    embedder: Embedder,
    *,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
    lease: HeldLease | None = None,
) -> ModelState:
    """Embed all that is missing. `stopped` is called between batches; with a `lease`, each write needs it."""
    model = embedder.model
    while not stopped():
        with store.reading(scope) as work:
            rows = work.vectors.missing(model, limit=BATCH)
        if not rows:
            return _switch(store, scope, model, lease)
        made = _embed_rows(embedder, rows)
        with store.writing(scope) as work:
            _check_lease(work, lease)
            state = _keep(work, model, made)
        if progress is not None:
            progress(state)
    with store.reading(scope) as work:
        return model_state(work, model)


def _embed_rows(embedder: Embedder, rows: Sequence[Unembedded]) -> list[NumberedVector]:
    texts = [build_embedding_text(row.title, row.heading_path, row.text) for row in rows]
    vectors = embedder.embed(texts)
    return [
        NumberedVector(row.number, content_hash(text), vector)
        for row, text, vector in zip(rows, texts, vectors, strict=True)
    ]


def _keep(work: Work, model: str, made: Sequence[NumberedVector]) -> ModelState:
    """Keep the vectors of chunks that are still there and still without one."""
    waiting = {row.number for row in work.vectors.missing(model, limit=BATCH)}
    work.vectors.put_many(model, [vector for vector in made if vector.number in waiting])
    return model_state(work, model)


def _check_lease(work: Work, lease: HeldLease | None) -> None:
    if lease is not None:
        lease.check(work)


def _switch(store: Store, scope: Scope, model: str, lease: HeldLease | None) -> ModelState:
    with store.writing(scope) as work:
        _check_lease(work, lease)
        if work.vectors.active() != model:
            old = [name for name in work.vectors.models() if name != model]
            work.vectors.activate(model)
            for name in old:
                work.vectors.remove_model(name)
            work.audit.append("vectors.switch", model, {"dropped": old})
        return model_state(work, model)


LOOK_AGAIN_S = 2.0
"""Seconds between two looks at whether the process that re-embeds has ended or died."""


def lease_of(scope: Scope) -> str:
    """Return the name of the lease of re-embedding a tenant."""
    return f"reembed:{scope.tenant}"


class BackgroundReembedding:
    """At most one thread that re-embeds; it never keeps a process alive and never raises into it.

    While another process that shares the store is at it, the thread waits for that to end, and goes on if it died.
    """

    def __init__(self, store: Store, embedder: Embedder, *, look_again_s: float = LOOK_AGAIN_S) -> None:
        self._store = store
        self._look_again_s = look_again_s
        self._embedder = embedder
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.problem: str | None = None
        """Why the last attempt ended early."""

    @property
    def running(self) -> bool:
        """Whether it is at work."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, scope: Scope) -> bool:
        """Start when there is work and no other run; return whether it started."""
        with self._store.reading(scope) as work:
            needed = model_state(work, self._embedder.model).needed
        with self._lock:
            if not needed or self.running or self._stop.is_set():
                return False
            self._thread = threading.Thread(target=self._run, args=(scope,), name="assay-reembed", daemon=True)
            self._thread.start()
            return True

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop after the batch at hand."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the work; return whether it ended in time."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return not self.running

    def _run(self, scope: Scope) -> None:
        try:
            while not self._stop.is_set() and not self._take_turn(scope):
                self._stop.wait(self._look_again_s)
            self.problem = None
        except AssayError as problem:
            self.problem = str(problem)

    def _take_turn(self, scope: Scope) -> bool:
        """Re-embed if no other process is at it; return whether nothing is left to do."""
        # A process that was slow may find that another has taken its place: it waits like everybody else then.
        with suppress(StoreBusy), self._store.leases.holding(lease_of(scope)) as lease:
            if lease is not None:
                reembed(
                    self._store,
                    scope,
                    self._embedder,
                    stopped=lambda: self._stop.is_set() or lease.lost,
                    lease=lease,
                )
        with self._store.reading(scope) as work:
            return not model_state(work, self._embedder.model).needed
