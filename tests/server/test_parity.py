"""The same evaluation through Python, the command line, HTTP and MCP gives the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import runner
from tests.server.serving import OWN, reaching, services_at

import assay
from assay import wiring
from assay.access import Access, Grant
from assay.evaluation.results import load_run
from assay.mcp.host import Host
from assay.mcp.tool import Calling
from assay.mcp.tools import BY_NAME
from assay.records import SearchRequest
from assay.records.datasets import Case, Dataset, Document, Grade
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
    values = {one["metric"]: one["value"] for one in http["metrics"]}
    assert values == {str(spec): one.value for spec, one in python.aggregates.items()}
    assert values == {one.metric: one.value for one in mcp.metrics}
    assert {mcp.run_id, http["run_id"]} <= {one["run_id"] for one in listed}
    assert {one["delta"] for one in compared["metrics"].values()} == {0.0}
    assert load_run(folder / "runs" / http["run_id"]).result_hash == http["result_hash"]


def called(host: Host, name: str, given: dict[str, Any]) -> Any:
    """What a tool of the MCP server gives, called as its host calls it."""
    grant = Grant(OWN, Access.ADMIN)
    calling = Calling(
        engine=host.engine, settings=host.settings, scope=grant.scope, read_only=False, progress=lambda *_: None
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
