"""Tuning on workers gives the numbers of one process, for any number of workers and whatever becomes of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.tuning.logs import drawn
from tests.systems.sample import dataset as house
from tests.work.crews import PickledExecutor, restless_executor

from assay import wiring
from assay.errors import ClusterFailed, NotReady
from assay.evaluation.tuning import (
    FusionChoice,
    Replay,
    Space,
    gather,
    gather_on_workers,
    measure_on_workers,
    replay,
    space_of,
    tune,
)
from assay.evaluation.tuning.spread import RemoteTrails
from assay.metrics.spec import MetricSpec
from assay.wiring.executors import open_worker_system
from assay.work.jobs import Job
from assay.work.processes import open_processes

QUIET = "assay:embedder.kind=none"


def made(seed: int, *, cases: int = 12, metric: str = "ndcg@10") -> tuple[Replay, list[FusionChoice]]:
    rng = np.random.default_rng(seed)
    replayed = Replay(drawn(cases, rng, words=0.3, vectors=0.4), MetricSpec.parse(metric), level=2)
    return replayed, space_of(FusionChoice(), Space(count=24), rng)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), workers=st.integers(1, 5), cells=st.integers(200, 10_000))
def test_any_workers_replay_to_the_last_bit_alike(seed: int, workers: int, cells: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replay, "BLOCK_CELLS", cells)  # from one choice a block to all of them
        replayed, choices = made(seed)
        spread = measure_on_workers(restless_executor(seed, workers), replayed, choices)
        assert np.array_equal(spread, replayed.measure(choices))


def test_what_is_chosen_is_the_same_on_workers() -> None:
    def tuned(**more: Any) -> dict[str, object]:
        replayed, choices = made(3, cases=16)
        finding = made(3, cases=16, metric="recall@5")[0]
        return tune(replayed, choices, np.random.default_rng(5), finding=finding, may_lose=2, **more).as_json()

    executor = PickledExecutor()
    assert tuned(measure=partial(measure_on_workers, executor)) == tuned()
    assert executor.opened == ["RemoteReplay"] * 2


def test_workers_log_the_same_lists_of_every_case() -> None:
    dataset = house()
    opener = partial(open_worker_system, QUIET, str(Path.cwd()))
    executor = PickledExecutor()
    with closing(wiring.open_tunable(QUIET, dataset).system) as system:
        alone = gather(system, dataset.cases, k=10)
        spread = gather_on_workers(system, dataset, k=10, executor=executor, open_remote=opener)
        subject = dict(system.subject())
    assert spread == alone
    assert (executor.opened, executor.done) == (["RemoteTrails"], len(alone))
    with pytest.raises(NotReady, match="is another one on this worker"):
        RemoteTrails(open_system=opener, dataset=dataset, subject={**subject, "chunks": 0}, k=10).open()


def test_a_block_that_no_worker_could_finish_is_an_error_and_not_a_number() -> None:
    class Losing:
        def run(self, items: Iterator[Any], job: Job[Any, Any]) -> Generator[Any]:
            for place, item in enumerate(items):
                yield job.lost(item, "its workers died") if place == 1 else job.perform(item)

        def workers(self) -> list[Any]:
            return []

        def close(self) -> None:
            pass

    replayed, choices = made(4)
    with pytest.raises(ClusterFailed, match="no worker could finish some configurations: its workers died"):
        measure_on_workers(Losing(), replayed, choices)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_processes_replay_to_the_last_bit_alike(workers: int) -> None:
    replayed, choices = made(7, cases=60)
    with closing(open_processes(workers)) as executor:
        assert np.array_equal(measure_on_workers(executor, replayed, choices), replayed.measure(choices))
