"""Several applications in one process: they share the routes that FastAPI has read, and nothing else."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response
from starlette.testclient import TestClient
from tests.server.serving import reaching, services_at

from assay.access import acts
from assay.server.application import application
from assay.server.routing import Resource

NOTE = {"title": "Tabs", "body": "We indent Makefiles with tabs, because make refuses spaces there."}


def test_each_application_answers_from_its_own_store(tmp_path: Path) -> None:
    with (
        services_at(tmp_path / "first") as first,
        services_at(tmp_path / "second") as second,
        reaching(first) as client,
        reaching(second) as other,
    ):
        saved = client.post("/api/memory", json=NOTE).json()
        assert client.get(f"/api/memory/{saved['memory_id']}").status_code == 200
        assert other.get(f"/api/memory/{saved['memory_id']}").status_code == 404


def test_a_route_added_to_one_application_is_not_in_the_next(tmp_path: Path) -> None:
    with services_at(tmp_path) as services:
        first = application(services)
        first.add_api_route("/api/extra", lambda: None)
        addresses = [{getattr(route, "path", "") for route in app.routes} for app in (first, application(services))]
    assert addresses[0] - addresses[1] == {"/api/extra"}


def test_a_route_registered_after_an_application_was_made_is_in_the_next() -> None:
    resource = Resource("/api/things", "things")
    resource.get("", acts.SERVER_DESCRIBE)(_list_things)
    first, second = FastAPI(), FastAPI()
    resource.add_to(first)
    resource.get("/more", acts.SERVER_DESCRIBE)(_list_more)
    resource.add_to(second)
    assert TestClient(first).get("/api/things/more").status_code == 404
    assert [TestClient(second).get(f"/api/things{end}").text for end in ("", "/more")] == ["things", "more"]


async def _list_things() -> Response:
    return Response("things")


async def _list_more() -> Response:
    return Response("more")
