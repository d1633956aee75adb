"""Texts embedded by workers have the vectors that they have without them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest

from assay.embedding.bundled import load_bundled
from assay.embedding.spread import RemoteEmbedding, SpreadEmbedder, TextBatch
from assay.errors import ModelError, NotReady
from assay.settings import load_settings
from assay.testing import HashedEmbedder
from assay.wiring.executors import load_worker_embedder, spread_embedder
from assay.work.jobs import Job, LocalExecutor, WorkerFigures
from assay.work.processes import open_processes

TEXTS = [" ".join(["rain falls on the plain"] * (1 + number % 9)) + f" {number}" for number in range(60)]


class Backwards:
    """An executor that gives results in the opposite order, and loses what it is told to."""

    def __init__(self, lost: int | None = None) -> None:
        self.lost = lost

    def run(self, items: Iterator[Any], job: Job[Any, Any]) -> Generator[Any]:
        for item in reversed(list(items)):
            yield job.lost(item, "its workers died") if item.number == self.lost else job.perform(item)

    def workers(self) -> Sequence[WorkerFigures]:
        return ()

    def close(self) -> None:
        pass


def test_rows_are_those_of_the_embedder_itself_in_any_order() -> None:
    embedder = load_bundled(threads=1)
    done: list[int] = []
    spread = SpreadEmbedder(embedder, Backwards(), lambda: embedder)
    rows = spread.embed(TEXTS, progress=done.append)
    assert np.array_equal(rows, embedder.embed(TEXTS))
    assert sum(done) == len(TEXTS)
    assert max(done) > 1
    assert spread.model == embedder.model


def test_an_embedder_without_batches_of_its_own_is_spread_too() -> None:
    embedder = HashedEmbedder()
    assert np.array_equal(SpreadEmbedder(embedder, Backwards(), lambda: embedder).embed(TEXTS), embedder.embed(TEXTS))


def test_texts_that_no_worker_can_embed_are_an_error_and_not_zeros() -> None:
    embedder = HashedEmbedder()
    with pytest.raises(ModelError, match="no worker could embed 28 texts: its workers died"):
        SpreadEmbedder(embedder, Backwards(lost=1), lambda: embedder).embed(TEXTS)


def test_a_worker_with_another_model_is_refused() -> None:
    with pytest.raises(NotReady, match="instead of another"):
        RemoteEmbedding(load=HashedEmbedder, model="another").open()
    embedder = HashedEmbedder()
    opened = RemoteEmbedding(load=HashedEmbedder, model=embedder.model).open()
    found = opened.perform(TextBatch(3, ("rain", "sun")))
    assert found.number == 3
    assert found.rows is not None
    assert np.array_equal(found.rows, embedder.embed(["rain", "sun"]))


def test_without_workers_the_embedder_is_that_of_the_settings() -> None:
    assert spread_embedder(load_settings().settings, LocalExecutor()) is None


@pytest.mark.slow
def test_processes_embed_bit_for_bit_alike() -> None:
    alone = load_bundled(threads=1)
    with closing(open_processes(2)) as executor:
        spread = SpreadEmbedder(alone, executor, partial(load_worker_embedder, {"embedder": "minilm"}))
        for _ in range(2):
            assert np.array_equal(spread.embed(TEXTS), alone.embed(TEXTS))
