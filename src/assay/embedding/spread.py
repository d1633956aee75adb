"""An embedder whose texts are embedded by workers: the caller cuts them into batches and puts the rows together.

- What workers do.
- Batches of several calls through one run of the executor, so that workers go on from one call to the next.
- The embedder.

Batches are those that the embedder itself would make, so that every vector is the same to the last bit as without
workers: what a model makes of a text may depend on the texts it shares a batch with.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.errors import ModelError, NotReady
from assay.work.jobs import Executor, Job

# --- What workers do ---

KEEP = "embedding"


class TextBatch(NamedTuple):
    """Texts that are embedded together."""

    number: int
    texts: tuple[str, ...]


class EmbeddedBatch(NamedTuple):
    """Their vectors, or why there are none."""

    number: int
    rows: Vectors | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class RemoteEmbedding:
    """What a worker needs to embed: how to load the model, and which it must be."""

    load: Callable[[], Embedder]
    model: str

    def open(self) -> OpenedEmbedding:
        """Load the model, and refuse another than the caller's."""
        embedder = self.load()
        if embedder.model != self.model:
            raise NotReady(
                f"this worker embeds with {embedder.model} instead of {self.model}",
                remedy="Install the same model, and start the worker with the same settings.",
            )
        return OpenedEmbedding(embedder)


class OpenedEmbedding:
    """An embedder inside a worker."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def perform(self, batch: TextBatch) -> EmbeddedBatch:
        """Embed one batch."""
        return EmbeddedBatch(batch.number, self._embedder.embed(batch.texts))

    def close(self) -> None:
        """Nothing to give back."""


# --- Batches of several calls through one run of the executor ---


class _Call:
    """One call that waits for its batches."""

    def __init__(self) -> None:
        self.found: SimpleQueue[EmbeddedBatch | BaseException] = SimpleQueue()


class _Waiting(Iterator[TextBatch]):
    """Batches that no worker has yet; it ends where there are none now, and goes on when more have come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: deque[TextBatch] = deque()

    def add(self, batches: Sequence[TextBatch]) -> None:
        """Put batches behind those that wait."""
        with self._lock:
            self._batches.extend(batches)

    def drop(self, numbers: range) -> None:
        """Forget batches that nobody waits for any more."""
        with self._lock:
            self._batches = deque(batch for batch in self._batches if batch.number not in numbers)

    def __next__(self) -> TextBatch:
        with self._lock:
            if not self._batches:
                raise StopIteration
            return self._batches.popleft()

    def __length_hint__(self) -> int:
        return len(self._batches)


class _SharedRun:
    """Performs the batches of any number of calls, each in a thread of its own, in one run of an executor.

    Where each call was a run, workers had nothing to do from the last batch of one call to the first of the next.
    """

    def __init__(self, executor: Executor, job: Callable[[], Job[TextBatch, EmbeddedBatch]]) -> None:
        self._executor = executor
        self._job = job
        self._lock = threading.Lock()
        self._waiting = _Waiting()
        self._calls: dict[int, tuple[_Call, int]] = {}
        """By number of a batch that is not done: its call, and its number there."""
        self._numbered = 0
        self._running = False

    def perform(self, texts: Sequence[tuple[str, ...]]) -> Generator[EmbeddedBatch]:
        """Embed batches of texts; results come as they are ready, numbered as the batches were given."""
        call = _Call()
        with self._lock:
            numbers = range(self._numbered, self._numbered + len(texts))
            self._numbered = numbers.stop
            self._calls |= {number: (call, place) for place, number in enumerate(numbers)}
            self._waiting.add([TextBatch(number, own) for number, own in zip(numbers, texts, strict=True)])
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="assay-embed", daemon=True).start()
        try:
            for _ in texts:
                found = call.found.get()
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            with self._lock:
                self._waiting.drop(numbers)
                for number in numbers:
                    self._calls.pop(number, None)

    def _run(self) -> None:
        """Until nobody waits for anything."""
        try:
            while self._go_on():
                with closing(self._executor.run(self._waiting, self._job())) as results:
                    for result in results:
                        if not self._deliver(result):
                            break
        except BaseException as problem:  # noqa: BLE001 - raised again by every call that waits
            self._fail(problem)

    def _go_on(self) -> bool:
        """Whether there is more to do; if not, the next call begins a new run."""
        with self._lock:
            self._running = bool(self._calls)
            return self._running

    def _deliver(self, result: EmbeddedBatch) -> bool:
        """Give a result to its call, and say whether any call waits for more."""
        with self._lock:
            call, place = self._calls.pop(result.number, (None, 0))
            if call is not None:
                call.found.put(EmbeddedBatch(place, result.rows, result.problem))
            return bool(self._calls)

    def _fail(self, problem: BaseException) -> None:
        with self._lock:
            for call in {id(call): call for call, _ in self._calls.values()}.values():
                call.found.put(problem)
            self._calls.clear()
            self._running = False


# --- The embedder ---

TEXTS_A_BATCH = 32
"""Of an embedder that makes no batches of its own."""


@runtime_checkable
class PlansBatches(Protocol):
    """An embedder that says which texts it embeds together."""

    def plan_batches(self, texts: Sequence[str]) -> list[list[int]]:
        """Positions of the texts of each batch."""
        ...


class SpreadEmbedder(AroundEmbedder):
    """Embeds on the workers of an executor; counting tokens and single texts stay in this process."""

    def __init__(self, inner: Embedder, executor: Executor, load: Callable[[], Embedder]) -> None:
        super().__init__(inner)
        self._load = load
        self._run = _SharedRun(executor, self._job)

    @property
    def embeds_elsewhere(self) -> bool:
        """Always: the workers do."""
        return True

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One row of length 1 for each text; raises `ModelError` where no worker could embed some."""
        if len(texts) <= 1:
            return self._inner.embed(texts, progress=progress)
        plan = self._plan(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        batches = [tuple(texts[place] for place in places) for places in plan]
        with closing(self._run.perform(batches)) as results:
            for batch in results:
                if batch.rows is None:
                    raise ModelError(
                        f"no worker could embed {len(plan[batch.number])} texts: {batch.problem}",
                        remedy="Look at the workers' logs and memory; what was saved before is kept.",
                    )
                rows[plan[batch.number]] = batch.rows
                if progress is not None:
                    progress(len(plan[batch.number]))
        return rows

    def _plan(self, texts: Sequence[str]) -> list[list[int]]:
        if isinstance(self._inner, PlansBatches):
            return self._inner.plan_batches(texts)
        return [
            list(range(start, min(start + TEXTS_A_BATCH, len(texts)))) for start in range(0, len(texts), TEXTS_A_BATCH)
        ]

    def _job(self) -> Job[TextBatch, EmbeddedBatch]:
        return Job(
            perform=OpenedEmbedding(self._inner).perform,
            lost=lambda batch, why: EmbeddedBatch(batch.number, None, why),
            remote=lambda: RemoteEmbedding(load=self._load, model=self.model),
            what="texts",
            keep=KEEP,
        )
