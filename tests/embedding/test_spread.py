"""Texts embedded by workers have the vectors that they have without them."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.storage.waiting import until

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Progress, Vectors
from assay.embedding.spread import RemoteEmbedding, SpreadEmbedder, TextBatch
from assay.errors import ClusterFailed, ModelError, NotReady
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


class OneAtATime:
    """An executor that is asked for one result after the other, and says how often it was begun."""

    def __init__(self) -> None:
        self.runs = 0
        self.fail = False

    def run(self, items: Iterator[Any], job: Job[Any, Any]) -> Generator[Any]:
        self.runs += 1
        while (item := next(items, None)) is not None:
            if self.fail:
                raise ClusterFailed("the scheduler is gone", remedy="Start it again.")
            yield job.perform(item)

    def workers(self) -> Sequence[WorkerFigures]:
        return ()

    def close(self) -> None:
        pass


class Held(HashedEmbedder):
    """Embeds nothing before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        assert self.go.wait(timeout=60)
        return super().embed(texts, progress=progress)


def count_waiting(spread: SpreadEmbedder, batches: int) -> None:
    """Wait until so many batches are waited for."""
    until(lambda: len(spread._run._calls) == batches)


def test_calls_side_by_side_are_one_run_and_each_gets_its_own_rows() -> None:
    executor, held, plain = OneAtATime(), Held(), HashedEmbedder()
    spread = SpreadEmbedder(held, executor, HashedEmbedder)
    first, second = TEXTS[:40], TEXTS[20:]
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(spread.embed, texts) for texts in (first, second)]
        count_waiting(spread, 4)
        held.go.set()
        rows = [one.result(timeout=60) for one in asked]
    assert executor.runs == 1
    assert np.array_equal(rows[0], plain.embed(first))
    assert np.array_equal(rows[1], plain.embed(second))
    assert np.array_equal(spread.embed(first), plain.embed(first))


def test_every_call_hears_that_the_cluster_failed_and_the_next_one_begins_anew() -> None:
    executor, held = OneAtATime(), Held()
    spread = SpreadEmbedder(held, executor, HashedEmbedder)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(spread.embed, texts) for texts in (TEXTS[:40], TEXTS[20:])]
        count_waiting(spread, 4)
        executor.fail = True
        held.go.set()
        for one in asked:
            with pytest.raises(ClusterFailed, match="the scheduler is gone"):
                one.result(timeout=60)
    executor.fail = False
    assert np.array_equal(spread.embed(TEXTS), HashedEmbedder().embed(TEXTS))


def test_what_nobody_waits_for_any_more_is_not_embedded() -> None:
    class Counted(HashedEmbedder):
        texts = 0

        def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
            self.texts += len(texts)
            return super().embed(texts, progress=progress)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    counted = Counted()
    spread = SpreadEmbedder(counted, OneAtATime(), HashedEmbedder)
    with pytest.raises(KeyboardInterrupt):
        spread.embed(TEXTS * 50, progress=stop)
    assert counted.texts < len(TEXTS) * 50
    assert np.array_equal(spread.embed(TEXTS), HashedEmbedder().embed(TEXTS))


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
