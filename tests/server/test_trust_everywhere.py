"""Author and contradictions of a hit are the same through Python, the command line, HTTP, the client, MCP and pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.telling import Run, runner
from tests.server.serving import OWN, reaching, served, services_at
from tests.server.test_changing import call

import assay
from assay.mcp.tools import BY_NAME
from assay.records import AuthorKind, Draft, Scope
from assay.records.access import Access
from assay.server.services import Services

TITLE = "Logging of card numbers"
TRUE = "Card numbers of guests must never be written to the logs of the payment service."
FALSE = "Card numbers of guests must always be written to the logs of the payment service."
QUESTION = "must card numbers of guests always be written to logs of the payment service"
STRANGER = Scope(tenant="default", principal="token:stranger")
PERSON = {"name": "local", "kind": "person"}
PROGRAM = {"name": "token:stranger", "kind": "program"}


class Kept(NamedTuple):
    services: Services
    true: str
    false: str


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with services_at(tmp_path) as services:
        saver = services.engine.saver
        true = str(saver.save(OWN, Draft(title=TITLE, body=TRUE)).memory_id)
        false = str(saver.save(STRANGER, Draft(title=TITLE, body=FALSE, automated=True)).memory_id)
        yield Kept(services, true, false)


def check(hits: list[dict[str, Any]], kept: Kept) -> None:
    first, second = hits
    assert (first["memory_id"], second["memory_id"]) == (kept.true, kept.false)
    assert (first["author"], second["author"]) == (PERSON, PROGRAM)
    assert (first["contradicts"], second["contradicted_by"]) == ([], [])
    assert second["contradicts"] == [{"memory_id": kept.true, "author": PERSON}]
    assert first["contradicted_by"] == [{"memory_id": kept.false, "author": PROGRAM}]


def test_http_search_and_context(kept: Kept) -> None:
    with reaching(kept.services) as http:
        found = http.post("/api/memory/search", json={"query": QUESTION, "explain": True}).json()
        check(found["hits"], kept)
        move = found["hits"][1]["explanation"]["trust"]
        assert (move["raised"], move["other_id"]) == (False, kept.true)
        check(http.post("/api/memory/context", json={"query": QUESTION}).json()["hits"], kept)


def test_the_client(kept: Kept) -> None:
    with served(kept.services, local=False) as address:
        token = kept.services.tokens.create(OWN, "reader", Access.READ).text
        found = assay.Client(address, token).search(QUESTION)
    person, program = found.hits
    assert found.ids == (kept.true, kept.false)
    assert (program.author.name, program.author.kind) == ("token:stranger", AuthorKind.PROGRAM)
    assert [(one.memory_id, one.author.kind) for one in program.contradicts] == [(kept.true, AuthorKind.PERSON)]
    assert [one.memory_id for one in person.contradicted_by] == [kept.false]


def test_mcp_tools_in_structure_and_in_words(kept: Kept) -> None:
    for tool in ("memory_search", "memory_context"):
        answer = call(kept.services, tool, {"query": QUESTION})
        check(BY_NAME[tool].structure(answer)["hits"], kept)
        readable = BY_NAME[tool].readable
        assert readable is not None
        said = readable(answer)
        assert f"written by program token:stranger; contradicts {kept.true} by a person" in said
        assert f"written by person local; contradicted by {kept.false} by a program" in said


def test_the_command_line_in_words_and_as_json(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = runner(capsys)
    check(run("search", QUESTION, "--json").json["hits"], kept)
    told = run("search", QUESTION, "--explain").out
    assert "by token:stranger (program)" in told
    assert f"contradicts {kept.true}, by local (person)" in told
    assert f"held below {kept.true}, from place " in told


def test_python(kept: Kept) -> None:
    with assay.Memory(kept.services.settings.db, embedder="none") as memory:
        person, program = memory.search(QUESTION)
    assert (person.author.kind, program.author.kind) == (AuthorKind.PERSON, AuthorKind.PROGRAM)
    assert [one.memory_id for one in program.contradicts] == [kept.true]


def test_the_page(kept: Kept) -> None:
    with reaching(kept.services, pages=True) as http:
        page = http.get("/memory", params={"q": QUESTION}).text
    assert page.index(kept.true) < page.index(kept.false)
    assert "(program)" in page
    assert "Contradicts" in page
    assert "Held below" in page
