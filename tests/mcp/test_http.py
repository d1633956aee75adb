"""Over HTTP with the official client: a whole journey, and everything the guard keeps out."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.mcp.journey import journey
from tests.mcp.serving import ADMIN, LESSON, OPERATOR, SCOPE, connected, refused, serving_http, told

from assay.access import Access, Everybody, Grant, OneToken
from assay.errors import SettingError
from assay.mcp import http
from assay.mcp.server import GRANT
from assay.mcp.sessions import McpSessions
from assay.records import Scope
from assay.settings import Settings
from assay.testing import FixedClock
from mcp import Client

TOKEN = "a-token-of-some-length"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def asked(address: str, **headers: str) -> int:
    """The status a plain request gets."""
    return httpx2.post(address, json=HELLO, headers={**ACCEPT, **headers}, timeout=30).status_code


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_saves_searches_validates_looks_after_and_copies(tmp_path: Path, mode: str) -> None:
    async def main(address: str) -> None:
        async with connected(address, mode=mode) as client:
            await journey(client)

    with serving_http(tmp_path) as address:
        anyio.run(main, address)


def guarded(method: str = "GET", **headers: str) -> int:
    """The status a request with these headers gets from the guard; 200 when it is let through."""
    sent: list[dict[str, Any]] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        assert (scope[GRANT], scope[GRANT].scope.via) == (ADMIN, "mcp 127.0.0.1")
        await send({"type": "http.response.start", "status": 200})

    async def receive() -> Any:
        assert method == "POST", "the guard reads no body"
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    settings = Settings(mcp_allowed_origins=("http://localhost:6274",))
    clock = FixedClock()
    front = http.front_of(settings, ["memory.example"], clock)
    guard = http.McpGuard(inside, Everybody(ADMIN), front, McpSessions(clock, 1))
    given = [(name.lower().replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def main() -> None:
        scope = {"type": "http", "method": method, "scheme": "http", "client": ("127.0.0.1", 1), "headers": given}
        await guard(scope, receive, send)

    anyio.run(main)
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("LOCALHOST:9", 200),
        ("memory.example", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost:evil@evil.example", 421),
        ("localhost@evil.example", 421),
        ("evil.example@localhost", 421),
        ("evil.example/localhost", 421),
        ("localhost:99999999", 421),
        ("", 421),
        ("[::1", 421),
    ],
)
def test_only_known_hosts_are_answered(host: str, status: int) -> None:
    assert guarded(host=host) == status


def test_no_host_and_two_hosts_are_refused() -> None:
    assert guarded() == 421
    assert guarded(host="localhost", Host="localhost") == 421


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8765", "http://localhost:8765", 200),
        ("127.0.0.1:8765", "http://127.0.0.1:8765", 200),
        ("localhost", "http://localhost:80", 200),
        ("memory.example", "https://memory.example", 200),
        ("localhost:8765", "http://localhost:6274", 200),
        ("localhost:8765", "http://localhost:3000", 403),
        ("localhost:8765", "http://127.0.0.1:8765", 403),
        ("localhost:8765", "http://localhost", 403),
        ("localhost", "https://localhost", 403),
        ("memory.example", "https://memory.example:8443", 403),
        ("localhost", "http://evil.example", 403),
        ("localhost", "http://localhost.evil.example", 403),
        ("localhost", "http://localhost@evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "", 403),
    ],
)
def test_only_pages_of_its_own_origin_and_allowed_ones_are_answered(host: str, origin: str, status: int) -> None:
    assert guarded(host=host, origin=origin) == status


@pytest.mark.parametrize(
    ("length", "status"), [("0", 200), ("4194304", 200), ("4194305", 413), ("-1", 400), ("9" * 99, 413), ("x", 400)]
)
def test_only_lengths_within_the_limit_are_let_through(length: str, status: int) -> None:
    assert guarded("POST", host="localhost", content_length=length) == status


def test_a_wrong_token_on_open_loopback_is_not_the_local_user(tmp_path: Path) -> None:
    with serving_http(tmp_path) as address:
        assert asked(address) == 200
        for shown in ("Bearer wrong", "Bearer assay_" + "x" * 43, "Basic dXNlcjpwYXNz", "Bearer", "x"):
            assert asked(address, Authorization=shown) == 401, shown
        # Who comes through a proxy does not sit at this machine.
        assert asked(address, **{"X-Forwarded-For": "192.0.2.7"}) == 401


def test_tokens_that_open_nothing_are_limited_and_the_good_one_is_let_in(tmp_path: Path) -> None:
    # In real time a slow machine would earn new attempts while it uses up the old ones.
    with serving_http(tmp_path, OneToken(TOKEN, ADMIN), clock=FixedClock()) as address:
        seen = [httpx2.post(address, json=HELLO, headers={**ACCEPT, "Authorization": f"Bearer {n}"}) for n in range(20)]
        assert [answer.status_code for answer in seen] == [401] * 15 + [429] * 5
        assert int(seen[-1].headers["retry-after"]) >= 1
        assert asked(address, Authorization=f"Bearer {TOKEN}") == 200


class Several:
    """Lets in whoever shows a name, as that principal."""

    def grant(self, token: str | None) -> Grant | None:
        return None if token is None else Grant(Scope(tenant="acme", principal=token), Access.READ)


def test_one_principal_does_not_use_up_the_sessions_of_others(tmp_path: Path) -> None:
    with serving_http(tmp_path, Several(), mcp_sessions_per_principal=3) as address:
        begun = [httpx2.post(address, json=HELLO, headers={**ACCEPT, "Authorization": "Bearer one"}) for _ in range(5)]
        assert [answer.status_code for answer in begun] == [200] * 5
        assert asked(address, Authorization="Bearer two") == 200
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        seen = []
        for answer in begun:
            session = {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
            headers = {**ACCEPT, **session, "Authorization": "Bearer one"}
            seen.append(httpx2.post(address, json=ping, headers=headers).status_code)
        # The oldest idle ones of the same principal gave way to the last three.
        assert seen == [404, 404, 200, 200, 200]


class Namesakes:
    """Lets in whoever shows the id of a token; all of them have the same name."""

    def grant(self, token: str | None) -> Grant | None:
        scope = Scope(tenant="acme", principal="token:unnamed", principal_id=token or "")
        return None if token is None else Grant(scope, Access.READ)


def test_tokens_of_one_name_do_not_share_sessions(tmp_path: Path) -> None:
    with serving_http(tmp_path, Namesakes()) as address:
        begun = httpx2.post(address, json=HELLO, headers={**ACCEPT, "Authorization": "Bearer one"})
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        seen = {
            token: httpx2.post(address, json=ping, headers={**ACCEPT, **session, "Authorization": f"Bearer {token}"})
            for token in ("two", "one")
        }
        assert {token: answer.status_code for token, answer in seen.items()} == {"two": 404, "one": 200}


def test_the_guard_stands_before_every_path_of_a_real_server(tmp_path: Path) -> None:
    with serving_http(tmp_path) as address:
        assert asked(address) == 200
        assert asked(address, Host="evil.example") == 421
        assert asked(address, Origin="http://evil.example") == 403
        assert asked(address, Origin="http://localhost:3000") == 403
        assert asked(address.replace("/mcp", "/other"), Host="evil.example") == 421
        assert asked(address.replace("/mcp", "/other")) == 404


def test_with_a_token_nobody_comes_in_without_it(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with connected(address, token=TOKEN) as client:
            assert (await told(client, "memory_save", **LESSON))["decision"] == "store"

    with serving_http(tmp_path, OneToken(TOKEN, OPERATOR)) as address:
        refusal = httpx2.post(address, json=HELLO, headers=ACCEPT)
        assert refusal.status_code == 401
        assert refusal.headers["www-authenticate"].startswith("Bearer")
        assert "Bearer TOKEN" in refusal.json()["error"]["message"]
        for shown in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer"):
            assert asked(address, Authorization=shown) == 401
        assert asked(address.replace("/mcp", "/other")) == 401
        assert asked(address, Authorization=f"bearer {TOKEN}") == 200
        anyio.run(main, address)


def test_a_session_is_of_use_only_to_whoever_began_it(tmp_path: Path) -> None:
    class Two:
        def grant(self, token: str | None) -> Grant | None:
            return {"one": ADMIN, "two": Grant(SCOPE, Access.READ)}.get(token or "")

    with serving_http(tmp_path, Two()) as address:
        begun = httpx2.post(address, json=HELLO, headers={**ACCEPT, "Authorization": "Bearer one"})
        session = {**ACCEPT, "Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert httpx2.post(address, json=ping, headers={**session, "Authorization": "Bearer one"}).status_code == 200
        assert httpx2.post(address, json=ping, headers={**session, "Authorization": "Bearer two"}).status_code == 404
        assert httpx2.post(address, json=ping, headers=session).status_code == 401


def test_a_request_that_is_too_long_is_refused_with_the_limit(tmp_path: Path) -> None:
    with serving_http(tmp_path) as address:
        refusal = httpx2.post(address, content=b" " * (http.LONGEST_BODY + 1), headers=ACCEPT)
        assert refusal.status_code == 413
        assert "4,194,304 bytes" in refusal.json()["error"]["message"]

        def pieces() -> Any:
            for _ in range(5):
                yield b" " * (1024 * 1024)

        headers = {**ACCEPT, "Content-Type": "application/json"}
        assert httpx2.post(address, content=pieces(), headers=headers).status_code == 413
        anyio.run(_too_much_text, address)


async def _too_much_text(address: str) -> None:
    async with connected(address) as client:
        problem = await refused(client, "memory_save", title="x", body="y" * 1_000_001)
        assert "1,000,000" in problem["remedy"]


def test_a_client_that_disappears_in_mid_call_disturbs_nobody(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with connected(address) as client:
            assert (await told(client, "memory_health"))["parts"]

    with serving_http(tmp_path) as address:
        host, port = address.removeprefix("http://").removesuffix("/mcp").split(":")
        call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_health","arguments":{}}}'
        for cut in (len(call), len(call) // 2):
            with socket.create_connection((host, int(port))) as wire:
                head = (
                    f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                    f"Accept: application/json, text/event-stream\r\nContent-Length: {len(call)}\r\n\r\n"
                )
                wire.sendall((head + call[:cut]).encode())
        anyio.run(main, address)


def test_a_read_only_server_has_no_tool_that_writes(tmp_path: Path) -> None:
    async def main(address: str) -> None:
        async with connected(address) as client:
            names = [one.name for one in (await client.list_tools()).tools]
            assert "memory_search" in names
            assert "memory_save" not in names

    with serving_http(tmp_path, read_only=True) as address:
        anyio.run(main, address)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example"])
def test_beyond_loopback_a_token_is_needed(host: str) -> None:
    with pytest.raises(SettingError, match="no token") as problem:
        http.need_token(host, None, variable="ASSAY_MCP_TOKEN")
    assert "ASSAY_MCP_TOKEN" in problem.value.remedy
    http.need_token(host, TOKEN)


def test_a_token_that_can_be_guessed_is_refused_everywhere() -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with pytest.raises(SettingError, match="3 characters"):
            http.need_token(host, "abc")
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        http.need_token(host, None)


def test_an_address_that_is_taken_is_an_error_with_a_remedy() -> None:
    with http.listen("127.0.0.1", 0) as at, pytest.raises(SettingError, match="cannot listen") as problem:
        http.listen("127.0.0.1", at.getsockname()[1])
    assert "--port" in problem.value.remedy


def test_the_client_sees_progress_of_an_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_EMBEDDER_KIND", "none")
    seen: list[tuple[float, float | None]] = []

    async def note(done: float, of: float | None, _: str | None) -> None:
        seen.append((done, of))

    async def main(address: str) -> None:
        async with connected(address) as client:
            await _measured(client, note)

    with serving_http(tmp_path) as address:
        anyio.run(main, address)
    assert seen
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


async def _measured(client: Client, note: Any) -> None:
    asked_for = {"dataset": "hotel", "max_cases": 5, "metrics": ["recall@5"]}
    first = await client.call_tool("eval_run", asked_for, progress_callback=note)
    assert not first.is_error, first
    second = await client.call_tool("eval_run", {**asked_for, "mode": "quick"})
    runs = [one.structured_content["run_id"] for one in (first, second)]
    assert first.structured_content["metrics"]["recall@5"]["scored"] == 3, "two of the five have no answer"
    compared = await told(client, "eval_compare", control=runs[0], treatment=runs[1])
    assert list(compared["metrics"]) == ["recall@5"]
    assert any("mode" in change["field"] for change in compared["changed"])
