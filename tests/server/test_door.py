"""The front door over real sockets: deadlines, connections, bodies, tokens that fail, and proxies."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from tests.server.serving import HERE, bearer, reaching, served, services_at

from assay.gateway.quotas import LONGEST_UNKNOWN_BODY
from assay.gateway.serving import has_quick_parser
from assay.server.application import build
from assay.testing import FixedClock

BOUND_S = 30.0
QUICKLY = {"server_head_s": 0.2, "server_body_s": 0.2, "server_idle_s": 0.2}
PATIENT = {"server_head_s": 60.0, "server_body_s": 60.0, "server_idle_s": 60.0}
PARSERS = [
    pytest.param(False, id="h11"),
    pytest.param(True, id="httptools", marks=pytest.mark.skipif(not has_quick_parser(), reason="not installed")),
]
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_HEAD = b"GET /healthz HTTP/1.1\r\nHost: local"
HALF_BODY = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken="
LONG_BODY = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 1_000


@contextmanager
def door(folder: Path, quick: bool, **more: Any) -> Iterator[tuple[str, int]]:
    """Where a server with these settings listens; it wants a token."""
    with services_at(folder, **more) as services, served(services, local=False, quick=quick) as address:
        place = urlsplit(address)
        yield str(place.hostname), int(place.port or 0)


def opened(place: tuple[str, int], sent: bytes = b"") -> socket.socket:
    """A connection on which these bytes were sent."""
    connection = socket.create_connection(place, timeout=BOUND_S)
    connection.sendall(sent)
    return connection


def read_status(connection: socket.socket) -> int | None:
    """The status of the next answer, whose body is left unread; None: the connection was closed without one."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        try:
            more = connection.recv(1)
        except ConnectionError:
            return None
        if not more:
            return None
        seen += more
    return int(seen.split()[1])


