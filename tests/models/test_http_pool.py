"""Pooled connections: how many are opened, when a call ends, what is never sent, and who closes what."""

from __future__ import annotations

import gzip
import logging
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.certificates import make_certificate
from tests.models.service import Handler, Service, answer, say_nothing, serving
from tests.storage.waiting import until

from assay.client import Client
from assay.clock import SystemClock
from assay.errors import AddressRefused, EndpointMisbehaved, EndpointUnavailable, SettingError
from assay.models import http_pool
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.http_pool import SHARED_POOL, BrokenOff, HttpPool, HttpRequest, OutOfTime
from assay.network import ANYWHERE, Gatekeeper
from assay.systems.http_service import HttpService, ServiceDescription

YES = answer(body={"said": "yes"})
SECRET = "sk-very-secret"


@pytest.fixture
def pool() -> Iterator[HttpPool]:
    made = HttpPool()
    yield made
    made.close()


def endpoint(url: str, pool: HttpPool, **options: Any) -> Endpoint:
    options_ = EndpointOptions(url=url, **options)
    rng = np.random.default_rng(0)
    return Endpoint(options_, gate=ANYWHERE, clock=SystemClock(), rng=rng, pause=lambda _: None, pool=pool)


def request_to(url: str, *, body: bytes = b"{}", **headers: str) -> HttpRequest:
    return HttpRequest(method="POST", origin=url.removesuffix("/v1"), target="/v1/ask", headers=headers, body=body)


def echo(handler: Handler) -> None:
    """Answer with the question."""
    answer(body=handler.heard.body)(handler)


