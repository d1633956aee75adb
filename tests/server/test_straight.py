"""Routes that are called without FastAPI answer as they do with it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.server.serving import HERE, OWN, reaching, services_at

from assay.access import Access, Grant
from assay.server.application import application
from assay.server.security.guard import RouteTable
from assay.server.services import GRANT, REQUEST_ID
from assay.testing import FixedClock

SAVE, SEARCH, CONTEXT, LINKS = "/api/memory", "/api/memory/search", "/api/memory/context", "/api/memory/links"
OF_THE_MOMENT = {"query_id", "trace_id", "telemetry", "save_id", "memory_id", "request_id", "duration_ms"}
ASKED: list[tuple[str, Any]] = [
    (SAVE, {"title": "Router", "body": "The router drops pushes, so we poll the oven."}),
    (SAVE, {"title": "Oven", "body": "We poll it.", "tier": "critical", "valid_from": "2026-01-02T03:04:05Z"}),
    (SAVE, {"title": "", "body": 3, "strange": 1}),
    (SAVE, {"title": "Oven", "body": "x", "valid_from": "2026-01-02"}),
    (SEARCH, {"query": "poll the oven", "k": 3, "explain": True}),
    (SEARCH, {"query": "poll", "k": True}),
    (SEARCH, {"query": "poll", "since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}),
    (SEARCH, ["query"]),
    (SEARCH, None),
    (SEARCH, "query"),
    (CONTEXT, {"query": "the oven", "token_budget": 100}),
    (CONTEXT, {"query": "the oven", "token_budget": 1}),
    (LINKS, {"source": "m_1", "target": "m_2", "kind": "supports"}),
]


def admitted(app: ASGIApp) -> ASGIApp:
    """The application with a caller, and no guard before it."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        more = {GRANT: Grant(OWN, Access.ADMIN), REQUEST_ID: "r"} if scope["type"] == "http" else {}
        await app({**scope, **more}, receive, send)

    return answer


def lasting(value: Any) -> Any:
    """An answer without what differs from one moment to the next."""
    if isinstance(value, dict):
        return {name: lasting(inner) for name, inner in value.items() if name not in OF_THE_MOMENT}
    return [lasting(one) for one in value] if isinstance(value, list) else value


def test_routes_answer_the_same_without_fastapi(tmp_path: Path) -> None:
    with ExitStack() as held:
        one, other = (held.enter_context(services_at(tmp_path / name, clock=FixedClock())) for name in ("1", "2"))
        straight = held.enter_context(reaching(one))
        round_about = held.enter_context(TestClient(admitted(application(other, pages=False)), HERE))
        for path, body in ASKED:
            first, second = round_about.post(path, json=body), straight.post(path, json=body)
            assert (second.status_code, lasting(second.json())) == (first.status_code, lasting(first.json()))
            assert second.headers["content-type"] == first.headers["content-type"]


def test_what_is_asked_and_saved_most_goes_straight(tmp_path: Path) -> None:
    with services_at(tmp_path) as services:
        table = RouteTable(application(services, pages=False).routes)
    found = {path: table.find({"method": "POST", "path": path}) for path in (SAVE, SEARCH, CONTEXT)}
    assert all(one is not None and one.straight is not None for one in found.values())
