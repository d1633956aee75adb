"""Nothing in Assay opens a connection beside the gatekeeper, which offline lets only configured addresses pass.

`reliability/egress.py` watches whole commands; here are the rules in the code.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tests.cli.telling import Run
from tests.models.service import serving

import assay
from assay.client import Client
from assay.clock import SystemClock
from assay.errors import AddressRefused, SettingError
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.network import ANYWHERE, Gatekeeper, origin_of
from assay.settings import Settings
from assay.systems.http_service import HttpService, ServiceDescription
from assay.systems.mcp_connection import McpConnection, McpMapping, SearchCall, ServerStart
from assay.tracing import exporting
from assay.wiring.network import gatekeeper_of

SOURCE = Path(assay.__file__).parent
CONNECTING = {
    "aiohttp",
    "ftplib",
    "grpc",
    "http.client",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "imaplib",
    "poplib",
    "psycopg",
    "requests",
    "smtplib",
    "socket",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "websockets",
    "xmlrpc.client",
}
"""Modules of the standard library and of dependencies that can open a connection."""
MAY_CONNECT = {
    "models/http_pool.py": {"socket"},
    "systems/mcp_connection.py": {"httpx2"},
    "tracing/exporting.py": {"requests"},
}
"""These ask the gatekeeper first; the tests below hold it."""
MAY_LISTEN = {
    "gateway/serving.py": {"socket"},
    "mcp/http.py": {"socket"},
    "server/serving.py": {"socket"},
    "testing/fault_server.py": {"socket"},
}
"""These take connections and open none."""
MAY_ASK_SIBLINGS = {"server/streaming.py": {"socket"}}
"""Serving processes that ask each other over Unix sockets, which never leave this machine; a test below holds it."""
MAY_REACH_THE_STORE = {"storage/checkpoints/postgres.py": {"psycopg"}}
"""The store's own address is a configured one."""
MAY_REACH_A_NAMED_TABLE = {"storage/vector_tables.py": {"psycopg"}}
"""A table under test, opened by `systems/adapters/pgvector.py` alone, which asks the gatekeeper first."""


class Names(NamedTuple):
    """What a module imports, and what it calls."""

    imports: frozenset[str]
    calls: frozenset[str]


@cache
def names_in(path: Path) -> Names:
    """Read a module once for all tests."""
    imports: set[str] = set()
    calls: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports.add(node.module)
            imports.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            calls.add(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
    return Names(frozenset(imports), frozenset(calls))


def connecting(names: AbstractSet[str]) -> set[str]:
    return {module for module in CONNECTING for name in names if name == module or name.startswith(f"{module}.")}


def test_no_module_opens_connections_beside_the_gatekeeper() -> None:
    found = {}
    for path in SOURCE.rglob("*.py"):
        used = connecting(names_in(path).imports)
        if used:
            found[path.relative_to(SOURCE).as_posix()] = used
    assert found == {
        **MAY_CONNECT,
        **MAY_LISTEN,
        **MAY_ASK_SIBLINGS,
        **MAY_REACH_THE_STORE,
        **MAY_REACH_A_NAMED_TABLE,
    }


def test_a_table_under_test_is_opened_only_where_the_gatekeeper_is_asked() -> None:
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "assay.storage.vector_tables" in names_in(path).imports
    }
    assert users == {"systems/adapters/pgvector.py"}
    assert "check" in names_in(SOURCE / "systems/adapters/pgvector.py").calls


