"""A benchmark on workers: the capsule of one process, whatever becomes of the workers."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.referee.small import Told, options, perfect, reversed_items, small_set
from tests.work.crews import PickledExecutor, restless_executor

from assay.errors import BadValue, ClusterFailed, NotReady
from assay.referee.capsule import write_capsule
from assay.referee.contenders.contract import Contender
from assay.referee.journal import Journal
from assay.referee.running import Benchmark
from assay.referee.scoring import compute_results
from assay.referee.sets.values import MemoryItem
from assay.referee.spread import OpenedBench, RemoteBench, UserTask, run_on_workers
from assay.referee.watching import _CONNECTIONS, NetworkWatch
from assay.work.jobs import Executor, Job, WorkerFigures


class Doubled(Told):
    """A system that shows when a user was filled twice."""

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        twice = [MemoryItem(id=f"{item.id}-again", text=item.text) for item in items] if user in self.held else items
        super().fill(user, twice)


def open_named(name: str, _: Path) -> Contender:
    return Doubled(perfect) if name == "a" else Told(reversed_items)


def make_bench(users: int = 5, **more: Any) -> Benchmark:
    """The same benchmark for the caller and for workers."""
    changed = options("a", "b", repeats=2)
    return Benchmark(
        options=changed, sets=[small_set(users), small_set(2, name="other")], open_system=open_named, **more
    )


def run_capsule(folder: Path, executor: Executor | None, bench: Benchmark, *, resume: bool = False) -> bytes:
    journal = Journal(folder, bench.plan(), resume=resume)
    try:
        if executor is None:
            records = bench.run(journal)
        else:
            records = run_on_workers(bench, journal, executor, partial(make_bench, len(bench.sets[0].users)))
    finally:
        journal.close()
    write_capsule(folder / "capsule.jsonl", records, compute_results(records))
    return (folder / "capsule.jsonl").read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return run_capsule(tmp_path_factory.mktemp("alone"), None, make_bench())


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), workers=st.integers(1, 5))
def test_any_workers_give_the_capsule_of_one_process(
    seed: int, workers: int, alone: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("spread")
    assert run_capsule(folder, restless_executor(seed, workers), make_bench()) == alone


def test_a_user_is_given_to_one_worker_for_all_systems_and_told_once(tmp_path: Path, alone: bytes) -> None:
    told: list[tuple[str, str, int, int]] = []
    executor = PickledExecutor()
    assert run_capsule(tmp_path, executor, make_bench(listen=lambda *step: told.append(step))) == alone
    assert (executor.opened, executor.done) == (["RemoteBench"], 7)
    assert told[-1] == ("small", "b", 50, 50)
    assert len(told) == 14
    with closing(Journal(tmp_path, make_bench().plan(), resume=True)) as journal:
        stores = [line for line in journal.costs if line["kind"] == "store"]
    assert [(line["set"], line["system"]) for line in stores] == [
        ("small", "a"),
        ("small", "b"),
        ("other", "a"),
        ("other", "b"),
    ]


class Failing(PickledExecutor):
    """Loses its workers after some items."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def run(self, items: Iterator[Any], job: Job[Any, Any]) -> Generator[Any]:
        for place, outcome in enumerate(super().run(items, job)):
            yield outcome if place < self.after else job.lost(outcome.task, "its workers died")

    def workers(self) -> Sequence[WorkerFigures]:
        return ()


def test_a_benchmark_that_lost_its_workers_goes_on_without_them(tmp_path: Path, alone: bytes) -> None:
    with pytest.raises(ClusterFailed, match="no worker could finish the user u3 of small: its workers died"):
        run_capsule(tmp_path, Failing(after=3), make_bench())
    kept = Journal(tmp_path, make_bench().plan(), resume=True)
    kept.close()
    assert sum(line["kind"] == "asked" for line in kept.lines) == 3 * 2 * 2 * 5
    assert run_capsule(tmp_path, None, make_bench(), resume=True) == alone


def test_a_worker_with_another_benchmark_is_refused() -> None:
    with pytest.raises(NotReady, match="the benchmark differs on this worker in: sets"):
        RemoteBench(open_bench=partial(make_bench, 3), plan=make_bench().plan()).open()


def test_what_asks_a_model_stays_in_one_process(tmp_path: Path) -> None:
    bench = make_bench()
    journal = Journal(tmp_path, bench.plan(), resume=False)
    with pytest.raises(BadValue, match="these users can be worked on in this process only"):
        run_on_workers(bench, journal, restless_executor(1, 2), None)
    journal.close()


def test_a_user_whose_outcome_was_lost_is_asked_again_in_a_memory_of_its_own() -> None:
    opened = OpenedBench(make_bench())
    task = UserTask("small", "u0", (("a", (("u0-q0", 0),)),))
    first, second = opened.perform(task), opened.perform(task)
    assert [line["ranking"] for line in first.lines if line["kind"] == "asked"] == [
        line["ranking"] for line in second.lines if line["kind"] == "asked"
    ]
    assert first.stores[0].instance != second.stores[0].instance
    opened.close()


def test_connections_of_a_workers_own_threads_are_not_laid_to_a_system() -> None:
    """What Dask's threads say to their scheduler is no download of the system that is measured meanwhile."""

    def connect() -> None:
        _CONNECTIONS._hear("socket.getaddrinfo", ("scheduler.example", 8786))

    done = threading.Event()
    begin = threading.Event()

    def work() -> None:
        begin.wait(10)
        connect()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert thread.ident is not None
    with NetworkWatch(ignored=[thread.ident]) as quiet, NetworkWatch() as all_heard:
        begin.set()
        assert done.wait(10)
    thread.join()
    assert (quiet.hosts, all_heard.hosts) == (set(), {"scheduler.example"})
