"""Commands with --processes and --cluster: the same numbers as without, from descriptions that can be sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.telling import Run
from tests.cli.test_tuning_commands import QUIET, many, written
from tests.work.crews import PickledExecutor

from assay.cli.work import describe_rates, worker_lines
from assay.formats.trec import write_trec_qrels, write_trec_run
from assay.settings import load_settings
from assay.wiring import executors
from assay.work import dask_cluster
from assay.work.jobs import WorkerFigures


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> PickledExecutor:
    """What --processes leads to."""
    made = PickledExecutor()
    monkeypatch.setattr(executors, "open_processes", lambda count: made)
    return made


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DB", "notes.db")
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def test_a_run_gives_the_same_hash_and_tells_of_its_workers(run: Run, workers: PickledExecutor) -> None:
    Path("mine.py").write_text("def search(query, k):\n    return ['airport-shuttle', 'spa'][:k]\n", encoding="utf-8")
    asked = ("run", "hotel", "--system", "python:mine:search", "--max-cases", "12")
    alone, spread = run(*asked, "--json").json, run(*asked, "--processes", "2", "--json").json
    assert spread["runs"][0]["result_hash"] == alone["runs"][0]["result_hash"]
    assert (workers.opened, workers.done) == (["RemoteCases"], 12)
    assert "made: 24 cases, 24.0 a second" in run(*asked, "--processes", "2").out


def test_what_asks_a_model_stays_in_one_process(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings().settings
    assert executors.remote_system(settings, "assay:answer") is not None
    with_model = settings.change(model_url="http://127.0.0.1:9/v1", model_name="made")
    assert executors.remote_system(with_model, "assay:answer") is None
    assert executors.remote_system(with_model, "assay") is not None


def test_files_are_measured_alike(run: Run, workers: PickledExecutor) -> None:
    rng = np.random.default_rng(3)
    qrels = {f"q{topic}": {f"d{one}": int(rng.integers(0, 3)) for one in range(9)} for topic in range(9)}
    write_trec_qrels(Path("qrels"), qrels)
    for name in ("a.trec", "b.trec"):
        scores = {topic: {document: float(rng.random()) for document in row} for topic, row in qrels.items()}
        write_trec_run(Path(name), scores, "x")
    asked = ("measure", "--qrels", "qrels", "--run", "a.trec", "--run", "b.trec", "--json")
    assert run(*asked, "--processes", "2").json == run(*asked).json
    assert (workers.opened, workers.done) == (["RemoteMeasuring"], 2)
    Path("b.trec").write_text("", encoding="utf-8")
    told = run(*asked, "--processes", "2")
    assert told.code == 2
    assert "b.trec holds no results" in told.out


def test_built_in_judges_judge_on_workers(run: Run, workers: PickledExecutor) -> None:
    Path("answering.py").write_text(
        "def answer(query, k):\n    return {'results': ['airport-shuttle'], 'answer': 'The pool opens at seven.'}\n",
        encoding="utf-8",
    )
    assert run("run", "hotel", "--system", "python:answering:answer", "--max-cases", "6", "--json").code == 0
    alone, spread = run("judge", "run", "--json").json, run("judge", "run", "--processes", "2", "--json").json
    assert _without_times(spread) == _without_times(alone)
    assert workers.opened == ["RemoteJudge"] * 3


def _without_times(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _without_times(value) for name, value in told.items() if name not in ("took_s", "judge_time")}
    return [_without_times(value) for value in told] if isinstance(told, list) else told


def test_fusion_is_tuned_alike(run: Run, workers: PickledExecutor, tmp_path: Path) -> None:
    path = str(written(tmp_path, many()))
    asked = ("tune", "fusion", path, "-s", f"assay:{QUIET}", "-n", "20", "--json")
    assert run(*asked, "--processes", "2").json == run(*asked).json
    assert workers.opened == ["RemoteTrails", "RemoteReplay", "RemoteReplay"]


def test_thresholds_are_measured_alike(run: Run, workers: PickledExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "static")
    monkeypatch.setenv("ASSAY_SIMILARITY_RELATED", "0.5")
    asked = ("tune", "thresholds", "--json")
    assert run(*asked, "--processes", "2").json == run(*asked).json
    assert set(workers.opened) == {"RemoteEmbedding"}


def test_memory_systems_are_compared_alike(run: Run, workers: PickledExecutor) -> None:
    asked = ("bench", "memory", "-s", "bm25", "-s", "markdown-grep", "--no-times", "--json")
    alone, spread = run(*asked, "--runs", "one").json, run(*asked, "--runs", "two", "--processes", "2").json
    assert spread["seal"] == alone["seal"]
    assert spread["results"] == alone["results"]
    assert workers.opened == ["RemoteBench"]
    refused = run(*asked[:-1], "--vectors", "kept", "--processes", "2")
    assert (refused.code, "there are both --vectors and --processes" in refused.err) == (3, True)


@pytest.mark.slow
def test_simulations_give_the_same_numbers(run: Run, workers: PickledExecutor) -> None:
    short = ("simulate", "feedback", "hotel", "--rounds", "5", "--searches", "4", "--repeats", "2", "--votes", "0.5")
    assert run(*short, "--processes", "2", "--json").json == run(*short, "--json").json
    assert (workers.opened, workers.done) == (["RemoteSimulations"], 2)


def test_documents_get_the_same_vectors(
    run: Run, workers: PickledExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "static")
    (tmp_path / "docs").mkdir()
    for number in range(5):
        (tmp_path / "docs" / f"n{number}.md").write_text(f"# Note {number}\n\nWhat note {number} says of tea.\n")
    searched = {}
    for name, more in (("alone.db", ()), ("spread.db", ("--processes", "2"))):
        monkeypatch.setenv("ASSAY_DB", name)
        assert run("ingest", "docs", *more, "--json").code == 0
        hits = run("search", "tea in note 3", "--explain", "--json").json["hits"]
        searched[name] = {hit["title"]: hit["score"] for hit in hits}
    # Scores age with the clock; that vectors are equal to the last bit is held by tests/embedding/test_spread.py.
    assert searched["spread.db"] == pytest.approx(searched["alone.db"], abs=1e-6)
    assert list(searched["spread.db"]) == list(searched["alone.db"])
    assert len(searched["alone.db"]) == 5
    assert set(workers.opened) == {"RemoteEmbedding"}
    assert run("index", "reembed", "--processes", "2", "--json").json["done"] == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--cluster", "nowhere"), "'nowhere' names no cluster"),
        (("--cluster", "local:2", "--processes", "2"), "there are both --cluster and --processes"),
        (("--processes", "2", "--threads", "2"), "there are both --processes and --threads"),
        (("--processes", "0"), "processes 0 is not from 1"),
        (("--offline", "--cluster", "tcp://10.0.0.1:8786"), "tcp://10.0.0.1:8786 is not a configured address"),
    ],
)
def test_wrong_use_is_told(run: Run, given: tuple[str, ...], said: str) -> None:
    told = run("run", "hotel", *given)
    assert (told.code, said in told.err) == (3, True), told.err


def test_a_scheduler_that_does_not_answer_is_a_finding(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.3)
    told = run("doctor", "--cluster", "tcp://127.0.0.1:9", "--json")
    assert told.code == 4
    assert [(one["subject"], one["state"]) for one in told.json] == [("Scheduler", "problem")]
    assert "no scheduler answers at tcp://127.0.0.1:9" in told.json[0]["seen"]


def test_what_is_shown_of_workers() -> None:
    figures = [
        WorkerFigures("tcp://a:1", 1200, 60.0),
        WorkerFigures("tcp://b:1", 0, 0.0, 3, "it is gone"),
        WorkerFigures("tcp://c:1", 0, 0.0),
    ]
    assert describe_rates(figures) == " (2 workers: 20.0 + ? a second)"
    assert describe_rates([]) == ""
    assert list(worker_lines(figures, "cases")) == [
        "tcp://a:1: 1,200 cases, 20.0 a second",
        "tcp://b:1: 0 cases; 3 taken back; it is gone",
        "tcp://c:1: 0 cases",
    ]
