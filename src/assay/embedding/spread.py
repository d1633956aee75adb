"""An embedder whose texts are embedded by workers: the caller cuts them into batches and puts the rows together.

Batches are those that the embedder itself would make, so that every vector is the same to the last bit as without
workers: what a model makes of a text may depend on the texts it shares a batch with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from assay.embedding.protocol import Embedder, Progress, Vectors
from assay.embedding.wrappers import AroundEmbedder
from assay.errors import ModelError, NotReady
from assay.work.jobs import Executor, Job

TEXTS_A_BATCH = 32
"""Of an embedder that makes no batches of its own."""
KEEP = "embedding"


@runtime_checkable
class PlansBatches(Protocol):
    """An embedder that says which texts it embeds together."""

    def plan_batches(self, texts: Sequence[str]) -> list[list[int]]:
        """Positions of the texts of each batch."""
        ...


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


class SpreadEmbedder(AroundEmbedder):
    """Embeds on the workers of an executor; counting tokens and single texts stay in this process."""

    def __init__(self, inner: Embedder, executor: Executor, load: Callable[[], Embedder]) -> None:
        super().__init__(inner)
        self._executor = executor
        self._load = load

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
        # A list, whose iterator knows how many are left.
        batches = [TextBatch(number, tuple(texts[place] for place in places)) for number, places in enumerate(plan)]
        with closing(self._executor.run(iter(batches), self._job())) as results:
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