def is_closed(connection: socket.socket) -> bool:
    """Whether the server ends the connection, after whatever it still sends."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        return True
    return True


def ask(place: tuple[str, int], request: bytes = HEALTH) -> int | None:
    """The status of the answer to one request on a connection of its own."""
    with opened(place, request) as connection:
        return read_status(connection)


@pytest.mark.parametrize("quick", PARSERS)
@pytest.mark.parametrize("sent", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "half a head", "half a body"])
def test_who_keeps_the_server_waiting_is_told_and_closed(tmp_path: Path, quick: bool, sent: bytes) -> None:
    with door(tmp_path, quick, **QUICKLY) as place, opened(place, sent) as connection:
        assert read_status(connection) == 408
        assert is_closed(connection)
        assert ask(place) == 200


@pytest.mark.parametrize("quick", PARSERS)
def test_a_connection_without_a_next_request_is_closed(tmp_path: Path, quick: bool) -> None:
    with door(tmp_path, quick, **QUICKLY) as place, opened(place, HEALTH) as connection:
        assert read_status(connection) == 200
        assert is_closed(connection)


@pytest.mark.parametrize("quick", PARSERS)
@pytest.mark.parametrize("sent", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "half a head", "half a body"])
def test_connections_that_wait_do_not_stop_good_requests(tmp_path: Path, quick: bool, sent: bytes) -> None:
    limits = {"server_connections": 40, "server_connections_per_address": 20}
    with door(tmp_path, quick, **PATIENT, **limits) as place, ExitStack() as held:
        for _ in range(100):
            held.enter_context(opened(place, sent))
        assert [ask(place) for _ in range(5)] == [200] * 5


@pytest.mark.parametrize("quick", PARSERS)
def test_requests_that_are_sent_together_are_answered_in_turn(tmp_path: Path, quick: bool) -> None:
    with door(tmp_path, quick, **QUICKLY) as place, opened(place, HEALTH * 3 + HALF_HEAD) as connection:
        stream = connection.makefile("rb").read()
        assert stream.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize("quick", PARSERS)
def test_large_bodies_of_strangers_are_refused_before_they_are_read(tmp_path: Path, quick: bool) -> None:
    with door(tmp_path, quick, **PATIENT) as place, ExitStack() as held:
        waiting = [held.enter_context(opened(place, LONG_BODY)) for _ in range(60)]
        assert {read_status(connection) for connection in waiting} == {413}
        assert ask(place) == 200


@pytest.mark.parametrize("quick", PARSERS)
def test_a_chunked_body_of_a_stranger_ends_at_the_same_length(tmp_path: Path, quick: bool) -> None:
    head = b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n" % (LONGEST_UNKNOWN_BODY + 1, b"x" * (LONGEST_UNKNOWN_BODY + 1))
    with door(tmp_path, quick, **PATIENT) as place:
        assert ask(place, head + chunk) == 413


TWO_ENDS = [
    b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
]


@pytest.mark.parametrize("quick", PARSERS)
@pytest.mark.parametrize("framed", TWO_ENDS)
def test_a_request_with_two_ends_is_refused_and_nothing_after_it_is_read(
    tmp_path: Path, quick: bool, framed: bytes
) -> None:
    with door(tmp_path, quick, **PATIENT) as place:
        sent = b"POST /login HTTP/1.1\r\nHost: localhost\r\n" + framed + HEALTH
        with opened(place, sent) as connection:
            answers = connection.makefile("rb").read()
        assert answers.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501"))
        assert answers.count(b"HTTP/1.1 ") == 1


def test_a_good_token_is_let_in_whoever_shares_its_address(tmp_path: Path) -> None:
    clock = FixedClock()
    with services_at(tmp_path, clock=clock) as services, reaching(services, local=False) as client:
        good = bearer(services)
        seen, failed = [], []
        for number in range(100):
            bad = {"Authorization": f"Bearer assay_{number:043d}"}
            failed.append(client.get("/api/flags", headers=bad).status_code)
            seen.append(client.get("/api/flags", headers=good).status_code)
            clock.advance(seconds=0.5)
        assert seen == [200] * 100
        assert failed[0] == 401
        assert failed.count(429) > 20


def test_the_login_form_spends_the_same_failures(tmp_path: Path) -> None:
    with services_at(tmp_path, clock=FixedClock()) as services, reaching(services, local=False) as client:
        good = bearer(services)
        seen = [client.post("/login", data={"token": f"wrong {number}"}) for number in range(40)]
        assert [answer.status_code for answer in seen[:15]] == [401] * 15
        assert {answer.status_code for answer in seen[15:]} == {429}
        assert int(seen[-1].headers["Retry-After"]) >= 1
        assert client.get("/api/flags", headers={"Authorization": "Bearer wrong"}).status_code == 429
        token = good["Authorization"].removeprefix("Bearer ")
        assert client.post("/login", data={"token": token}).status_code == 303


@contextmanager
def behind_proxy(folder: Path, *, local: bool = False) -> Iterator[TestClient]:
    """A client whose requests come from a trusted proxy on this machine."""
    with services_at(folder, clock=FixedClock(), server_trusted_proxies=("127.0.0.1",)) as services:
        app = build(services, open_to_this_machine=local, pages=False, names=["assay.example"])
        with TestClient(app, base_url=HERE, client=("127.0.0.1", 1), follow_redirects=False) as client:
            client.headers.update(bearer(services))
            yield client


def test_failures_are_counted_for_each_caller_behind_a_trusted_proxy(tmp_path: Path) -> None:
    with behind_proxy(tmp_path) as client:
        wrong = {"Authorization": "Bearer wrong"}
        for number in range(30):
            client.get("/api/flags", headers={"Authorization": f"Bearer {number}", "X-Forwarded-For": "192.0.2.1"})
        assert client.get("/api/flags", headers={**wrong, "X-Forwarded-For": "192.0.2.1"}).status_code == 429
        assert client.get("/api/flags", headers={**wrong, "X-Forwarded-For": "192.0.2.2"}).status_code == 401


def test_a_trusted_proxy_says_that_the_page_came_over_tls(tmp_path: Path) -> None:
    with behind_proxy(tmp_path) as client:
        token = client.headers["Authorization"].removeprefix("Bearer ")
        given = {"Host": "assay.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        sent = client.post("/login", data={"token": token}, headers={**given, "Origin": "https://assay.example"})
        assert sent.status_code == 303
        assert "secure" in sent.headers["Set-Cookie"].lower()
        plain = client.post("/login", data={"token": token}, headers={**given, "Origin": "http://assay.example"})
        assert plain.status_code == 403


def test_who_comes_through_a_proxy_does_not_sit_at_this_machine(tmp_path: Path) -> None:
    with services_at(tmp_path, clock=FixedClock()) as services, reaching(services) as client:
        assert client.get("/api/flags").status_code == 200
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            assert client.get("/api/flags", headers={name: "192.0.2.7"}).status_code == 401