@pytest.mark.parametrize("name", sorted(MAY_LISTEN))
def test_what_listens_never_connects(name: str) -> None:
    calls = {
        node.func.attr
        for node in ast.walk(ast.parse((SOURCE / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert calls & {"connect", "connect_ex", "create_connection", "sendto", "open_connection"} == set()


@pytest.mark.parametrize("name", sorted(MAY_ASK_SIBLINGS))
def test_siblings_are_asked_over_unix_sockets_alone(name: str) -> None:
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "socket"]
    assert {node.attr for node in used} == {"socket", "AF_UNIX"}
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "socket.socket"]
    assert [ast.unparse(node.args[0]) for node in made] == ["socket.AF_UNIX"] * len(made)


@pytest.mark.parametrize("name", sorted(MAY_CONNECT))
def test_what_connects_knows_the_gatekeeper(name: str) -> None:
    assert "assay.network" in names_in(SOURCE / name).imports


OPENING = {
    "connect_tcp",
    "connect_unix",
    "create_connection",
    "create_datagram_endpoint",
    "getaddrinfo",
    "gethostbyname",
    "open_connection",
    "urlopen",
    "urlretrieve",
}
"""Calls that open a connection or look up a name without any of the modules above."""
STARTING = {"Popen", "check_call", "check_output", "create_subprocess_exec", "open_process", "run_process", "system"}
"""Calls that start another program; `subprocess.run` is told by its import."""
MAY_START = {
    "index/graphs.py",
    "storage/checkpoints/postgres.py",
    "storage/erasing.py",
    "systems/mcp_connection.py",
}
"""
Assay's own program that makes graphs of vectors; programs of PostgreSQL, for a store that is there; an MCP server under
test that the user names.
"""


def test_no_module_opens_connections_by_another_call() -> None:
    found = {path.relative_to(SOURCE).as_posix(): names_in(path).calls & OPENING for path in SOURCE.rglob("*.py")}
    assert {name: calls for name, calls in found.items() if calls} == {"models/http_pool.py": {"create_connection"}}


def test_few_modules_start_programs() -> None:
    starting = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if names_in(path).calls & STARTING or "subprocess" in names_in(path).imports
    }
    assert starting == MAY_START


OFFLINE = Gatekeeper.of(["https://models.example/v1"], offline=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://models.example.attacker/v1",
        "http://models.example/v1",
        "https://models.example:8443/v1",
        "https://models.example@attacker.example/v1",
        "http://127.0.0.1:9999/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_offline_refuses_every_other_address_by_name(url: str) -> None:
    with pytest.raises(AddressRefused) as problem:
        OFFLINE.check(url)
    assert origin_of(url) in problem.value.message
    assert "network.allow" in problem.value.remedy


def test_offline_lets_the_configured_address_pass_however_it_is_written() -> None:
    for url in ("https://models.example/other", "https://MODELS.example:443", "https://models.example/v1?x=1"):
        OFFLINE.check(url)
        with pytest.raises(AddressRefused):
            OFFLINE.check(url.lower().replace("models.example", "models.example.org"))


def test_an_address_that_cannot_be_read_is_refused_and_its_password_not_shown() -> None:
    with pytest.raises(SettingError) as problem:
        OFFLINE.check("ftp://me:hunter2@models.example/")
    assert "hunter2" not in problem.value.message


def test_without_offline_everything_passes() -> None:
    url = "https://anything.example"
    Gatekeeper.of(["nonsense"], offline=False).check(url)
    with pytest.raises(AddressRefused):
        Gatekeeper.of(["https://models.example"], offline=True).check(url)


def test_the_settings_say_what_is_configured() -> None:
    settings = Settings(
        db="x.db",
        network_offline=True,
        network_allow="https://search.example, http://127.0.0.1:9000",
        model_url="https://models.example/v1",
        embedder="remote",
        embedder_url="https://vectors.example/v1",
        otel_exporter="otlp",
        otel_endpoint="http://127.0.0.1:4318/v1/traces",
        alerts_webhook="https://chat.example/hooks/1",
    )
    assert gatekeeper_of(settings).allowed == {
        "https://models.example:443",
        "https://vectors.example:443",
        "https://chat.example:443",
        "http://127.0.0.1:4318",
        "https://search.example:443",
        "http://127.0.0.1:9000",
    }


def test_an_endpoint_that_is_refused_is_never_made() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(AddressRefused):
        Endpoint(EndpointOptions(url="http://127.0.0.1:9"), gate=OFFLINE, clock=SystemClock(), rng=rng)


def test_a_service_and_an_mcp_server_that_are_refused_are_never_asked() -> None:
    with serving() as service:
        with pytest.raises(AddressRefused):
            HttpService(ServiceDescription(url=service.url), "rag", gate=OFFLINE)
        mapping = McpMapping(server=ServerStart(url=service.url), search=SearchCall(tool="find"), results={})
        with pytest.raises(AddressRefused):
            McpConnection(mapping, gate=OFFLINE)
        assert service.heard == []


def test_a_client_of_the_api_heeds_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_OFFLINE", "1")
    Client()
    with pytest.raises(AddressRefused):
        Client("https://assay.example", token="x")
    monkeypatch.setenv("ASSAY_NETWORK_ALLOW", "https://assay.example")
    Client("https://assay.example")


class Collector(BaseHTTPRequestHandler):
    """Notes who sends spans, and sends them on to another place if it has one."""

    heard: ClassVar[list[int]] = []
    """The port of each server that was sent something."""
    elsewhere: ClassVar[dict[int, int]] = {}
    """Where each server redirects to, by port."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        port: int = self.connection.getsockname()[1]
        self.heard.append(port)
        self.send_response(307 if port in self.elsewhere else 200)
        if port in self.elsewhere:
            self.send_header("Location", f"http://127.0.0.1:{self.elsewhere[port]}/v1/traces")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@contextmanager
def collecting() -> Iterator[int]:
    """A collector of spans on a port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as web:
        thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web.server_port
        finally:
            web.shutdown()
            thread.join()


@pytest.mark.parametrize("proxied", [False, True])
def test_spans_go_to_the_collector_alone(monkeypatch: pytest.MonkeyPatch, proxied: bool) -> None:
    with collecting() as chosen, collecting() as other:
        monkeypatch.setattr(Collector, "heard", [])
        monkeypatch.setattr(Collector, "elsewhere", {chosen: other})
        if proxied:
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{other}")
        provider = TracerProvider()
        exporter = exporting.otlp(f"http://127.0.0.1:{chosen}/v1/traces", ANYWHERE)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("test").start_as_current_span("span"):
            pass
        provider.shutdown()
        assert set(Collector.heard) == {chosen}


def test_a_collector_that_is_refused_gets_no_exporter() -> None:
    with pytest.raises(AddressRefused):
        exporting.otlp("http://127.0.0.1:4318/v1/traces", OFFLINE)


def test_the_web_framework_exports_nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI would send requests to a collector that variables of the environment name."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    made: list[dict[str, object]] = []
    tree = ast.parse((SOURCE / "server" / "application.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "FastAPI":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            made.append(ast.literal_eval(given["telemetry"]))
    assert len(made) == 1
    told = FastAPI(telemetry=made[0])._telemetry  # type: ignore[arg-type]
    assert [told[name] for name in ("auto_configure", "tracing", "metrics", "logs")] == [False] * 4


def test_a_run_refuses_a_system_beyond_the_configured_addresses(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The option reaches the environment; set here so that it is put back.
    monkeypatch.setenv("ASSAY_OFFLINE", "0")
    with serving() as service:
        (tmp_path / "service.toml").write_text(f'url = "{service.url}"\n', encoding="utf-8")
        told = run("--offline", "run", "hotel", "--system", "http:service.toml")
        assert (told.code, service.heard) == (3, [])
        assert f"offline is on, and {origin_of(service.url)} is not a configured address" in told.err


def test_a_client_program_without_network_needs_no_name_to_be_looked_up() -> None:
    """The refusal comes before DNS: the name in it does not exist."""
    program = (
        "import socket, json\n"
        "asked = []\n"
        "def look(*given, **more): asked.append(given[0]); raise OSError('no')\n"
        "socket.getaddrinfo = look\n"
        "import assay\n"
        "try: assay.Client('https://nowhere.invalid', token='x').search('x')\n"
        "except assay.AssayError as problem: print(json.dumps([problem.code, asked]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"ASSAY_OFFLINE": "1"}
    )
    assert json.loads(done.stdout) == ["address_refused", []]
