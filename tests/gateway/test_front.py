"""One policy in front of the API and MCP: what one refuses the other refuses, with the same status, code and words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from starlette.testclient import TestClient
from tests.mcp.journey import journey
from tests.mcp.serving import connected
from tests.server.serving import HERE, bearer, reaching, served, services_at

from assay.cli.commands.serving import mcp_mount
from assay.gateway.quotas import LONGEST_BODY
from assay.mcp import http
from assay.mcp.server import Host, build_server
from assay.records.access import Access
from assay.server.services import Services
from assay.testing import FixedClock

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
SURFACES = ("api", "mcp", "mcp within serve")
TOLD = ("www-authenticate", "retry-after", "connection")
"""Headers of a refusal that clients act on."""


class Surface(NamedTuple):
    """One way in."""

    client: TestClient
    path: str
    body: dict[str, Any]
    token: dict[str, str]
    """The header of a token that opens it."""

    def ask(self, headers: dict[str, str], *, query: str = "", content: bytes | None = None) -> Answer:
        sent = {"content": content} if content is not None else {"json": self.body}
        given = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
        got = self.client.post(self.path + query, headers=given, **sent)
        return Answer(got.status_code, _error(got.json()) if got.status_code >= 400 else {}, _told(got.headers))


class Answer(NamedTuple):
    """What a client is told."""

    status: int
    error: dict[str, str]
    headers: dict[str, str]


def _error(body: dict[str, Any]) -> dict[str, str]:
    """The error without what is the transport's own: an id of the request, an envelope of JSON-RPC."""
    error = body["error"]["data"] if "jsonrpc" in body else body["error"]
    return {key: error[key] for key in ("code", "message", "remedy")}


def _told(headers: Any) -> dict[str, str]:
    return {name: headers[name] for name in TOLD if name in headers}


@contextmanager
def surface(name: str, services: Services) -> Iterator[Surface]:
    token = bearer(services, Access.WRITE)
    if name == "mcp":
        server = build_server(Host(services.engine, services.settings))
        app = http.build_guard(server, services.stored_tokens, services.settings, clock=services.clock)
        with TestClient(app, base_url=HERE) as client:
            yield Surface(client, http.PATH, HELLO, token)
        return
    with reaching(services, local=False, mount=mcp_mount(())) as client:
        if name == "api":
            yield Surface(client, "/api/memory/search", {"query": "deploy"}, token)
        else:
            yield Surface(client, http.PATH, HELLO, token)


@dataclass(frozen=True)
class Case:
    """A request that is refused."""

    code: str
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    token: bool = True
    """Whether it shows a good token."""
    query: str = ""
    content: bytes | None = None
    before: int = 0
    """How many such requests come first."""
    settings: dict[str, Any] = field(default_factory=dict)


CASES = {
    "another host": Case("wrong_host", 421, {"Host": "evil.example"}),
    "a name that resolves to this machine": Case("wrong_host", 421, {"Host": "127.0.0.1.evil.example"}),
    "a page of another site": Case("foreign_origin", 403, {"Origin": "https://evil.example"}),
    "a page without an origin": Case("foreign_origin", 403, {"Origin": "null"}),
    "a browser that says it comes from elsewhere": Case("foreign_origin", 403, {"Sec-Fetch-Site": "cross-site"}),
    "no token": Case("unknown_caller", 401, token=False),
    "a wrong token": Case("unknown_caller", 401, {"Authorization": "Bearer wrong"}, token=False),
    "a password": Case("unknown_caller", 401, {"Authorization": "Basic dXNlcjpwYXNz"}, token=False),
    "a cookie that is nobody's": Case("unknown_caller", 401, {"Cookie": "assay_session=x"}, token=False),
    "two ends of a body": Case("ambiguous_length", 400, {"Transfer-Encoding": "chunked", "Content-Length": "4"}),
    "a body that is too large": Case("too_large", 413, content=b" " * (LONGEST_BODY + 1)),
    "a long address": Case("too_long", 400, query="?q=" + "x" * 20_000),
    "too many requests": Case("too_many_requests", 429, before=1, settings={"server_requests_per_minute": 4}),
    "too many wrong tokens": Case("too_many_failures", 429, {"Authorization": "Bearer wrong"}, token=False, before=20),
}


def refuse(name: str, case: Case, folder: Path) -> Answer:
    """Let a surface of its own refuse a case."""
    with (
        services_at(folder, clock=FixedClock(), **case.settings) as services,
        surface(name, services) as way,
    ):
        headers = {**(way.token if case.token else {}), **case.headers}
        for _ in range(case.before):
            way.ask(headers)
        answer = way.ask(headers, query=case.query, content=case.content)
        if case.code == "too_many_failures":
            assert way.ask(way.token).status == 200, "a good token is let in whatever others did"
        return answer


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_surface_refuses_alike(case: Case, tmp_path: Path) -> None:
    answers = {name: refuse(name, case, tmp_path / name) for name in SURFACES}
    assert {(answer.status, answer.error["code"]) for answer in answers.values()} == {(case.status, case.code)}
    assert answers["mcp"] == answers["api"]
    assert answers["mcp within serve"] == answers["api"]


def test_a_good_request_is_let_in_everywhere(tmp_path: Path) -> None:
    for name in SURFACES:
        with services_at(tmp_path / name, clock=FixedClock()) as services, surface(name, services) as way:
            assert way.ask(way.token).status == 200, name


def test_requests_to_the_api_and_to_mcp_of_one_server_are_counted_together(tmp_path: Path) -> None:
    with (
        services_at(tmp_path, clock=FixedClock(), server_requests_per_minute=4) as services,
        surface("mcp within serve", services) as way,
    ):
        assert way.client.get("/api/memory", headers=way.token).status_code == 200
        assert way.ask(way.token).status == 429


def test_failures_of_the_api_and_of_mcp_of_one_server_are_counted_together(tmp_path: Path) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    with services_at(tmp_path, clock=FixedClock()) as services, surface("mcp within serve", services) as way:
        for _ in range(20):
            way.client.get("/api/memory", headers=wrong)
        assert way.ask(wrong).error["code"] == "too_many_failures"


def test_only_mcp_may_be_used_by_pages_of_its_allowed_origins(tmp_path: Path) -> None:
    inspector = {"Origin": "http://localhost:6274"}
    with (
        services_at(tmp_path, clock=FixedClock(), mcp_allowed_origins=("http://localhost:6274",)) as services,
        surface("mcp within serve", services) as way,
    ):
        assert way.ask({**way.token, **inspector}).status == 200
        assert way.client.get("/api/memory", headers={**way.token, **inspector}).status_code == 403


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_mcp_works_within_the_server_of_the_api(tmp_path: Path, mode: str) -> None:
    async def main(address: str) -> None:
        async with connected(f"{address}{http.PATH}", mode=mode) as client:
            await journey(client)

    with services_at(tmp_path) as services, served(services, mount=mcp_mount(())) as address:
        anyio.run(main, address)
