"""Every route and every tool, with no token, a revoked, expired or foreign one, and one that reaches too little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from tests.server.serving import FOREIGN, HERE, OWN, bearer, reaching, services_at

from assay.access import ACTS, Access, Policy, acts
from assay.access.policies import PUBLIC
from assay.mcp.tools import TOOLS
from assay.server.application import PUBLIC_PATHS, application, build
from assay.server.routing import act_of, policy_of, with_act
from assay.server.security.guard import RouteTable, describe_route
from assay.server.services import Services
from assay.testing import FixedClock, note


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def services(tmp_path: Path, clock: FixedClock) -> Iterator[Services]:
    with services_at(tmp_path, clock=clock) as found:
        yield found


def routes(services: Services) -> list[tuple[str, str, Policy | None]]:
    """Every route there is, page, asset and API alike: method, an address that fits, policy."""
    found = []
    for one in application(services).routes:
        told = describe_route(one)
        assert isinstance(one, Route | Mount), f"nobody knows what {one} is"
        methods = ["GET"] if isinstance(one, Mount) else sorted((one.methods or {"GET"}) - {"HEAD"})
        found += [(method, re.sub(r"\{[^}]*\}", "x", told.path) or "/", told.policy) for method in methods]
    return found


def test_every_route_names_its_policy(services: Services) -> None:
    nameless = [f"{method} {path}" for method, path, policy in routes(services) if policy is None]
    assert nameless == []


def test_every_tool_names_an_act_of_the_table() -> None:
    assert [tool.name for tool in TOOLS if ACTS.get(tool.act.name) is not tool.act] == []


def test_at_most_three_addresses_are_for_everybody(services: Services) -> None:
    public = {path for _, path, policy in routes(services) if policy is PUBLIC}
    assert public == PUBLIC_PATHS
    assert len(public) <= 3


def refusals(client: TestClient, services: Services, headers: dict[str, str]) -> dict[str, int]:
    """What a caller gets at each address that is not for everybody."""
    return {
        f"{method} {path}": client.request(method, path, headers=headers, json=None).status_code
        for method, path, policy in routes(services)
        if policy is not PUBLIC
    }


def test_nobody_comes_in_without_a_good_token(services: Services, clock: FixedClock) -> None:
    expired = bearer(services, days=1)
    clock.advance(days=2)
    revoked = bearer(services)
    services.tokens.revoke(OWN, services.tokens.all(OWN)[-1].token_id)
    wrong: list[dict[str, str]] = [
        {},
        expired,
        revoked,
        {"Authorization": "Bearer assay_" + "x" * 43},
        {"Authorization": "Basic abc"},
        {"Cookie": "assay_session=abc"},
    ]
    for headers in wrong:
        # A new client each time: who shows too many wrong tokens is made to wait.
        with reaching(services, local=False, pages=True) as client:
            seen = refusals(client, services, headers)
        assert set(seen.values()) <= {401, 429}, {key: one for key, one in seen.items() if one not in (401, 429)}


@pytest.mark.parametrize("access", list(Access))
def test_a_token_reaches_as_far_as_it_says_and_no_further(services: Services, access: Access) -> None:
    headers = bearer(services, access)
    beyond = [(m, p) for m, p, policy in routes(services) if policy is not None and not access.includes(policy.access)]
    with reaching(services, local=False, pages=True) as client:
        for method, path in beyond:
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 403, f"{method} {path}"
            assert answer.json()["error"]["code"] == "access_too_low"
    # What touches the whole store is done at the command line and over MCP: of the routes only one needs an operator.
    if access is Access.ADMIN:
        assert beyond == [("GET", "/api/tenants")]
    assert bool(beyond) is (access is not Access.OPERATOR)


def test_a_route_without_a_policy_is_refused_to_everybody(services: Services) -> None:
    async def forgotten() -> dict[str, str]:
        raise AssertionError("nobody may get here")

    guard: Any = build(services, open_to_this_machine=True, pages=False)
    guard.app.add_api_route("/api/forgotten", forgotten)
    guard.table = RouteTable(guard.app.routes)
    with TestClient(guard, base_url=HERE) as client:
        answer = client.get("/api/forgotten")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "no_policy")


def test_the_name_of_a_policy_stays_with_what_it_was_given_to() -> None:
    named = with_act(acts.LOGIN_OPEN)(lambda: None)
    assert (act_of(named), policy_of(named)) == (acts.LOGIN_OPEN, PUBLIC)
    assert policy_of(lambda: None) is None


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/evaluation/prompts/planner", {"text": 'system = "HIJACKED"\ntask = "Plan."', "active": "yes"}),
        ("/evaluation/prompts/planner/use", {"version": "0"}),
        ("/evaluation/prompts/planner/split", {"second": "0"}),
        ("/evaluation/patterns/apply", {"prompt_id": "planner", "sentence": "HIJACKED"}),
    ],
)
def test_pages_change_prompts_for_admins_alone_as_the_api_does(
    services: Services, path: str, form: dict[str, str]
) -> None:
    with reaching(services, local=False, pages=True) as client:
        answer = client.post(path, data=form, headers=bearer(services, Access.WRITE))
        assert answer.status_code == 403
        now = client.get("/api/prompts/planner", headers=bearer(services, Access.READ)).json()["versions"]
    assert [version["version"] for version in now] == [0]


def test_a_tenants_admin_makes_and_revokes_no_token_of_an_operator(services: Services) -> None:
    admin, operator = bearer(services, Access.ADMIN), bearer(services, Access.OPERATOR)
    theirs = services.tokens.all(OWN)[-1].token_id
    wanted = {"name": "above", "access": "operator"}
    with reaching(services, local=False) as client:
        made = client.post("/api/tokens", json=wanted, headers=admin)
        assert (made.status_code, made.json()["error"]["code"]) == (403, "not_allowed")
        assert client.delete(f"/api/tokens/{theirs}", headers=admin).status_code == 403
        assert client.get("/api/memory", headers=operator).status_code == 200
        assert client.post("/api/tokens", json=wanted, headers=operator).json()["access"] == "operator"
        assert client.delete(f"/api/tokens/{theirs}", headers=operator).status_code == 200
    assert [token.name for token in services.tokens.all(OWN) if token.access is Access.OPERATOR] == ["test", "above"]


@pytest.mark.parametrize("access", list(Access))
def test_paths_and_addresses_of_the_server_are_shown_to_an_operator_alone(
    services: Services, tmp_path: Path, access: Access
) -> None:
    with reaching(services, local=False, pages=True) as client:
        page = client.get("/evaluation/settings", headers=bearer(services, access))
    assert page.status_code == 200
    assert "Evaluation of answers" in page.text
    assert (str(tmp_path) in page.text) is (access is Access.OPERATOR)
    assert ("model.url" in page.text) is (access is Access.OPERATOR)


def test_the_description_of_the_api_says_how_callers_prove_who_they_are(services: Services) -> None:
    with reaching(services) as client:
        told = client.get("/api/openapi.json").json()
    assert set(told["components"]["securitySchemes"]) == {"token", "session"}
    paths = told["paths"]
    assert paths["/healthz"]["get"]["security"] == []
    put = paths["/api/prompts/{prompt_id}"]["put"]
    assert put["security"] == [{"token": []}, {"session": []}]
    assert (put["x-assay-act"], put["x-assay-access"]) == ("prompt.change", "admin")
    assert all("security" in operation for path in paths.values() for operation in path.values())


def test_switching_a_flag_to_and_fro_makes_no_copy_of_the_store_each_time(
    services: Services, clock: FixedClock
) -> None:
    admin = bearer(services, Access.ADMIN)
    switches = services.engine.store.checkpoints
    with reaching(services, local=False, pages=True) as client:
        for percent in (0, 100, 0, 50, 0, 100):
            answer = client.put("/api/flags/reconsolidation", json={"percent": percent}, headers=admin)
            assert answer.status_code == 200, answer.text
            form = {"value": str(percent), "why": "to see", "confirmed": "yes"}
            assert client.post("/evaluation/experiments/reconsolidation/turn", data=form, headers=admin).is_redirect
        assert len(switches.list()) == 1
        clock.advance(days=2)
        client.put("/api/flags/reconsolidation", json={"percent": 100}, headers=admin)
    assert len(switches.list()) == 2


def test_a_foreign_token_sees_nothing_of_ours(services: Services) -> None:
    with services.engine.store.writing(OWN) as work:
        work.memories.add(note("m_ours", title="Ours", body="the secret of the bakery is rye"))
    headers = bearer(services, scope=FOREIGN)
    asked = [
        ("GET", "/api/memory/m_ours", None),
        ("GET", "/api/memory/m_ours/why", None),
        ("POST", "/api/memory/m_ours/validate", {"was_useful": True}),
        ("POST", "/api/memory/links", {"source_id": "m_ours", "kind": "caused", "target_id": "m_other"}),
        ("POST", "/api/judgments", {"judgments": [{"query_id": "q", "memory_id": "m_ours", "relevance": 1}]}),
    ]
    with reaching(services, local=False) as client:
        for method, path, body in asked:
            answer = client.request(method, path, json=body, headers=headers)
            assert answer.status_code == 404, path
            assert "bakery" not in answer.text
        assert client.get("/api/memory", headers=headers).json()["memories"] == []
        found = client.post("/api/memory/search", json={"query": "bakery rye"}, headers=headers).json()
        assert found["hits"] == []
        assert client.get("/api/tokens", headers=headers).json()["tokens"][0]["created_by"] == FOREIGN.principal
        entries = client.get("/api/audit", headers=headers).json()["entries"]
    assert {one["actor"] for one in entries} <= {FOREIGN.principal, "token:test"}
