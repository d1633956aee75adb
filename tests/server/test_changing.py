"""List, update, forget and restore say the same through Python, the command line, HTTP, the client and MCP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.telling import Run, runner
from tests.server.serving import OWN, bearer, reaching, served, services_at

import assay
from assay.access import Grant
from assay.errors import NotAllowed, RecordNotFound
from assay.mcp.server import Host
from assay.mcp.tools import BY_NAME, Calling
from assay.memory.engine import Engine
from assay.records import Draft, ForgottenMemory, MemoryFilter, MemoryStatus, Scope, SearchRequest
from assay.records.access import Access
from assay.server.services import Services

TEA = "The green tea is kept in the left cupboard of the small kitchen, behind the cups."
SUGAR = "Sugar is bought in bags of five kilograms from the mill at the river."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    monkeypatch.setenv("ASSAY_DB", str(tmp_path / "notes.db"))
    return tmp_path


@pytest.fixture
def services(folder: Path) -> Iterator[Services]:
    with services_at(folder, configured=True) as found:
        yield found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def keep(engine: Engine, title: str, body: str, scope: Scope = OWN, **more: Any) -> str:
    saved = engine.saver.save(scope, Draft(title=title, body=body, **more), gated=False).memory_id
    assert saved is not None
    return saved


def call(services: Services, name: str, given: dict[str, Any], scope: Scope = OWN) -> Any:
    """What a tool of the MCP server gives to an agent."""
    host = Host(services.engine, services.settings)
    calling = Calling(
        engine=host.engine,
        settings=host.settings,
        grant=Grant(scope, Access.ADMIN),
        read_only=False,
        progress=lambda *_: None,
    )
    tool = BY_NAME[name]
    return tool.call(calling, tool.read(given))


def hits(services: Services, query: str) -> set[str]:
    return {one.memory_id for one in services.engine.searcher.search(OWN, SearchRequest(query=query)).hits}


def test_a_list_is_the_same_everywhere(services: Services, run: Run) -> None:
    tea = keep(services.engine, "Tea", TEA, tags=("kitchen",), folder="house")
    sugar = keep(services.engine, "Sugar", SUGAR, tags=("kitchen", "shop"))
    services.engine.saver.forget(OWN, tea)
    ids, counts = [sugar, tea], {"current": 1, "forgotten": 1}
    python = assay.Memory(services.settings.db, embedder="none")
    with python, reaching(services) as http, served(services, local=False) as address:
        page = python.list()
        assert ([line.memory_id for line in page.memories], dict(page.by_status), page.total) == (ids, counts, 2)
        told = http.get("/api/memory").json()
        assert ([one["memory_id"] for one in told["memories"]], told["by_status"], told["total"]) == (ids, counts, 2)
        assert [one["status"] for one in told["memories"]] == ["current", "forgotten"]
        client = assay.Client(address, services.tokens.create(OWN, "c", Access.READ).text)
        assert [line.memory_id for line in client.memories(tags=["kitchen", "shop"])] == [sugar]
        listed = client.list(limit=1)
        assert ([line.memory_id for line in listed.memories], listed.total) == ([sugar], 2)
        after = client.list(limit=1, cursor=listed.next_cursor)
        assert ([line.memory_id for line in after.memories], after.next_cursor) == ([tea], None)
        mcp = call(services, "memory_list", {"status": "forgotten"})
        assert [(one.memory_id, one.status) for one in mcp.memories] == [(tea, MemoryStatus.FORGOTTEN)]
        assert http.get("/api/memory?folder=house&status=forgotten").json()["total"] == 1
        assert http.get("/api/memory?status=lost").status_code == 422
    shell = run("list", "--json").json
    assert ([one["memory_id"] for one in shell["memories"]], shell["by_status"], shell["total"]) == (ids, counts, 2)
    shown = run("list", "--tag", "kitchen", "--limit", "1")
    assert "2 memories: 1 current, 1 forgotten" in shown.out
    cursor = run("list", "--limit", "1", "--json").json["next_cursor"]
    assert f"next page: --cursor {cursor}" in shown.out
    assert run("list", "--cursor", cursor, "--json").json["memories"][0]["memory_id"] == tea
    assert run("list", "--since", "2999-01-01").out.strip() == "0 memories"


def test_an_update_is_a_new_version_everywhere(services: Services, run: Run) -> None:
    tea = keep(services.engine, "Tea", TEA, tags=("kitchen",), folder="house", automated=True)
    mcp = call(services, "memory_update", {"memory_id": tea, "title": "Green tea"})
    assert (mcp.superseded, mcp.version) == ((tea,), 2)
    with reaching(services) as http, served(services, local=False) as address:
        second = http.post(f"/api/memory/{mcp.memory_id}/update", json={"tags": ["tea"]}).json()
        assert (second["superseded"], second["version"]) == ([mcp.memory_id], 3)
        client = assay.Client(address, services.tokens.create(OWN, "c", Access.ADMIN, person=True).text)
        third = client.update(second["memory_id"], folder="larder")
        assert (third.superseded, third.version) == ((second["memory_id"],), 4)
    with assay.Memory(services.settings.db, embedder="none") as python:
        fourth = python.update(str(third.memory_id), triggers=["green tea"])
    fifth = run("update", str(fourth.memory_id), "--text", TEA + " Rinse the pot.", "--json").json
    found = services.engine.show(OWN, fifth["memory_id"]).memory
    assert (found.title, found.tags, found.folder, found.triggers) == ("Green tea", ("tea",), "larder", ("green tea",))
    assert (found.body, found.version) == (TEA + " Rinse the pot.", 6)
    assert run("update", found.id, "--clear", "tags", "--clear", "folder").code == 0
    [last] = services.engine.list_memories(OWN, MemoryFilter(status=MemoryStatus.CURRENT)).memories
    assert (last.tags, last.folder) == ((), "")
    assert run("update", last.id).code == 3
    assert "superseded and cannot be updated" in run("update", tea, "--title", "x").err
    assert "unchanged" in run("update", last.id, "--title", "Green tea").out


def test_forgetting_and_restoring_are_the_same_everywhere(services: Services, run: Run) -> None:
    tea = keep(services.engine, "Tea", TEA, automated=True)
    keep(services.engine, "Sugar", SUGAR)
    assert tea in hits(services, "green tea")
    done = call(services, "memory_forget", {"memory_id": tea, "reason": "the user asked"})
    assert (done.memory_id, done.unchanged) == (tea, False)
    assert hits(services, "green tea") == set()
    with pytest.raises(NotAllowed, match="is forgotten"):
        call(services, "memory_load", {"memory_id": tea})
    assert call(services, "memory_restore", {"memory_id": tea}).memory_id == tea
    assert tea in hits(services, "green tea")
    with reaching(services) as http, served(services, local=False) as address:
        hidden = http.post(f"/api/memory/{tea}/forget", json={}).json()
        assert (hidden["memory_id"], hidden["forgotten_by"]) == (tea, "local")
        assert hits(services, "green tea") == set()
        assert http.get(f"/api/memory/{tea}").json()["status"] == "forgotten"
        reader = bearer(services, Access.READ)
        refused = http.get(f"/api/memory/{tea}", headers=reader)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_allowed")
        assert http.post(f"/api/memory/{tea}/restore", json={}).json()["memory_id"] == tea
        client = assay.Client(address, services.tokens.create(OWN, "c", Access.ADMIN, person=True).text)
        hidden = client.forget(tea, reversible=True)
        assert isinstance(hidden, ForgottenMemory)
        assert hidden.memory_id == tea
        assert client.restore(tea).memory_id == tea
    with assay.Memory(services.settings.db, embedder="none") as python:
        python.forget(tea, reversible=True)
        python.restore(tea)
    assert "bring it back: assay restore" in run("forget", tea, "--reversible").out
    assert "already forgotten" in run("forget", tea, "--reversible").out
    assert "forgotten" in run("show", tea).out
    assert hits(services, "green tea") == set()
    assert "no longer forgotten" in run("restore", tea).out
    assert run("forget", "--reversible").code == 3
    assert run("forget", tea, "--reversible", "--versions").code == 3
    assert tea in hits(services, "green tea")


@pytest.mark.parametrize(
    ("whose", "more"),
    [(OWN, {}), (Scope(tenant="default", principal="eve"), {"automated": True}), (OWN, {"tier": "constitutional"})],
)
def test_every_surface_refuses_a_program_in_the_same_words(
    services: Services, whose: Scope, more: dict[str, Any]
) -> None:
    tea = keep(services.engine, "Tea", TEA, scope=whose, **more)
    token = services.tokens.create(OWN, "writer", Access.WRITE)
    writer = Scope(tenant="default", principal="token:writer")
    with reaching(services, local=False) as http, served(services, local=False) as address:
        calls: tuple[tuple[str, dict[str, Any]], ...] = (("forget", {}), ("update", {"title": "Mine"}))
        for verb, given in calls:
            with pytest.raises(NotAllowed) as told:
                call(services, f"memory_{verb}", {"memory_id": tea, **given}, scope=writer)
            refused = http.post(
                f"/api/memory/{tea}/{verb}", json=given, headers={"Authorization": f"Bearer {token.text}"}
            )
            assert refused.status_code == 403
            error = refused.json()["error"]
            assert (error["message"], error["remedy"]) == (told.value.message, told.value.remedy)
            client = assay.Client(address, token.text)
            with pytest.raises(NotAllowed) as remote:
                client.forget(tea, reversible=True) if verb == "forget" else client.update(tea, **given)
            assert remote.value.message == told.value.message
    assert services.engine.show(OWN, tea).memory.status is MemoryStatus.CURRENT


def test_a_writer_manages_its_own_and_no_more(services: Services) -> None:
    headers = bearer(services, Access.WRITE)
    with reaching(services, local=False) as http:
        own = http.post("/api/memory", json={"title": "Tea", "body": TEA}, headers=headers).json()["memory_id"]
        assert http.post(f"/api/memory/{own}/update", json={"tags": ["x"]}, headers=headers).status_code == 200
        law = http.post(f"/api/memory/{own}/update", json={"tier": "constitutional"}, headers=headers)
        assert law.json()["error"]["code"] == "access_too_low"
        current = http.get("/api/memory?status=current", headers=headers).json()["memories"][0]["memory_id"]
        assert http.post(f"/api/memory/{current}/forget", json={}, headers=headers).status_code == 200
        assert http.post(f"/api/memory/{current}/restore", json={}, headers=headers).status_code == 200
        assert http.post(f"/api/memory/{own}/restore", json={}, headers=headers).status_code == 403
        assert http.delete(f"/api/memory/{current}", headers=headers).status_code == 403
        reader = bearer(services, Access.READ)
        assert http.post(f"/api/memory/{current}/forget", json={}, headers=reader).status_code == 403


def test_a_memory_of_nobody_is_not_found_anywhere(services: Services, run: Run) -> None:
    with reaching(services) as http:
        for verb in ("forget", "update", "restore"):
            assert http.post(f"/api/memory/m_0/{verb}", json={}).status_code == 404
            with pytest.raises(RecordNotFound):
                call(services, f"memory_{verb}", {"memory_id": "m_0"})
    assert run("forget", "m_0", "--reversible").code == RecordNotFound.exit_code
    assert run("update", "m_0", "--title", "x").code == RecordNotFound.exit_code
