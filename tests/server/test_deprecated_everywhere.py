"""A deprecated memory is served last and says so through Python, the command line, HTTP, the client, MCP and pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.telling import Run, runner
from tests.server.serving import OWN, reaching, served, services_at
from tests.server.test_changing import call

import assay
from assay.mcp.tools import BY_NAME
from assay.records import Draft, Tier
from assay.records.access import Access
from assay.server.services import Services

QUESTION = "when do harbour pilots board"
OLD = "Harbour pilots board at dawn."
NEW = "Of the pilots at the harbour, a few board ships from a boat, an hour before high water."


class Kept(NamedTuple):
    services: Services
    old: str
    new: str


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with services_at(tmp_path) as services:
        saver = services.engine.saver
        old, new = (str(saver.save(OWN, Draft(title=title, body=body)).memory_id) for title, body in
                    (("Pilots", OLD), ("Boarding", NEW)))  # fmt: skip
        yield Kept(services, old, new)


def order(hits: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(hit["memory_id"], hit["tier"]) for hit in hits]


def test_every_surface_serves_it_last_and_says_so(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = runner(capsys)
    before = run("search", QUESTION, "--json").json["hits"]
    assert order(before) == [(kept.old, "normal"), (kept.new, "normal")]
    told = run("tier", kept.old, "deprecated").out
    assert told.strip() == f"{kept.old}: normal -> deprecated; undo: assay tier {kept.old} normal"
    assert "already" in run("tier", kept.old, "deprecated").out
    last = [(kept.new, "normal"), (kept.old, "deprecated")]

    found = run("search", QUESTION, "--json", "--explain").json["hits"]
    assert order(found) == last
    assert found[1]["explanation"]["served_last_from"] == 1
    words = run("search", QUESTION, "--explain").out
    assert re.search(r"Pilots  relevance 0\.\d\d  deprecated", words)
    assert "served last, from place 1: its tier is deprecated" in words

    with assay.Memory(kept.services.settings.db, embedder="none") as memory:
        assert [(hit.memory_id, hit.tier.value) for hit in memory.search(QUESTION)] == last
    with reaching(kept.services) as http:
        assert order(http.post("/api/memory/search", json={"query": QUESTION}).json()["hits"]) == last
    with served(kept.services, local=False) as address:
        token = kept.services.tokens.create(OWN, "person", Access.WRITE, person=True).text
        client = assay.Client(address, token)
        assert [(hit.memory_id, hit.tier.value) for hit in client.search(QUESTION)] == last
    for tool in ("memory_search", "memory_context"):
        answer = call(kept.services, tool, {"query": QUESTION})
        assert order(BY_NAME[tool].structure(answer)["hits"]) == last
        readable = BY_NAME[tool].readable
        assert readable is not None
        assert readable(answer).count("deprecated; written by") == 1
    with reaching(kept.services, pages=True) as http:
        page = http.get("/memory", params={"q": QUESTION}).text
    assert page.index(kept.new) < page.index(kept.old)
    assert "Served last, from place 1" in page

    with served(kept.services, local=False) as address:
        undone = assay.Client(address, token).tier(kept.old, Tier.NORMAL)
    assert (undone.tier_before, undone.tier) == (Tier.DEPRECATED, Tier.NORMAL)
    assert order(run("search", QUESTION, "--json").json["hits"]) == order(before)


def test_only_a_person_with_admin_access_makes_a_memory_constitutional(kept: Kept) -> None:
    tokens = {
        person: kept.services.tokens.create(OWN, f"t{person}", Access.ADMIN, person=person).text
        for person in (True, False)
    }
    with served(kept.services, local=False) as address:
        with pytest.raises(assay.errors.NotAllowed):
            assay.Client(address, tokens[False]).tier(kept.old, "constitutional")
        assert assay.Client(address, tokens[True]).tier(kept.old, "constitutional").tier is Tier.CONSTITUTIONAL
        with pytest.raises(assay.errors.NotAllowed):
            assay.Client(address, tokens[False]).tier(kept.old, "normal")
