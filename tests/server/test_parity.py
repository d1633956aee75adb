"""The same evaluation through Python, the command line, HTTP and MCP gives the same result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import runner
from tests.server.serving import OWN, reaching, services_at

import assay
from assay import wiring
from assay.access import Access, Grant
from assay.errors import NothingMeasured
from assay.evaluation.datasets.checks import GENERATED
from assay.evaluation.results import load_run
from assay.mcp.server import Host
from assay.mcp.tools import BY_NAME, Calling
from assay.records import SearchRequest
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.run_results import CaveatKind, caveats_about
from assay.settings import load_settings
from assay.testing import FixedClock

DATASET = "tiny"
METRICS = ["ndcg@10", "recall@5", "mrr"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("ASSAY_RUNS_FOLDER", str(tmp_path / "runs"))
    load = load_settings().settings
    wiring.registry_of(load).add(tiny(), origin="test", clock=FixedClock())
    return tmp_path


def tiny() -> Dataset:
    texts = [
        "Makefiles are indented with tabs.",
        "Ovens are polled every 5 s.",
        "Tabs of the browser stay open.",
        "The harbour is closed on Mondays.",
    ]
    asked = {"indent makefiles": "d0", "polling ovens": "d1", "open browser tabs": "d2", "closed mondays": "d3"}
    return Dataset(
        name=DATASET,
        version="1.0.0",
        documents=tuple(
            Document(id=f"d{number}", title=f"Note {number}", text=text) for number, text in enumerate(texts)
        ),
        cases=tuple(
            Case(id=f"c{number}", query=query, grades=(Grade(document_id=answer, grade=3),))
            for number, (query, answer) in enumerate(asked.items())
        ),
    )


def test_one_evaluation_is_one_result_on_every_surface(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = assay.evaluate(DATASET, "assay", metrics=METRICS)
    told = runner(capsys)("run", DATASET, "--metrics", ",".join(METRICS), "--json")
    [shell] = json.loads(told.out)["runs"]
    with services_at(folder, configured=True) as services, reaching(services) as client:
        http = client.post("/api/runs", json={"dataset": DATASET, "metrics": METRICS, "max_cases": 1000}).json()
        host = Host(services.engine, services.settings)
        mcp = called(host, "eval_run", {"dataset": DATASET, "metrics": METRICS, "max_cases": 1000})
        listed = client.get("/api/runs").json()["runs"]
        compared = client.get(f"/api/runs/compare?control={http['run_id']}&treatment={mcp.run_id}").json()
    hashes = {python.result_hash, shell["result_hash"], http["result_hash"], mcp.result_hash}
    assert len(hashes) == 1
    values = {name: metric["value"] for name, metric in http["metrics"].items()}
    assert values == {str(spec): one.value for spec, one in python.aggregates.items()}
    assert values == {name: metric.value for name, metric in mcp.metrics.items()}
    assert (
        len({python.manifest.instrument_hash, shell["instrument_hash"], http["instrument_hash"], mcp.instrument_hash})
        == 1
    )
    assert {mcp.run_id, http["run_id"]} <= {one["run_id"] for one in listed}
    assert {one["delta"] for one in compared["metrics"].values()} == {0.0}
    assert load_run(folder / "runs" / http["run_id"]).result_hash == http["result_hash"]


def test_runs_with_cases_left_out_are_measured_with_one_instrument(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each surface once prepared the dataset by itself, and only the command line kept what was left out."""
    whole = tiny()
    made = tuple(
        replace(case, id=f"g{number}", query=f"{case.query} then", tags=(GENERATED,))
        for number, case in enumerate(whole.cases[:2])
    )
    with_made = replace(whole, name="made", cases=(*whole.cases, *made))
    wiring.registry_of(load_settings().settings).add(with_made, origin="test", clock=FixedClock())
    call = runner(capsys)
    asked = {"dataset": "made", "metrics": METRICS, "max_cases": 1000}
    python = assay.evaluate("made", "assay", metrics=METRICS, runs=folder / "runs")
    [shell] = json.loads(call("run", "made", "--metrics", ",".join(METRICS), "--json").out)["runs"]
    with services_at(folder, configured=True) as services, reaching(services) as client:
        http = client.post("/api/runs", json=asked).json()
        mcp = called(Host(services.engine, services.settings), "eval_run", asked)
    ids = [python.run_id, shell["run_id"], http["run_id"], mcp.run_id]
    runs = [load_run(folder / "runs" / run_id) for run_id in ids]
    assert runs[0].manifest.instrument["excluded_unlabelled"] == ["g0", "g1"]
    assert [run.manifest.instrument for run in runs[1:]] == [runs[0].manifest.instrument] * 3
    # What is said of times differs from run to run: the first one may be cold.
    said = [[caveat for caveat in run.caveats if caveat.kind is not CaveatKind.LATENCY] for run in runs]
    assert said[1:] == [said[0]] * 3
    [left_out] = caveats_about(runs[0].caveats, CaveatKind.PARTIAL)
    assert left_out.count == 2
    assert left_out.sentence in [caveat["sentence"] for caveat in http["caveats"]]
    for other in ids[1:]:
        assert call("compare", ids[0], other).code == 0


def test_a_run_that_measured_nothing_is_refused_on_every_surface(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(query: str, k: int) -> list[str]:
        raise RuntimeError(f"no {k} for {query}")

    with pytest.raises(NothingMeasured, match="no case of tiny could be scored"):
        assay.evaluate(DATASET, broken, metrics=METRICS)
    (folder / "broken_system.py").write_text("def search(query, k):\n    raise RuntimeError('broken')\n")
    told = runner(capsys)("run", DATASET, "--system", "python:broken_system:search")
    assert told.code == NothingMeasured.exit_code
    assert "no case of tiny could be scored" in told.err


def called(host: Host, name: str, given: dict[str, Any]) -> Any:
    """What a tool of the MCP server gives, called as its host calls it."""
    grant = Grant(OWN, Access.ADMIN)
    calling = Calling(
        engine=host.engine, settings=host.settings, grant=grant, read_only=False, progress=lambda *_: None
    )
    tool = BY_NAME[name]
    return tool.call(calling, tool.read(given))


def test_one_search_is_one_result_on_every_surface(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = ["Makefiles are indented with tabs.", "Ovens are polled every 5 s.", "Tabs of the browser stay open."]
    with services_at(folder, configured=True) as services, reaching(services) as client:
        for number, body in enumerate(bodies):
            client.post("/api/memory", json={"title": f"Note {number}", "body": body})
        http = client.post("/api/memory/search", json={"query": "tabs"}).json()["hits"]
        host = Host(services.engine, services.settings)
        mcp = called(host, "memory_search", {"query": "tabs"}).hits
        python = services.engine.searcher.search(OWN, SearchRequest(query="tabs")).hits
    told = runner(capsys)("search", "tabs", "--json")
    shell = json.loads(told.out)["hits"]
    ids = [one["memory_id"] for one in http]
    assert ids
    assert ids == [one.memory_id for one in mcp] == [one.memory_id for one in python]
    # How old a memory is counts a little, and time went on between the three.
    scores = pytest.approx([one["score"] for one in http], rel=1e-6)
    assert [one.score for one in mcp] == scores
    assert [one.score for one in python] == scores
    assert ids == [one["memory_id"] for one in shell]
