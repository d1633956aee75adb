"""Real workers: processes of this machine and of Dask. The numbers are those of one thread, whatever dies meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from distributed import get_worker
from reliability.crew import wait_until
from reliability.dask_processes import Cluster
from tests.work.stub import DEADLY, HERE, SPEC, make_dataset

from assay.errors import BadValue, ClusterFailed, MissingExtra
from assay.evaluation.results import RunResult
from assay.evaluation.running.files import RunFolder, list_runs
from assay.evaluation.running.planning import Budget, RunOptions
from assay.evaluation.running.runner import OnCase, Running, run
from assay.records.datasets import Dataset
from assay.records.evaluations import CaseStatus
from assay.wiring.executors import open_worker_system
from assay.work import dask_cluster
from assay.work.dask_cluster import ClusterName, open_cluster, read_cluster
from assay.work.dispatch import DispatchRules
from assay.work.jobs import Executor, LocalExecutor
from assay.work.processes import open_processes

OPTIONS = RunOptions(repeats=2, timeout_s=30.0)


def ask(
    dataset: Dataset,
    executor: Executor,
    spec: str = SPEC,
    *,
    runs: Path | None = None,
    resume: Path | None = None,
    on_case: OnCase | None = None,
    budget: Budget | None = None,
) -> RunResult:
    """A run of the stub system."""
    opener = partial(open_worker_system, spec, str(HERE))
    running = Running(runs=runs, resume=resume, executor=executor, open_remote=opener, on_case=on_case)
    running = running if budget is None else replace(running, budget=budget)
    with closing(opener(dataset)) as system:
        return run(dataset, system, OPTIONS, running)


def at(count: int, act: Callable[[], None]) -> OnCase:
    """Do something once, when so many cases are done."""
    done = threading.Event()

    def on_case(number: int, of: int, _: object) -> None:
        if number >= count and not done.is_set():
            done.set()
            act()

    return on_case


def same(one: RunResult, other: RunResult) -> bool:
    """Whether two runs have the same results and the same fingerprints."""
    return (one.result_hash, one.manifest.instrument_hash, one.manifest.subject_hash) == (
        other.result_hash,
        other.manifest.instrument_hash,
        other.manifest.subject_hash,
    )


def lines_of(folder: Path) -> Counter[tuple[str, int]]:
    return Counter((case.case_id, case.repeat) for case in RunFolder(folder).read_cases())


@pytest.mark.slow
def test_a_cluster_gives_the_same_numbers_while_a_worker_and_the_scheduler_die(tmp_path: Path) -> None:
    dataset = make_dataset(150, query="sleep")
    alone = ask(dataset, LocalExecutor(), DEADLY)
    with Cluster(2) as cluster:
        with closing(open_cluster(cluster.address)) as executor:
            killed = ask(dataset, executor, DEADLY, runs=tmp_path, on_case=at(60, cluster.kill_worker))
            assert same(killed, alone)
            assert sum(worker.done for worker in executor.workers()) == 300
            with pytest.raises(ClusterFailed, match="does not answer"):
                ask(dataset, executor, DEADLY, runs=tmp_path, on_case=at(60, cluster.kill_scheduler))
        folder = list_runs(tmp_path)[-1]
        kept = lines_of(folder)
        assert 60 <= len(kept) < 300
    resumed = ask(dataset, LocalExecutor(), DEADLY, resume=folder)
    assert same(resumed, alone)
    for run_folder in list_runs(tmp_path):
        assert set(lines_of(run_folder).values()) == {1}
        assert len(lines_of(run_folder)) == 300


def test_processes_give_the_same_numbers_and_outlive_one_that_dies(tmp_path: Path) -> None:
    dataset = make_dataset(100, query="sleep")
    alone = ask(dataset, LocalExecutor(), DEADLY)
    with closing(open_processes(2)) as executor:
        victims = executor.crew._members  # type: ignore[attr-defined] # the test ends one behind its back

        def kill() -> None:
            os.kill(next(iter(victims.values())).process.pid, signal.SIGKILL)

        assert same(ask(dataset, executor, DEADLY, runs=tmp_path, on_case=at(40, kill)), alone)
        assert sum(worker.lost for worker in executor.workers()) > 0
    assert set(lines_of(list_runs(tmp_path)[0]).values()) == {1}


@pytest.mark.slow
def test_a_case_that_kills_every_process_is_a_failure_and_the_others_are_not() -> None:
    dataset = make_dataset(12)
    cases = tuple(replace(case, query=f"kill {case.id}") if case.id == "q5" else case for case in dataset.cases)
    with closing(open_processes(2, rules=DispatchRules(tries=2))) as executor:
        result = ask(replace(dataset, cases=cases), executor, DEADLY)
    failed = [case for case in result.cases if case.status is CaseStatus.ERROR]
    assert {case.case_id for case in failed} == {"q5"}
    assert len(failed) == 2
    assert "lost with its worker 2 times" in failed[0].error
    assert result.counts[CaseStatus.OK] == 22


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_numbers(workers: int, tmp_path: Path) -> None:
    dataset = make_dataset(400)
    alone = ask(dataset, LocalExecutor())
    with Cluster(workers, threads=2) as cluster, closing(open_cluster(cluster.address)) as executor:
        assert same(ask(dataset, executor, runs=tmp_path), alone)
    with closing(open_cluster(f"local:{workers}")) as executor:
        assert same(ask(dataset, executor, runs=tmp_path), alone)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["here", "by the commands of Dask"])
def test_workers_do_not_look_into_themselves_all_the_time(made: str) -> None:
    with contextlib.ExitStack() as stack:
        cluster = "local:1" if made == "here" else stack.enter_context(Cluster(1)).address
        crew, close = dask_cluster.connect(cluster)
        stack.callback(close)
        wait_until(lambda: bool(crew.ask_scheduler()), 60.0, "a worker")
        (habits,) = crew.run_on_workers(list_habits).values()
    assert "tick" in habits
    assert "profile" not in habits
    assert habits["tick"] == pytest.approx(500.0)


def list_habits() -> dict[str, float]:
    """What the worker that runs this does again and again, and after how many milliseconds."""
    return {name: callback.callback_time for name, callback in get_worker().periodic_callbacks.items()}


@pytest.mark.slow
def test_a_worker_that_stops_is_passed_over() -> None:
    dataset = make_dataset(300, query="sleep")
    alone = ask(dataset, LocalExecutor(), DEADLY)
    with Cluster(2) as cluster:
        rules = DispatchRules(silence_s=3.0)
        with closing(open_cluster(cluster.address, rules=rules)) as executor:
            stop = at(60, lambda: cluster.workers[0].send_signal(signal.SIGSTOP))
            assert same(ask(dataset, executor, DEADLY, on_case=stop), alone)
            assert sum(worker.lost for worker in executor.workers()) > 0


@pytest.mark.slow
def test_a_worker_without_the_system_is_refused_by_name(tmp_path: Path) -> None:
    dataset = make_dataset(20)
    (tmp_path / "only_here.py").write_text("def search(query, k):\n    return ['d1']\n")
    opener = partial(open_worker_system, "python:only_here:search", str(tmp_path))
    elsewhere = partial(open_worker_system, "python:only_here:search", str(tmp_path / "gone"))
    with (
        Cluster(1) as cluster,
        closing(open_cluster(cluster.address)) as executor,
        closing(opener(dataset)) as system,
        pytest.raises(ClusterFailed, match="there is no module 'only_here'"),
    ):
        run(dataset, system, OPTIONS, Running(executor=executor, open_remote=elsewhere))


def test_what_names_a_cluster() -> None:
    assert read_cluster("tcp://127.0.0.1:8786") == ClusterName("tcp://127.0.0.1:8786")
    assert read_cluster("local:3") == ClusterName("", 3)
    for wrong in ("local:0", "local", "http://host:80", "tcp://host", "tcp://host:port", ""):
        with pytest.raises(BadValue, match="names no cluster"):
            read_cluster(wrong)


def test_without_dask_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(extra: str) -> None:
        raise MissingExtra(f"this needs the extra '{extra}'", remedy="Install it.")

    monkeypatch.setattr(dask_cluster, "need_extra", missing)
    with pytest.raises(MissingExtra, match="the extra 'distributed'"):
        open_cluster("local:2")


def test_nobody_answers_at_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.3)
    with pytest.raises(ClusterFailed, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        open_cluster("tcp://127.0.0.1:9")


def test_a_money_budget_holds_with_many_at_once() -> None:
    dataset = make_dataset(60)
    for executor in (LocalExecutor(8), open_processes(2)):
        with closing(executor):
            result = ask(dataset, executor, "python:tests.work.stub:costly", budget=Budget(money=1.0))
        spent = sum(case.cost or 0.0 for case in result.cases)
        assert spent <= 1.0 + 1e-9
        assert result.counts[CaseStatus.OK] == 10


@pytest.mark.slow
def test_a_cluster_made_here_needs_no_port_that_another_program_has() -> None:
    with socket.socket() as taken:
        # Where another program has it already, it is as well.
        with contextlib.suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            crew, close = dask_cluster.connect("local:1")
            try:
                wait_until(lambda: bool(crew.workers()), 60.0, "a worker")
            finally:
                close()
    assert [str(warning.message) for warning in told if issubclass(warning.category, UserWarning)] == []
