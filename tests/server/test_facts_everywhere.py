"""A save says which facts it outdated, and a memory which of its facts hold no longer, on every surface."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.serving import OWN, reaching, served, services_at
from tests.server.test_changing import call

import assay
from assay.mcp.tools import BY_NAME
from assay.records.access import Access
from assay.server.services import Services

LIMIT = "The limit of the {} is 100 requests. Deployments of it need two approvals, and nobody deploys on Fridays."
RAISED = "The limit of the {} is now 500 requests."
STATEMENT = "The limit of the {} is 100 requests."


def test_http_client_and_mcp_tell_it_and_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    with services_at(tmp_path) as services:
        over_http(services)
        over_the_client(services)
        over_mcp(services)


def over_http(services: Services) -> None:
    with reaching(services) as http:
        old = http.post("/api/memory", json={"title": "Gateway", "body": LIMIT.format("gateway")}).json()["memory_id"]
        new = http.post("/api/memory", json={"title": "Quota", "body": RAISED.format("gateway")}).json()
        [fact] = new["outdated"]
        assert (fact["memory_id"], fact["by"]) == (old, new["memory_id"])
        assert (fact["statement"], fact["value"]) == (STATEMENT.format("gateway"), "100 requests")
        assert fact["now"] == "500 requests"
        [shown] = http.get(f"/api/memory/{old}").json()["facts"]
        assert (shown["ended_by"], shown["now"]) == (new["memory_id"], "500 requests")
    with reaching(services, pages=True) as http:
        page = http.get(f"/memory/{old}").text
        assert "Outdated in part" in page
        assert f"<q>{STATEMENT.format('gateway')}</q>" in page
        assert f'href="/memory/{new["memory_id"]}"' in page
        assert "Outdated in part" not in http.get(f"/memory/{new['memory_id']}").text


def over_the_client(services: Services) -> None:
    token = services.tokens.create(OWN, "person", Access.WRITE, person=True).text
    with served(services, local=False) as address:
        client = assay.Client(address, token)
        old = client.save(title="Proxy", body=LIMIT.format("proxy"))
        new = client.save(title="Proxy quota", body=RAISED.format("proxy"))
        assert [(fact.memory_id, fact.now) for fact in new.outdated] == [(old.memory_id, "500 requests")]
        assert [fact.ended_by for fact in client.memory(str(old.memory_id)).facts] == [new.memory_id]


def over_mcp(services: Services) -> None:
    old = call(services, "memory_save", {"title": "Mirror", "body": LIMIT.format("mirror")})
    new = call(services, "memory_save", {"title": "Mirror quota", "body": RAISED.format("mirror")})
    structured = BY_NAME["memory_save"].structure(new)
    assert [fact["memory_id"] for fact in structured["outdated"]] == [old.memory_id]
    readable = BY_NAME["memory_load"].readable
    assert readable is not None
    text = readable(call(services, "memory_load", {"memory_id": old.memory_id}))
    assert f'"{STATEMENT.format("mirror")}" Now: "500 requests" ({new.memory_id})' in text
