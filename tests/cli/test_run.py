"""`assay run` as a person uses it: in process, through `main`, on files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.telling import Run, runner
from tests.systems.sample import dataset

from assay import Scope, open_store
from assay.evaluation.datasets import export_dataset
from assay.formats.trec import write_trec_qrels

ENGINE = '''
"""A search engine of ten lines."""
import time
TEXTS = {texts!r}
def search(query, k):
    words = set(query.split())
    return sorted(TEXTS, key=lambda one: -len(words & set(TEXTS[one].lower().split())))[:k]
def failing(query, k):
    raise RuntimeError("down")
def dear(query, k):
    return {{"results": search(query, k), "cost": 0.4}}
def slow(query, k):
    if "dogs" in query:
        time.sleep(600)
    return search(query, k)
def other(query, k):
    return ["x", "y"]
'''


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    house = dataset(floors={"recall@5": 0.8, "precision@5": 0.9, "latency p95": 60_000.0})
    export_dataset(house, tmp_path / "house.json")
    engine = ENGINE.format(texts={one.id: one.text for one in house.documents})
    (tmp_path / "ten_lines_engine.py").write_text(engine, encoding="utf-8")
    write_trec_qrels(tmp_path / "qrels", {case.id: case.labels for case in house.cases})
    yield runner(capsys)
    sys.modules.pop("ten_lines_engine", None)


def only_run(folder: Path = Path(".assay/runs")) -> Path:
    (path,) = folder.iterdir()
    return path


def test_one_table_with_intervals_floors_counts_and_what_the_set_can_see(run: Run) -> None:
    told = run("run", "house.json", "--system", "python:ten_lines_engine:search")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert lines[0].split() == ["metric", "python:ten_lines_engine:search", "[95", "%]", "floor", "status"]
    rows = {line.split("   ")[0].strip(): line for line in lines[1:14]}
    assert rows["recall@5"].split()[-3:] == [">=", "0.8", "met"]
    assert rows["precision@5"].split()[-3:] == [">=", "0.9", "missed"]
    assert rows["latency p95"].split()[-3:] == ["<=", "60000", "met"]
    assert "0 of 4" in rows["error_rate"]
    assert "4 cases of house: 4 ok." in told.out
    assert f"Written to {only_run()}" in told.out


def test_several_systems_stand_side_by_side(run: Run) -> None:
    told = run(
        "run", "house.json", "-s", "python:ten_lines_engine:search", "-s", "assay:embedder.kind=none", "-m", "mrr,p95"
    )
    assert told.code == 0, told.err
    assert told.out.splitlines()[0].split()[1::3][:2] == ["python:ten_lines_engine:search", "assay:embedder.kind=none"]
    assert len(list(Path(".assay/runs").iterdir())) == 2


def test_json_is_one_document_with_every_run(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:search", "--json", "--name", "mine", "--runs", "r")
    (one,) = told.json["runs"]
    assert one["name"] == "mine"
    assert one["folder"] == str(only_run(Path("r")))
    assert one["counts"]["ok"] == 4
    assert one["result_hash"] == json.loads((only_run(Path("r")) / "result.json").read_bytes())["result_hash"]
    assert "per_case" not in one


def test_the_rankings_measure_the_same_as_a_run_file(run: Run) -> None:
    asked = ("-s", "python:ten_lines_engine:search", "--trec", "out.trec", "--json", "-m", "ndcg@10,mrr@10")
    first = run("run", "house.json", *asked).json["runs"][0]["metrics"]
    measured = run("measure", "--qrels", "qrels", "--run", "out.trec", "-l", "2", "-m", "ndcg@10,mrr@10", "--json")
    again = run("run", "house.json", "-s", "run:out.trec", "-m", "ndcg@10,mrr@10", "--json").json["runs"][0]["metrics"]
    for metric in ("ndcg@10", "mrr@10"):
        values = {one[metric]["value"] for one in (first, measured.json["runs"][0]["metrics"], again)}
        assert len(values) == 1, metric


def test_a_system_that_fails_everywhere_scores_nothing(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:failing")
    assert told.code == 2
    assert "RuntimeError: down" in told.err
    assert only_run().is_dir()


def test_a_system_that_speaks_of_other_documents_scores_nothing(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:other")
    assert told.code == 2
    assert "make their ids the same" in told.err


def test_an_empty_dataset_is_never_a_success(run: Run, tmp_path: Path) -> None:
    export_dataset(dataset(cases=()), tmp_path / "empty.json")
    told = run("run", "empty.json", "-s", "python:ten_lines_engine:search")
    assert told.code == 2
    assert "holds no cases" in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "hous.json"), "hous.json"),
        (("run", "house.json", "-s", "asay"), "Did you mean 'assay'"),
        (("run", "house.json", "-s", "run:nowhere.trec"), "no run file"),
        (("run", "house.json", "-s", "python:ten_lines_engine:search", "-m", "ndgc@10"), "ndcg"),
        (("run", "house.json", "-s", "python:ten_lines_engine:search", "--resume", "latest"), "holds no runs"),
        (("run", "house.json", "-s", "python:ten_lines_engine:search", "--budget", "much"), "the budget 'much'"),
        (("run", "house.json", "-s", "a", "-s", "b", "--resume", "latest"), "several --system"),
    ],
)
def test_wrong_use_is_told_with_what_to_do(run: Run, arguments: tuple[str, ...], said: str) -> None:
    told = run(*arguments)
    assert told.code == 3
    assert said in told.err


def test_a_budget_stops_a_run_and_resume_goes_on(run: Run) -> None:
    first = run("run", "house.json", "-s", "python:ten_lines_engine:dear", "--budget", "1.0", "-m", "mrr")
    assert first.code == 0
    assert "2 ok, 2 skipped" in first.out
    told = run("run", "house.json", "--resume", "latest", "--json")
    assert told.code == 0, told.err
    assert told.json["runs"][0]["counts"] == {"ok": 4, "error": 0, "timeout": 0, "empty": 0, "skipped": 0}
    assert told.json["runs"][0]["manifest"]["metrics"] == ["mrr"]
    assert only_run().is_dir()


def test_what_a_run_cost_is_told(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:dear", "--budget", "1.0", "-m", "mrr")
    assert "2 of 2 cases told what they cost: 0.8 in all." in told.out + told.err
    (result,) = run("run", "house.json", "-s", "python:ten_lines_engine:dear", "--json").json["runs"]
    (cost,) = [caveat for caveat in result["caveats"] if caveat["kind"] == "cost"]
    assert cost["figures"]["cost"] == pytest.approx(1.6)


def test_a_budget_that_no_case_tells_a_cost_for_is_told_to_limit_nothing(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:search", "--budget", "1.0", "-m", "mrr")
    assert "The budget of 1 limited nothing: none of 4 cases told what it cost." in told.out + told.err


def test_a_resume_that_asks_for_something_else_is_refused(run: Run) -> None:
    run("run", "house.json", "-s", "python:ten_lines_engine:search")
    told = run("run", "house.json", "--resume", "latest", "-k", "20")
    assert told.code == 3
    assert "another k" in told.err


def test_times_alone_may_be_asked_for(run: Run) -> None:
    told = run("run", "house.json", "-s", "python:ten_lines_engine:search", "-m", "p95")
    assert told.code == 0, told.err
    assert told.out.splitlines()[1].startswith("latency p50")


def test_a_store_that_is_there_gets_a_row(run: Run) -> None:
    assert run("init", "--db", "notes.db").code == 0
    told = run("run", "house.json", "-s", "python:ten_lines_engine:search", "--db", "notes.db", "--json")
    with open_store("notes.db") as store, store.reading(Scope()) as work:
        (row,) = work.results.latest()
    assert row.run_id == told.json["runs"][0]["run_id"]
    assert row.ndcg_at_10 == told.json["runs"][0]["metrics"]["ndcg@10"]["value"]


def test_an_interrupted_run_says_how_to_go_on(run: Run, tmp_path: Path) -> None:
    arguments = ["run", "house.json", "-s", "python:ten_lines_engine:slow", "--timeout", "600"]
    child = subprocess.Popen([sys.executable, "-m", "assay", *arguments], stderr=subprocess.PIPE, text=True)
    cases = None
    while child.poll() is None and (cases is None or cases.read_bytes().count(b"\n") < 3):
        cases = next(tmp_path.glob(".assay/runs/*/cases.jsonl"), None)
        os.sched_yield()
    child.send_signal(signal.SIGINT)
    _, told = child.communicate()
    assert child.returncode == 130
    assert f"Go on with: assay run house.json --resume {only_run().name}" in told
    assert cases is not None
    assert cases.read_bytes().count(b"\n") == 3


def test_the_labelled_saves_run_like_any_dataset(run: Run) -> None:
    told = run("run", "save-scenarios", "--system", "assay:embedder.kind=static", "--sample", "0.05")
    assert told.code == 0, told.err
    assert "save_precision(decision=merge)" in told.out, "a parameter at its default is told beside the others"
    assert "recall@5" not in told.out
    told = run("run", "save-scenarios", "--system", "python:ten_lines_engine:search", "--sample", "0.05")
    assert told.code == 2
    assert "cannot save" in told.err


def test_many_reasons_are_counted_and_told_when_asked(run: Run) -> None:
    wanted = "mrr,dedup_tokens_saved,causal_chain_completeness@5,constitutional_surfacing@5,recall_any@5"
    wanted += ",expansion_impact@5,fusion_reorder_rate@5,scope_miss_rate,personalisation_lift@5,save_accuracy"
    asked = ("run", "house.json", "--system", "python:ten_lines_engine:search", "--metrics", wanted)
    told = run(*asked)
    assert "for 6 reasons: see --verbose" in told.out
    # What the system does not tell of is one line, and no row of the table.
    assert "2 metrics have no value in any case and are left out of the tables" in told.out
    assert not [line for line in told.out.splitlines() if line.startswith(("fusion_reorder_rate", "expansion_impact"))]
    assert "the query has no causal chain" not in told.out
    assert "the query has no causal chain" in run(*asked, "--verbose").out


def half_then_changed(run: Run) -> None:
    """Ask two of four cases, then give the program another way to answer."""
    run("run", "house.json", "-s", "python:ten_lines_engine:dear", "--budget", "0.8", "--name", "old")
    path = Path("ten_lines_engine.py")
    path.write_text(
        path.read_text(encoding="utf-8") + "\ndef dear(query, k):\n    return ['breakfast']\n", encoding="utf-8"
    )
    sys.modules.pop("ten_lines_engine", None)


def test_a_run_is_not_resumed_with_a_program_that_changed(run: Run) -> None:
    half_then_changed(run)
    told = run("run", "house.json", "--resume", "latest", "--json")
    assert told.code == 3
    message = told.json["error"]["message"]
    assert "was begun with another subject code.ten_lines_engine.py: sha256:" in message
    assert "Begin a new run without --resume" in told.json["error"]["remedy"]


def test_a_comparison_names_the_file_that_changed(run: Run) -> None:
    for name in ("first", "second"):
        assert run("run", "house.json", "-s", "python:ten_lines_engine:dear", "--name", name).code == 0
        half_then_changed(run)
    told = run("compare", "first", "second")
    assert "code.ten_lines_engine.py: sha256:" in told.out
    assert "nothing in the subject" not in told.out
    (found,) = run("compare", "first", "second", "--json").json["comparisons"]
    assert [one["field"] for one in found["changed"]] == ["code.ten_lines_engine.py"]


def test_a_run_that_fails_leaves_no_rankings_of_an_earlier_one(run: Run, tmp_path: Path) -> None:
    assert run("run", "house.json", "--system", "python:ten_lines_engine:search", "--trec", "run.trec").code == 0
    assert (tmp_path / "run.trec").is_file()
    assert run("run", "no-such-house", "--system", "python:ten_lines_engine:search", "--trec", "run.trec").code == 3
    assert not (tmp_path / "run.trec").exists()


def test_a_run_file_can_be_replayed_into_itself(run: Run, tmp_path: Path) -> None:
    run("run", "house.json", "--system", "python:ten_lines_engine:search", "--trec", "run.trec")
    before = (tmp_path / "run.trec").read_text(encoding="utf-8")
    assert run("run", "house.json", "--system", "run:run.trec", "--trec", "run.trec").code == 0
    assert len((tmp_path / "run.trec").read_text(encoding="utf-8").splitlines()) == len(before.splitlines())
