"""The guard: hosts, origins, forms, rates, bodies, and what everybody is told."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.serving import HERE, bearer, cookie_secret, reaching, services_at, token_text

from assay.access import acts
from assay.gateway import quotas
from assay.gateway.headers import authority, is_loopback
from assay.server.application import build
from assay.server.routing import with_act
from assay.server.security.browsers import CSRF_FIELD, csrf_token_of, keep_inside
from assay.server.security.callers import keep_own_cookies
from assay.server.security.guard import RouteTable
from assay.server.services import Services
from assay.testing import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def services(tmp_path: Path, clock: FixedClock) -> Iterator[Services]:
    with services_at(tmp_path, clock=clock) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, names=["assay.example"]) as found:
        yield found


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "user@127.0.0.1", "", "127.0.0.1:x"])
def test_what_is_meant_for_another_host_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/healthz", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["127.0.0.1:8710", "localhost", "[::1]:9", "ASSAY.example:80"])
def test_its_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://localhost"])
def test_pages_from_elsewhere_may_not_use_it(client: TestClient, origin: str) -> None:
    answer = client.post("/api/memory/search", json={"query": "x"}, headers={"Origin": origin})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_origin")


def test_a_browser_that_says_another_site_sent_it_is_believed(client: TestClient) -> None:
    sent = client.post("/api/memory/search", json={"query": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert sent.status_code == 403
    assert client.get("/healthz", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_its_own_pages_may(client: TestClient) -> None:
    given = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/memory/search", json={"query": "x"}, headers=given).status_code == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"query": NaN}', "NaN"),
        (b'{"query": "x", "k": 1e999}', "1e999"),
        (b'{"query": "x", "k": 99999999999999999999}', "64 bits"),
        (b'{"query": "\\ud800"}', "lone surrogate"),
        (b'{"query": "a\\u0000b"}', "NUL"),
        (b'{"query": "x", "query": "y"}', "twice"),
        (b"[" * 100 + b"]" * 100, "nested"),
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b'{"query": "x", "strange": 1}', "strange"),
        (b'{"query": "x", "k": "5"}', "k:"),
        (b'{"query": "x", "explain": 1}', "explain"),
        (b'{"query": "x", "since": 5}', "since"),
        (b'{"query": "x", "since": "2026-02-01", "until": "2026-01-01"}', "until"),
        (b'{"query": ""}', "query"),
        (b'{"query": "   "}', "query"),
    ],
)
def test_a_body_that_no_store_could_keep_is_refused_and_named(client: TestClient, body: bytes, said: str) -> None:
    answer = client.post("/api/memory/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b"\xff\xfe", 400), (b"x" * (quotas.LONGEST_BODY + 1), 413)])
def test_what_cannot_be_read_at_all_is_refused(client: TestClient, body: bytes, status: int) -> None:
    answer = client.post("/api/memory/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status


def test_a_body_without_a_stated_length_is_cut_off_too(client: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(quotas.LONGEST_BODY // 65_536 + 2):
            yield b" " * 65_536

    answer = client.post("/api/memory/search", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_the_api_takes_nothing_but_json(client: TestClient, kind: str) -> None:
    answer = client.post("/api/memory/search", content=b'{"query": "x"}', headers={"Content-Type": kind})
    assert answer.status_code == 415


def with_form(services: Services) -> TestClient:
    """An application with one page that has a form."""

    @with_act(acts.SERVER_METRICS)
    async def shown(request: object) -> str:
        return csrf_token_of(request)  # type: ignore[arg-type] # a request, as Starlette gives it

    @with_act(acts.SERVER_METRICS)
    async def sent() -> str:
        return "done"

    from starlette.requests import Request  # noqa: PLC0415 - only here

    shown.__annotations__["request"] = Request
    guard = build(services, open_to_this_machine=True, pages=False)
    guard.app.add_api_route("/form", shown, methods=["GET"])  # type: ignore[attr-defined] # it is a Guard
    guard.app.add_api_route("/form", sent, methods=["POST"])  # type: ignore[attr-defined] # the same
    guard.table = RouteTable(guard.app.routes)  # type: ignore[attr-defined] # the same
    return TestClient(guard, base_url=HERE)


def test_a_form_needs_the_token_that_its_page_had(services: Services) -> None:
    with with_form(services) as client:
        token = client.get("/form").json()
        assert client.post("/form", data={CSRF_FIELD: token}).json() == "done"
        assert client.post("/form", headers={"X-CSRF-Token": token}).json() == "done"
        for wrong in ({}, {CSRF_FIELD: ""}, {CSRF_FIELD: "0" * 64}, {CSRF_FIELD: token[:-1]}):
            answer = client.post("/form", data=wrong)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "stale_form")


def test_each_caller_has_a_csrf_token_of_its_own(services: Services) -> None:
    with with_form(services) as client:
        local = client.get("/form").json()
        cookie = {"Cookie": f"assay_session={cookie_secret(services, token_text(services))}"}
        own = client.get("/form", headers=cookie).json()
        assert own != local
        assert client.post("/form", data={CSRF_FIELD: local}, headers=cookie).status_code == 403
        assert client.post("/form", data={CSRF_FIELD: own}, headers=cookie).status_code == 200


def test_who_asks_too_often_waits_and_others_do_not(tmp_path: Path, clock: FixedClock) -> None:
    with services_at(tmp_path, clock=clock, server_requests_per_minute=40) as services:
        one, other = bearer(services), bearer(services)
        with reaching(services, local=False) as client:
            seen = [client.get("/api/flags", headers=one) for _ in range(11)]
            assert [answer.status_code for answer in seen] == [200] * 10 + [429]
            assert int(seen[-1].headers["Retry-After"]) >= 1
            assert client.get("/api/flags", headers=other).status_code == 200
            clock.advance(seconds=2)
            assert client.get("/api/flags", headers=one).status_code == 200


def test_whoever_tries_tokens_is_slowed_down(services: Services) -> None:
    with reaching(services, local=False) as client:
        seen = [client.get("/api/flags", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(30)]
        assert seen[0] == 401
        assert seen[-1] == 429
        assert client.get("/healthz").status_code == 200


def test_every_answer_tells_browsers_what_they_may_do(client: TestClient) -> None:
    for path in ("/healthz", "/nowhere", "/login"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe-eval" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert len(headers["X-Request-Id"]) == 16


def test_an_error_has_one_shape_and_names_the_request(client: TestClient) -> None:
    for answer in (client.get("/nowhere"), client.post("/healthz", json={}), client.get("/api/memory/m_none")):
        fault = answer.json()["error"]
        assert sorted(fault) == ["code", "message", "remedy", "request_id"]
        assert fault["request_id"] == answer.headers["X-Request-Id"]


def test_a_method_that_an_address_does_not_take_is_told(client: TestClient) -> None:
    answer = client.post("/healthz", json={})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")


def test_a_bug_is_told_without_its_inside(services: Services, caplog: pytest.LogCaptureFixture) -> None:
    @with_act(acts.SERVER_METRICS)
    async def broken() -> str:
        raise RuntimeError("the password is swordfish")

    guard = build(services, open_to_this_machine=True, pages=False)
    guard.app.add_api_route("/broken", broken)  # type: ignore[attr-defined] # it is a Guard
    guard.table = RouteTable(guard.app.routes)  # type: ignore[attr-defined] # the same
    with TestClient(guard, base_url=HERE, raise_server_exceptions=False) as client, caplog.at_level(logging.ERROR):
        answer = client.get("/broken")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "swordfish" not in answer.text
    assert "swordfish" in caplog.text


def test_a_browser_without_a_token_is_led_to_the_login(services: Services) -> None:
    token = bearer(services)["Authorization"].removeprefix("Bearer ")
    with reaching(services, local=False) as client:
        led = client.get("/memory", headers={"Accept": "text/html"})
        assert (led.status_code, led.headers["Location"]) == (303, "/login?next=/memory")
        wrong = client.post("/login", data={"token": "no", "next": "/memory"})
        assert wrong.status_code == 401
        right = client.post("/login", data={"token": token, "next": "//evil.example"})
        assert (right.status_code, right.headers["Location"]) == (303, "/")
        cookie = right.headers["Set-Cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert client.get("/api/flags").status_code == 200
        assert client.get("/login?next=%22%3E%3Cscript%3E").text.count("<script") == 0


def test_the_filters_of_a_shared_link_survive_signing_in(services: Services) -> None:
    address = "/memory?tier=critical&folder=a%26b%2Fc&sort=-updated"
    token = bearer(services)["Authorization"].removeprefix("Bearer ")
    with reaching(services, local=False, pages=True) as client:
        led = client.get(address, headers={"Accept": "text/html"})
        page = client.get(led.headers["Location"]).text
        kept = unescape(page.partition('name="next" value="')[2].partition('"')[0])
        assert kept == address
        answer = client.post("/login", data={"token": token, "next": kept})
        assert (answer.status_code, answer.headers["Location"]) == (303, address)


@pytest.mark.parametrize(
    ("site", "mode", "dest", "status"),
    [
        ("cross-site", "navigate", "document", 200),
        ("same-site", "navigate", "document", 200),
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
        ("cross-site", "navigate", "iframe", 403),
        ("cross-site", "no-cors", "image", 403),
        ("cross-site", "cors", "empty", 403),
        ("same-site", "no-cors", "script", 403),
    ],
)
def test_another_site_may_open_a_page_and_fetch_nothing(
    services: Services, site: str, mode: str, dest: str, status: int
) -> None:
    cookie = {"Cookie": f"assay_session={cookie_secret(services, token_text(services))}"}
    fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    with reaching(services, local=False) as client:
        assert client.get("/api/flags", headers={**cookie, **fetched}).status_code == status
        # A token is sent by a program that knows it, never by a browser of its own accord.
        assert client.get("/api/flags", headers={**bearer(services), **fetched}).status_code == 200


def test_a_login_form_with_too_many_fields_opens_nothing(services: Services) -> None:
    token = bearer(services)["Authorization"].removeprefix("Bearer ")
    with reaching(services, local=False) as client:
        fields = {"token": token, **{f"field{number}": "x" for number in range(11)}}
        assert client.post("/login", data=fields).status_code == 401


def test_our_cookie_is_found_among_others(services: Services) -> None:
    secret = cookie_secret(services, token_text(services))
    with reaching(services, local=False) as client:
        for cookie in (
            f'a="x;y"; assay_session={secret}',
            f'assay_session="{secret}"',
            f"b; assay_session = {secret} ;c=1",
        ):
            assert client.get("/api/flags", headers={"Cookie": cookie}).status_code == 200, cookie
        for cookie in ("assay_session", "assay_session=", "xassay_session=1", f'a="\\;{secret}'):
            assert client.get("/api/flags", headers={"Cookie": cookie}).status_code == 401, cookie


def test_only_our_own_cookies_reach_the_application() -> None:
    raw = [
        (b"Cookie", b'a="x\\"y"; assay_session="abc"'),
        (b"accept", b"*/*"),
        (b"cookie", b"__Host-assay_session=d e"),
    ]
    given = [(name.decode().lower(), value.decode()) for name, value in raw]
    kept = [(b"accept", b"*/*"), (b"cookie", b"assay_session=abc"), (b"cookie", b"__Host-assay_session=d e")]
    assert keep_own_cookies(raw, given) == kept
    assert keep_own_cookies(raw[1:2], given[1:2]) == raw[1:2]


@pytest.mark.parametrize(
    ("path", "led"), [("/memory", "/memory"), ("//x", "/"), ("http://x", "/"), ("/\\x", "/"), ("", "/"), ("/a\nb", "/")]
)
def test_a_login_leads_nowhere_but_inside(path: str, led: str) -> None:
    assert keep_inside(path) == led


def test_ports_that_a_scheme_has_by_itself_need_not_be_said() -> None:
    assert authority("https://a.example") == authority("//A.example:443") == ("a.example", None)
    assert authority("http://a.example:8080") == ("a.example", 8080)
    assert authority("http://[broken") is None


@pytest.mark.parametrize(
    ("host", "loop"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_only_this_machine_reaches_loopback(host: str, loop: bool) -> None:
    assert is_loopback(host) is loop


def test_a_websocket_is_closed_at_the_door(services: Services) -> None:
    from starlette.websockets import WebSocketDisconnect  # noqa: PLC0415 - only here

    with reaching(services) as client, pytest.raises(WebSocketDisconnect), client.websocket_connect("/live"):
        pass
