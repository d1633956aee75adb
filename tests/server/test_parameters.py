"""A query parameter that a route does not have is refused, with those that it has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient
from tests.server.serving import reaching, services_at

from assay.server.application import application
from assay.server.routing import parameters_of
from assay.server.services import Services


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with services_at(tmp_path_factory.mktemp("parameters")) as found:
        yield found


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services) as found:
        yield found


def api_routes(services: Services) -> list[tuple[str, str, tuple[str, ...]]]:
    """Method, an address that fits, and query parameters of every route below /api/."""
    return [
        (method, re.sub(r"\{[^}]*\}", "x", route.path), parameters_of(route))
        for route in application(services, pages=False).routes
        if isinstance(route, APIRoute) and route.path.startswith("/api/")
        for method in sorted(route.methods or ())
    ]


def test_every_route_of_the_api_refuses_a_parameter_it_does_not_have(client: TestClient, services: Services) -> None:
    routes = api_routes(services)
    assert len(routes) > 40
    for method, path, known in routes:
        body: dict[str, str] | None = None if method in {"GET", "DELETE"} else {}
        reply = client.request(method, f"{path}?no_such=1", json=body)
        assert reply.status_code == 422, f"{method} {path}: {reply.status_code}"
        fault = reply.json()["error"]
        assert (fault["code"], "'no_such'" in fault["message"]) == ("bad_value", True), f"{method} {path}"
        assert all(name in fault["remedy"] for name in known), f"{method} {path}"


@pytest.mark.parametrize("asked", ["failure=weak_retrieval", "min_score=2", "foo=1", "limit=5&foo=1&limit=5"])
def test_a_filter_that_does_not_exist_does_not_answer_with_everything(client: TestClient, asked: str) -> None:
    reply = client.get(f"/api/evaluation/sessions?{asked}")
    assert reply.status_code == 422
    assert "failure_type" in reply.json()["error"]["remedy"]


def test_a_write_without_fastapi_refuses_it_too(client: TestClient) -> None:
    assert client.post("/api/memory/search?explain=1", json={"query": "cookie"}).status_code == 422
    assert client.post("/api/memory/search", json={"query": "cookie"}).status_code == 200


def test_parameters_that_exist_are_taken(client: TestClient) -> None:
    assert client.get("/api/evaluation/sessions?failure_type=weak_retrieval&limit=5").status_code == 200


def test_probes_may_add_parameters_of_their_own(client: TestClient) -> None:
    assert client.get("/healthz?probe=1").status_code == 200