def test_many_calls_go_over_one_connection(pool: HttpPool) -> None:
    with serving(YES, keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        assert [asked.post("/ask", {"n": n}) for n in range(50)] == [{"said": "yes"}] * 50
        assert (len(service.heard), service.accepted) == (50, 1)


def test_endpoints_of_one_server_share_its_connection(pool: HttpPool) -> None:
    with serving(YES, keep_alive=True) as service:
        for path in ("/v1", "/v2", ""):
            endpoint(service.url.removesuffix("/v1") + path, pool).post("/ask", {})
        assert service.accepted == 1


def test_models_and_embedders_share_a_pool_by_default() -> None:
    with serving(YES, keep_alive=True) as service:
        for _ in range(3):
            options = EndpointOptions(url=service.url)
            rng = np.random.default_rng(0)
            Endpoint(options, gate=ANYWHERE, clock=SystemClock(), rng=rng).post("/ask", {})
        assert service.accepted == 1
        SHARED_POOL.close()
        until(lambda: service.open == 0)


def test_failures_that_were_answered_keep_the_connection(pool: HttpPool) -> None:
    with serving(answer(500, b"busy"), answer(429), YES, answer(404, b"no"), YES, keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        assert asked.post("/ask", {}) == {"said": "yes"}
        with pytest.raises(EndpointUnavailable, match="404: no"):
            asked.post("/ask", {})
        asked.post("/ask", {})
        assert (len(service.heard), service.accepted) == (5, 1)


def test_threads_share_a_pool_and_each_gets_its_own_answer(pool: HttpPool) -> None:
    with serving(echo, keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda n: asked.post("/ask", {"n": n}), range(200)))
        assert answers == [{"n": n} for n in range(200)]
        assert service.accepted <= 8


def test_a_connection_that_the_service_closed_meanwhile_costs_no_try(pool: HttpPool) -> None:
    def answer_and_close(handler: Handler) -> None:
        YES(handler)
        handler.close_connection = True

    with serving(answer_and_close, keep_alive=True) as service:
        asked = endpoint(service.url, pool, attempts=1)
        for n in range(1, 4):
            assert asked.send("/ask", {}).tries == 1
            until(lambda: service.open == 0)
            assert service.accepted == n


def test_a_request_that_broke_off_is_counted_and_not_sent_again_in_secret(pool: HttpPool) -> None:
    with serving(YES, say_nothing, keep_alive=True) as service:
        asked = endpoint(service.url, pool, attempts=1)
        asked.post("/ask", {})
        with pytest.raises(EndpointUnavailable, match="broke off") as problem:
            asked.post("/ask", {})
        assert (problem.value.tries, problem.value.worked_on, len(service.heard)) == (1, 1, 2)


def test_close_closes_and_a_later_call_opens_anew(pool: HttpPool) -> None:
    with serving(YES, keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        asked.post("/ask", {})
        assert service.open == 1
        pool.close()
        until(lambda: service.open == 0)
        pool.close()
        asked.post("/ask", {})
        assert service.accepted == 2


def test_a_pool_that_is_let_go_closes_its_connections() -> None:
    with serving(YES, keep_alive=True) as service:
        endpoint(service.url, HttpPool()).post("/ask", {})
        until(lambda: service.open == 0)
        assert service.accepted == 1


def test_a_client_and_a_service_close_their_connections() -> None:
    found = answer(body={"results": []})
    with serving(found, keep_alive=True) as service:
        with Client(service.url) as client:
            client.post("/ask", {})
            client.post("/ask", {})
        until(lambda: service.open == 0)
        system = HttpService(ServiceDescription(url=service.url), "rag", gate=ANYWHERE)
        assert not system.try_mapping("q", 3)
        assert not system.try_mapping("q", 3)
        assert (service.open, service.accepted) == (1, 2)
        system.close()
        until(lambda: service.open == 0)


def test_a_forked_process_opens_its_own_connection_and_leaves_its_parents_alone() -> None:
    program = """
import os, stat, sys
import numpy as np
from assay.clock import SystemClock
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.network import ANYWHERE
asked = Endpoint(EndpointOptions(url=sys.argv[1]), gate=ANYWHERE, clock=SystemClock(), rng=np.random.default_rng(0))
asked.post("/ask", {"from": "parent"})
def is_socket(number):
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
child = os.fork()
if child == 0:
    inherited = sum(map(is_socket, range(3, 256)))
    asked.post("/ask", {"from": "child"})
    os._exit(inherited)
inherited = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
asked.post("/ask", {"from": "parent"})
print(inherited)
"""
    with serving(YES, keep_alive=True) as service:
        command = [sys.executable, "-W", "error", "-c", program, service.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert service.accepted == 2
        assert [heard.body["from"] for heard in service.heard] == ["parent", "child", "parent"]
        until(lambda: service.open == 0)
    assert done.stdout.strip() == "0", "the child holds no connection of its parent"


def drip_head(handler: Handler) -> None:
    """Send the head of an answer a byte at a time, without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"x")


def drip_hints(handler: Handler) -> None:
    """Say again and again that an answer will come."""
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")


def drip_chunks(handler: Handler) -> None:
    """Send an answer in chunks of one byte, without end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b"1\r\n \r\n")


@pytest.mark.parametrize("drip", [drip_head, drip_hints, drip_chunks])
@pytest.mark.parametrize("reused", [False, True])
def test_a_drip_of_any_kind_is_cut_at_the_deadline(pool: HttpPool, drip: Any, reused: bool) -> None:
    clock = SystemClock()
    with serving(YES, drip, keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        asked.post("/ask", {})
        if not reused:
            pool.close()
        began = clock.monotonic()
        with pytest.raises(EndpointUnavailable, match=r"did not answer within 0\.5 s \(1 try\)"):
            asked.send("/ask", {}, deadline_s=0.5)
        assert 0.4 < clock.monotonic() - began < 5.0
        assert service.accepted == (1 if reused else 2)


def test_a_service_that_does_not_read_is_left_at_the_deadline(pool: HttpPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        request = request_to(f"http://127.0.0.1:{deaf.getsockname()[1]}/v1", body=b" " * 50_000_000)
        with pytest.raises(OutOfTime):
            pool.send(request, gate=ANYWHERE, within_s=0.5, max_bytes=1_000)


def test_a_service_that_reads_a_little_at_a_time_is_left_at_the_deadline(pool: HttpPool) -> None:
    clock, over = SystemClock(), threading.Event()

    def sip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while not over.wait(0.02):
                connection.recv(4_096)

    with socket.create_server(("127.0.0.1", 0)) as slow:
        sipping = threading.Thread(target=sip, args=(slow,))
        sipping.start()
        began = clock.monotonic()
        try:
            request = request_to(f"http://127.0.0.1:{slow.getsockname()[1]}/v1", body=b" " * 50_000_000)
            with pytest.raises(OutOfTime):
                pool.send(request, gate=ANYWHERE, within_s=0.5, max_bytes=1_000)
        finally:
            over.set()
            sipping.join()
        assert clock.monotonic() - began < 5.0


def test_a_refusal_in_mid_request_is_heard(pool: HttpPool) -> None:
    """A service may refuse a body by its size and hang up; what it said counts."""

    def refuse(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1_000)
            connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1_000_000):
                pass

    with socket.create_server(("127.0.0.1", 0)) as busy:
        refusing = threading.Thread(target=refuse, args=(busy,))
        refusing.start()
        request = request_to(f"http://127.0.0.1:{busy.getsockname()[1]}/v1", body=b" " * 5_000_000)
        assert pool.send(request, gate=ANYWHERE, within_s=30.0, max_bytes=1_000).status == 413
        pool.close()
        refusing.join()


def test_a_large_question_arrives_whole(pool: HttpPool) -> None:
    with serving(echo, keep_alive=True) as service:
        question = {"text": "é" * 300_000}
        asked = endpoint(service.url, pool)
        assert asked.post("/ask", question) == question
        assert asked.post("/ask", question) == question
        assert service.accepted == 1


def test_the_environment_changes_nothing(pool: HttpPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password word\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with serving(YES) as proxy, serving(YES) as service:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        endpoint(service.url, pool).post("/ask", {})
        assert (len(service.heard), proxy.heard) == (1, [])
        assert set(service.heard[0].headers) == {
            "Host",
            "Content-Type",
            "Accept",
            "Accept-Encoding",
            "Content-Length",
        }


@pytest.mark.parametrize("location", ["http://[broken", "http://127.0.0.1:1/", "//", "\N{LATIN SMALL LETTER E}:x"])
def test_a_redirect_is_refused_wherever_it_leads(pool: HttpPool, location: str) -> None:
    with serving(answer(302, Location=location)) as service:
        with pytest.raises(EndpointMisbehaved, match="302, a redirect"):
            endpoint(service.url, pool).post("/ask", {})
        assert len(service.heard) == 1


def test_cookies_are_not_sent_back(pool: HttpPool) -> None:
    with serving(answer(body={}, Set_Cookie="who=me; Path=/"), keep_alive=True) as service:
        asked = endpoint(service.url, pool)
        asked.post("/ask", {})
        asked.post("/ask", {})
        assert all("Cookie" not in heard.headers for heard in service.heard)


def test_a_path_is_sent_as_it_is(pool: HttpPool) -> None:
    with serving(YES) as service:
        asked = endpoint(service.url, pool)
        paths = ("/memory/../update", "/memory/a%2Fb/%2e%2e", "/find?q=a+b%20c&x=[1]", "/caf%C3%A9")
        for path in paths:
            asked.post(path, {})
        assert [heard.path for heard in service.heard] == [f"/v1{path}" for path in paths]


def test_an_address_without_a_path_is_asked_at_its_root(pool: HttpPool) -> None:
    with serving(YES) as service:
        asked = endpoint(service.url.removesuffix("/v1"), pool)
        for path in ("", "?q=x"):
            asked.post(path, {})
        assert [heard.path for heard in service.heard] == ["/", "/?q=x"]


def test_a_packed_answer_is_not_unpacked(pool: HttpPool) -> None:
    bomb = gzip.compress(b" " * 5_000_000)
    with serving(answer(body=bomb, Content_Encoding="gzip")) as service:
        with pytest.raises(EndpointMisbehaved, match="not JSON"):
            endpoint(service.url, pool, attempts=1, max_bytes=100_000).post("/ask", {})
        assert service.heard[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "headers",
    [{"X-Key": f"{SECRET}\r\nX: y"}, {"X-Key": f"{SECRET}\N{SNOWMAN}"}, {"X Key": SECRET}, {"Sch\xfcssel": SECRET}],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(pool: HttpPool, headers: dict[str, str]) -> None:
    with serving(YES) as service:
        with pytest.raises(SettingError, match="characters that HTTP does not allow") as caught:
            endpoint(service.url, pool, headers=headers).post("/ask", {})
        assert service.heard == []
    assert SECRET not in f"{caught.value} {caught.value.__cause__}"


def test_blanks_around_a_header_and_letters_of_latin_1_are_sent(pool: HttpPool) -> None:
    with serving(YES) as service:
        endpoint(service.url, pool, headers={"X-Name": " Jos\xe9\t"}).post("/ask", {})
        assert service.heard[0].headers["X-Name"] == "Jos\xe9"


@pytest.mark.parametrize(
    ("host", "sent"),
    [("api.example", "api.example"), ("b\xfccher.example", "xn--bcher-kva.example"), ("::1", "::1")],
)
def test_a_host_name_is_looked_up_in_ascii(host: str, sent: str) -> None:
    assert http_pool._encode_host(host) == sent


def test_a_host_name_that_would_become_another_is_refused(pool: HttpPool) -> None:
    with pytest.raises(SettingError, match="characters that HTTP does not allow"):
        endpoint("http://fa\xdf.example/v1", pool).post("/ask", {})


def test_a_host_that_is_an_address_of_ipv6_is_named_in_brackets() -> None:
    assert http_pool._parse_origin("http://[::1]:8710").header == b"[::1]:8710"
    assert http_pool._parse_origin("https://api.example").header == b"api.example"


def test_the_log_shows_no_question(pool: HttpPool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), serving(YES) as service:
        endpoint(service.url, pool, key=SECRET).post("/find?q=private-words", {"text": "private-words"})
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    assert not [line for line in lines if "private" in line or SECRET in line]


def test_the_gatekeeper_is_asked_before_each_request(pool: HttpPool) -> None:
    gate = Gatekeeper.of(["https://models.example"], offline=True)
    with serving(YES) as service:
        with pytest.raises(AddressRefused):
            pool.send(request_to(service.url), gate=gate, within_s=1.0, max_bytes=1_000)
        assert service.accepted == 0


@contextmanager
def serving_tls(certificate: Path) -> Iterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(YES, keep_alive=True) as service:
        # The handshake is made by the thread of the connection, so that one that fails does not end the service.
        service.socket = context.wrap_socket(service.socket, server_side=True, do_handshake_on_connect=False)
        yield service


def secure(service: Service) -> str:
    return service.url.replace("http:", "https:")


def test_tls_is_pooled_and_trusts_what_the_system_trusts(
    pool: HttpPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving_tls(certificate) as service:
        asked = endpoint(secure(service), pool, key=SECRET)
        for _ in range(10):
            assert asked.post("/ask", {}) == {"said": "yes"}
        assert (len(service.heard), service.accepted) == (10, 1)
        pool.close()
        until(lambda: service.open == 0)


def test_a_certificate_that_nobody_trusts_gets_no_request(pool: HttpPool, tmp_path: Path) -> None:
    with serving_tls(make_certificate(tmp_path)) as service:
        with pytest.raises(EndpointUnavailable, match=r"(?i)certificate.*\(3 tries\)") as problem:
            endpoint(secure(service), pool, key=SECRET).post("/ask", {})
        assert (problem.value.worked_on, service.heard) == (0, [])


def test_a_handshake_that_drips_is_cut_at_the_deadline(pool: HttpPool) -> None:
    over = threading.Event()

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            # A record of 16 KB is announced and never completed.
            connection.sendall(b"\x16\x03\x03\x40\x00")
            while not over.wait(0.02):
                connection.sendall(b"\x00")

    with socket.create_server(("127.0.0.1", 0)) as slow:
        dripping = threading.Thread(target=drip, args=(slow,))
        dripping.start()
        try:
            request = request_to(f"https://127.0.0.1:{slow.getsockname()[1]}/v1")
            with pytest.raises(OutOfTime):
                pool.send(request, gate=ANYWHERE, within_s=0.5, max_bytes=1_000)
        finally:
            over.set()
            dripping.join()


def test_an_answer_that_is_no_http_breaks_off(pool: HttpPool) -> None:
    def speak_otherwise(handler: Handler) -> None:
        handler.wfile.write(b"220 mail.example ESMTP\r\n")
        handler.close_connection = True

    with serving(speak_otherwise) as service, pytest.raises(BrokenOff) as problem:
        pool.send(request_to(service.url), gate=ANYWHERE, within_s=5.0, max_bytes=1_000)
    assert problem.value.sent


def test_what_calls_no_service_does_not_load_the_http_client() -> None:
    """It takes as long to import as a fifth of `assay --help`."""
    program = (
        "import sys\n"
        "import assay.api, assay.judging.panel, assay.judging.model_judge, assay.evaluation.run_judging\n"
        "import assay.research.pipeline, assay.server.application\n"
        "from assay.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('httpcore', 'assay.models.endpoint') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.splitlines()[-1] == "[]"
