"""Health tells the quality of this memory, in the same lines on every surface, and its advice can be followed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.cli.telling import Run
from tests.mcp.serving import BOUND_S
from tests.server.serving import OWN, reaching, services_at

from assay.access import Access, Grant
from assay.mcp.server import Host, build_server
from assay.server.services import Services
from mcp import Client

STUB = "def search(query, k):\n    return ['pool-and-sauna'][:k]\n"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")


def metrics_line(run: Run, *options: str) -> tuple[str, str]:
    parts = run("health", "--json", *options).json["parts"]
    return next((part["state"], part["reason"]) for part in parts if part["name"] == "metrics")


def test_the_advice_of_health_leads_to_a_figure_of_this_memory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for place in ("kitchen", "cellar", "attic"):
        (tmp_path / "notes" / f"{place}.md").write_text(f"# {place.title()}\nThe tea of the {place} is green.\n")
    run("ingest", "notes")
    found = run("search", "tea of the cellar", "--session", "s1", "--json").json
    run("validate", found["hits"][0]["memory_id"], "--session", "s1")
    state, advice = metrics_line(run)
    assert state == "empty"
    commands = re.findall(r"`assay ([^`]+)`", advice)
    assert len(commands) == 2
    for command in commands:
        assert run(*command.split()).code == 0, command
    state, reason = metrics_line(run)
    assert (state, reason) == (
        "ok",
        "mrr@5 1.000, ndcg@10 1.000, recall@10 1.000 over 1 queries, 0 days ago (assay on mine)",
    )


def test_a_python_stub_over_another_corpus_is_not_shown_as_this_memory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "stub.py").write_text(STUB)
    run("save", "--title", "Tea", "--text", "The tea is in the left cupboard.")
    before = metrics_line(run)
    assert run("run", "hotel", "--system", "python:stub:search", "--max-cases", "5").code == 0
    assert run("run", "hotel", "--max-cases", "5").code == 0
    assert metrics_line(run) == before


def over_mcp(services: Services) -> Mapping[str, str]:
    async def talk() -> Mapping[str, str]:
        grant = Grant(OWN, Access.READ)
        with anyio.fail_after(BOUND_S):
            async with Client(build_server(Host(services.engine, services.settings), local=grant)) as client:
                answer = await client.call_tool("memory_health", {})
                return names_and_states(answer.structured_content)

    return anyio.run(talk)


def names_and_states(told: object) -> Mapping[str, str]:
    assert isinstance(told, dict)
    return {part["name"]: part["state"] for part in told["parts"]}


def test_the_lines_are_the_same_on_the_command_line_over_http_and_over_mcp(run: Run, tmp_path: Path) -> None:
    db = str(tmp_path / "notes.db")
    run("save", "--db", db, "--title", "Tea", "--text", "The tea is in the left cupboard.")
    with services_at(tmp_path, configured=True) as services:
        with reaching(services) as client:
            http = names_and_states(json.loads(client.get("/api/memory/health").text))
        mcp = over_mcp(services)
    cli = names_and_states(run("health", "--db", db, "--json").json)
    assert cli == http == mcp
    assert {"metrics", "quality proxy", "learning", "tests", "fts5", "bm25", "vector", "graph", "trigger"} <= cli.keys()
