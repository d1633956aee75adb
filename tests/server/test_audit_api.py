"""The audit log over HTTP, on its page and on the command line: who sees which entries, and whether it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.cli.telling import runner
from tests.server.serving import FOREIGN, OWN, bearer, reaching, services_at
from tests.storage.homes import raw

from assay.doctor import examine
from assay.records.access import Access
from assay.server.services import Services

TAMPER = "UPDATE audit SET actor = 'nobody' WHERE tenant = 'default' AND place = 2"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with services_at(tmp_path) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, local=False, pages=True) as found:
        yield found


def test_entries_say_who_what_when_and_from_where(client: TestClient, services: Services) -> None:
    admin = bearer(services)
    made = client.post("/api/tokens", json={"name": "ci", "access": "read"}, headers=admin).json()
    [entry] = client.get(f"/api/audit?target={made['token_id']}", headers=admin).json()["entries"]
    assert (entry["actor"], entry["action"], entry["via"]) == ("token:test", "token.create", "http testclient")
    assert (entry["tenant"], entry["detail"]) == ("default", {"name": "ci", "access": "read", "person": False})


def test_filters_and_cursor_lead_through_the_log(client: TestClient, services: Services) -> None:
    admin = bearer(services)
    for number in range(5):
        client.post("/api/tokens", json={"name": f"t{number}", "access": "read"}, headers=admin)
    seen, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/api/audit?action=token.&actor=token:test&limit=2{cursor}", headers=admin).json()
        seen += [entry["detail"]["name"] for entry in page["entries"]]
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    assert seen == ["t4", "t3", "t2", "t1", "t0"]
    assert client.get("/api/audit?action=token.revoke", headers=admin).json()["entries"] == []
    assert client.get("/api/audit?since=2999-01-01T00:00:00Z", headers=admin).json()["entries"] == []
    assert client.get("/api/audit?since=yesterday", headers=admin).status_code == 422


def test_admins_see_their_tenant_and_operators_every_tenant(client: TestClient, services: Services) -> None:
    ours, theirs = bearer(services), bearer(services, scope=FOREIGN)
    operator, reader = bearer(services, Access.OPERATOR), bearer(services, Access.READ)

    def tenants(address: str, who: dict[str, str]) -> set[str]:
        return {entry["tenant"] for entry in client.get(address, headers=who).json()["entries"]}

    assert tenants("/api/audit", ours) == {"default"}
    assert tenants("/api/audit", theirs) == {"other"}
    assert tenants("/api/audit?all_tenants=true", operator) == {"default", "other"}
    for path in ("/api/audit", "/api/audit/chain"):
        assert client.get(path, headers=reader).status_code == 403
        for who in (ours, theirs):
            refused = client.get(f"{path}?all_tenants=true", headers=who)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "access_too_low")
    assert "eve" not in client.get("/evaluation/audit?all_tenants=yes", headers=ours).text
    assert "eve" in client.get("/evaluation/audit?all_tenants=yes", headers=operator).text
    assert client.get("/evaluation/audit", headers=reader).status_code == 403


def test_a_broken_chain_is_told_on_every_surface(
    client: TestClient, services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admin, run, db = bearer(services), runner(capsys), str(tmp_path / "notes.db")
    bearer(services)
    [chain] = client.get("/api/audit/chain", headers=admin).json()["chains"]
    assert (chain["is_whole"], chain["entries"], chain["broken_at"]) == (True, 3, None)
    assert "each matches the one before it" in client.get("/evaluation/audit", headers=admin).text
    whole = run("audit-log", "--db", db)
    assert (whole.code, "is whole: 3 entries" in whole.out) == (0, True)
    assert [finding.state for finding in examine(services.settings) if finding.subject == "Audit log"] == ["ok"]
    with raw(services.engine.store) as connection:
        connection.exec_driver_sql(TAMPER)
    [chain] = client.get("/api/audit/chain", headers=admin).json()["chains"]
    assert (chain["is_whole"], chain["broken_at"]) == (False, 2)
    assert "was changed" in chain["problem"]
    assert "entry 2 does not fit" in client.get("/evaluation/audit", headers=admin).text
    broken = run("audit-log", "--db", db, "--json")
    assert (broken.code, json.loads(broken.out)["chains"][0]["broken_at"]) == (4, 2)
    [finding] = [finding for finding in examine(services.settings) if finding.subject == "Audit log"]
    assert (finding.state, "entry 2" in finding.seen) == ("problem", True)


def test_the_command_line_lists_pages_and_sessions(
    services: Services, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, db = runner(capsys), str(tmp_path / "notes.db")
    run("token", "create", "--name", "ci", "--db", db)
    text = re.findall(r"assay_[\w-]{43}", run("token", "create", "--name", "web", "--db", db).out)[0]
    first = json.loads(run("audit-log", "--action", "token.", "--limit", "1", "--json", "--db", db).out)
    assert [(one["detail"]["name"], one["via"]) for one in first["entries"]] == [("web", "command line")]
    behind = first["next_cursor"]
    [second] = json.loads(run("audit-log", "--action", "token.", "--cursor", behind, "--json", "--db", db).out)[
        "entries"
    ]
    assert second["detail"]["name"] == "ci"
    assert "Nobody has signed in." in run("token", "sessions", "--db", db).out
    made = services.sign_ins.begin(text, "browser 10.0.0.7")
    assert made is not None
    [listed] = json.loads(run("token", "sessions", "--json", "--db", db).out)["sign_ins"]
    assert (listed["token_name"], listed["via"], listed["is_open"]) == ("web", "browser 10.0.0.7", True)
    assert "digest" not in listed
    assert run("token", "end", listed["session_id"], "--db", db).code == 0
    assert services.sign_ins.find(made.text) is None
    assert "ended" in run("token", "sessions", "--db", db).out
    assert run("token", "end", "ls_none", "--db", db).code == 3


def test_the_page_filters_pages_and_escapes(client: TestClient, services: Services) -> None:
    admin = bearer(services)
    with services.engine.store.writing(OWN) as work:
        for number in range(60):
            work.audit.append("test.step", f"<script>{number}</script>", {"said": "<img src=x onerror=alert(1)>"})
    page = client.get("/evaluation/audit?action=test.", headers=admin).text
    assert "<script>5" not in page
    assert "<img src=x" not in page
    assert page.count('data-name="who"') == 50
    older = re.search(r'href="(/evaluation/audit\?[^"]*before=\d+)"', page)
    assert older is not None
    assert client.get(older[1].replace("&amp;", "&"), headers=admin).text.count('data-name="who"') == 10
    assert "No entry matches" in client.get("/evaluation/audit?actor=nobody", headers=admin).text
    assert client.get("/evaluation/audit?before=x", headers=admin).status_code == 422
