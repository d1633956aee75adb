"""How many calls a second the client of services makes: `python -m bench.http_client [--seconds N] [--json]`.

A small HTTP/1.1 server in a process of its own answers on loopback, with and without TLS, and counts the connections it
accepts. Two clients ask it by turns: Assay's `Endpoint` with its pooled connections, and `http.client` with a new
connection and a timer for each call, which is how `Endpoint` worked before. The rounds alternate and the best one of
each counts, since other work on the machine only slows them; processor time hardly depends on it.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.models.certificates import make_certificate

from assay.clock import SystemClock
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.models.http_pool import HttpPool
from assay.network import ANYWHERE

ROUNDS = 20
SMALL = 200
"""Bytes of a small answer: a short reply of a model."""
LARGE = 1_000_000
"""Bytes of a large answer: a batch of vectors."""
DEADLINE_S = 60.0
QUESTION = {"model": "bench", "input": "Where are the keys kept?"}


class Load(NamedTuple):
    """What is asked, and by how many threads at once."""

    name: str
    answer_bytes: int
    threads: int
    tls: bool = False


LOADS = (
    Load("small, 1 thread", SMALL, 1),
    Load("small, 8 threads", SMALL, 8),
    Load("1 MB, 1 thread", LARGE, 1),
    Load("small, TLS, 1 thread", SMALL, 1, tls=True),
    Load("small, TLS, 8 threads", SMALL, 8, tls=True),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """What one client reached under one load."""

    load: str
    client: str
    calls_per_s: float
    """In the best round."""
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    """Processor time of the client for each call; that of the server is left out."""
    calls: int
    connections: int
    """How many connections the server accepted for these calls."""


Call = Callable[[str], None]


def measure(seconds: float) -> list[Speed]:
    """Measure both clients under every load, `seconds` for each."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificate(Path(folder))
        # Both clients trust what the system trusts, and this variable adds to it.
        os.environ["SSL_CERT_FILE"] = str(certificate)
        with serve() as plain, serve(certificate) as secure, closing(HttpPool()) as pool:
            speeds: list[Speed] = []
            for load in LOADS:
                url = secure if load.tls else plain
                speeds += _compare(url, load, _clients(url, pool), seconds)
            return speeds


def _clients(url: str, pool: HttpPool) -> dict[str, Call]:
    options = EndpointOptions(url=url)
    endpoint = Endpoint(options, gate=ANYWHERE, clock=SystemClock(), rng=np.random.default_rng(0), pool=pool)
    return {
        "a connection for each call": lambda path: call_once(url, path),
        "assay, pooled": lambda path: endpoint.post(path, QUESTION),
    }


def call_once(url: str, path: str) -> None:
    """Ask on a new connection that a timer cuts at the deadline, and read the answer as JSON."""
    with closing(_connect(url)) as connection:
        watch = threading.Timer(DEADLINE_S, connection.close)
        watch.start()
        try:
            connection.request("POST", path, json.dumps(QUESTION).encode(), {"Content-Type": "application/json"})
            json.loads(connection.getresponse().read())
        finally:
            watch.cancel()


def _connect(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    if address.scheme == "https":
        return http.client.HTTPSConnection(address.netloc, timeout=DEADLINE_S, context=ssl.create_default_context())
    return http.client.HTTPConnection(address.netloc, timeout=DEADLINE_S)


def _compare(url: str, load: Load, clients: dict[str, Call], seconds: float) -> Iterator[Speed]:
    """Run the clients by turns and yield what each reached."""
    path = f"/{load.answer_bytes}"
    rates: dict[str, list[float]] = {name: [] for name in clients}
    times: dict[str, list[float]] = {name: [] for name in clients}
    connections = dict.fromkeys(clients, 0)
    cpu_s = dict.fromkeys(clients, 0.0)
    for _ in range(ROUNDS):
        for name, call in clients.items():
            accepted = _accepted(url)
            began = time.process_time()
            rate, took = _run_round(lambda call=call: call(path), load.threads, seconds / ROUNDS)  # type: ignore[misc]
            cpu_s[name] += time.process_time() - began
            rates[name].append(rate)
            times[name] += took
            # Minus the connection that asked for the second number.
            connections[name] += _accepted(url) - accepted - 1
    for name in clients:
        p50, p99 = np.percentile(times[name], [50, 99]) * 1000.0
        yield Speed(
            load=load.name,
            client=name,
            calls_per_s=max(rates[name]),
            p50_ms=float(p50),
            p99_ms=float(p99),
            cpu_ms=cpu_s[name] / len(times[name]) * 1000.0,
            calls=len(times[name]),
            connections=connections[name],
        )


def _run_round(call: Callable[[], None], threads: int, seconds: float) -> tuple[float, list[float]]:
    """Call from several threads until the time is over; return calls a second and the seconds of each call."""
    ends = time.perf_counter() + seconds
    took: list[float] = []

    def work() -> None:
        while (begin := time.perf_counter()) < ends:
            call()
            took.append(time.perf_counter() - begin)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(took) / (time.perf_counter() - began), took


def _accepted(url: str) -> int:
    """Return how many connections the server has accepted, this one included."""
    with closing(_connect(url)) as connection:
        connection.request("GET", "/accepted")
        return int(json.loads(connection.getresponse().read()))


@contextmanager
def serve(certificate: Path | None = None) -> Iterator[str]:
    """Run the server in a process of its own and give its address; with a certificate it speaks TLS."""
    command = [sys.executable, "-m", "bench.http_client", "--serve", str(certificate or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout is None:
                raise AssertionError
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


class _Answers(asyncio.Protocol):
    """Answers requests with as many bytes of JSON as the path says, and keeps the connection open."""

    accepted = 0

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        _Answers.accepted += 1
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        fields = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
        size = next((int(value) for name, _, value in fields if name == b"content-length"), 0)
        if len(rest) < size:
            return
        self._received = rest[size:]
        wanted = head.split(b" ", 2)[1].decode().strip("/")
        body = str(_Answers.accepted).encode() if wanted == "accepted" else _body(int(wanted))
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.write(answer + body)


def _body(size: int) -> bytes:
    """Return a JSON string of this many bytes."""
    return b'"' + b"x" * (size - 2) + b'"'


async def _serve_forever(certificate: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    if context:
        context.load_cert_chain(certificate)
    server = await asyncio.get_running_loop().create_server(_Answers, "127.0.0.1", 0, backlog=1_024, ssl=context)
    port = server.sockets[0].getsockname()[1]
    print(f"{'https' if context else 'http'}://127.0.0.1:{port}", flush=True)
    await server.serve_forever()


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.http_client", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each client and load")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", metavar="CERTIFICATE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(_serve_forever(given.serve))
        return
    speeds = measure(given.seconds)
    if given.json:
        print(json.dumps([asdict(speed) for speed in speeds]))
        return
    table = Table("load", "client", "calls/s", "p50 ms", "p99 ms", "CPU ms", "calls", "connections")
    for speed in speeds:
        milliseconds = [f"{figure:.2f}" for figure in (speed.p50_ms, speed.p99_ms, speed.cpu_ms)]
        counts = (f"{speed.calls:,}", f"{speed.connections:,}")
        table.add_row(speed.load, speed.client, f"{speed.calls_per_s:,.0f}", *milliseconds, *counts)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
