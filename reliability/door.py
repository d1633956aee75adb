"""Connections that only wait, at a server that may have 1,024 open files: good requests go on.

The server is `assay serve --require-token`, one process, with deadlines so long that none of them helps. In turn it is
held by connections that send nothing, half a head, or half a body; then by 60 unauthenticated bodies of 4 MB that stop
after 1 MB; then by tokens that open nothing. Meanwhile somebody with a good token searches, each time on a connection
of its own, from the same address.

    python -m reliability.door [CONNECTIONS]
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from assay import wiring
from assay.access import Access, Tokens
from assay.gateway.connections import raise_file_limit
from assay.records import Scope
from assay.settings import load_settings
from reliability.outcome import Check, Spread, at_least, below, broken, none_of, spread

FILES = 1_024
"""Open files that the server may have."""
PATIENCE_S = 30.0
LARGE_BODIES = 60
LARGE = 4_000_000
SENT_OF_LARGE = 1_000_000
MOST_MB = 40.0
"""Megabytes that the large half bodies may cost: 235 when they were read before anybody was asked who they are."""
WRONG_TOKENS = 40
"""At least so many are shown: more than are let through before the first 429."""
NEVER_S = "3600"
HOST = "Host: localhost\r\n"
KINDS = {
    "that send nothing": b"",
    "with half a head": f"GET /healthz HTTP/1.1\r\n{HOST}X-Half".encode(),
    "with half a body": f"POST /login HTTP/1.1\r\n{HOST}Content-Length: 100\r\n\r\ntoken=".encode(),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class DoorOutcome:
    """What a caller with a good token saw."""

    connections: int
    """Opened for each kind."""
    requests: int
    errors: tuple[str, ...]
    times: dict[str, Spread]
    """Of good requests, by what else went on."""
    grown_mb: float
    """Memory of the server after the large half bodies."""
    refused_bodies: int
    refused_tokens: int
    seconds: float

    @property
    def did(self) -> str:
        """What was done, in one line."""
        shown = "; ".join(
            f"{kind} p50 {found.p50_ms:.0f}, p99 {found.p99_ms:.0f} ms" for kind, found in self.times.items()
        )
        return (
            f"{self.connections:,} connections of each kind at a server with {FILES:,} files, {self.requests} good "
            f"requests meanwhile: {shown}; {self.seconds:.0f} s"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        slowest = max(found.p99_ms for found in self.times.values())
        return (
            none_of("good requests that failed", self.errors),
            at_least("good requests", self.requests, len(self.times)),
            below("p99 of good requests, whatever else goes on", slowest, 1_000.0, "ms"),
            at_least("large bodies refused before they came", self.refused_bodies, LARGE_BODIES),
            below("memory that they hold", self.grown_mb, MOST_MB, "MB"),
            at_least("tokens that open nothing, refused with 429", self.refused_tokens, 1),
        )


class _Server(NamedTuple):
    """A server, and a token that opens it."""

    process: int
    place: tuple[str, int]
    token: str


def run(*, folder: Path, connections: int, seed: int = 1) -> DoorOutcome:
    """Hold a server with so many connections of each kind, and see whether good requests go on."""
    del seed
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    raise_file_limit()
    each = max(10, min(connections // 10, 100))
    with _served(folder) as server:
        caller = _Caller(server)
        caller.ask("alone", each)
        for kind, sent in KINDS.items():
            with _held(server.place, connections, sent):
                caller.ask(f"beside connections {kind}", each)
        before = _resident_mb(server.process)
        refused_bodies = _half_send_large_bodies(server.place)
        grown = _resident_mb(server.process) - before
        refused_tokens = caller.ask_beside_wrong_tokens(each)
    return DoorOutcome(
        connections=connections,
        requests=sum(map(len, caller.times.values())),
        errors=tuple(f"{count} x {what}" for what, count in caller.errors.most_common()),
        times={kind: spread(times) for kind, times in caller.times.items()},
        grown_mb=grown,
        refused_bodies=refused_bodies,
        refused_tokens=refused_tokens,
        seconds=time.monotonic() - began,
    )


class _Caller:
    """Somebody with a good token."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self.times: dict[str, list[float]] = {}
        self.errors: Counter[str] = Counter()

    def ask(self, circumstance: str, times: int) -> None:
        """Search, each time on a connection of its own."""
        for _ in range(times):
            self._ask_once(circumstance)

    def ask_beside_wrong_tokens(self, times: int) -> int:
        """The same after each of many wrong tokens; how many of those were refused with 429."""
        refused = 0
        for number in range(max(times, WRONG_TOKENS)):
            refused += _search(self._server.place, f"assay_{number:043d}") == 429
            self._ask_once("beside wrong tokens")
        return refused

    def _ask_once(self, circumstance: str) -> None:
        began = time.monotonic()
        try:
            status = _search(self._server.place, self._server.token)
        except (OSError, ValueError) as problem:
            self.errors[f"{type(problem).__name__} {circumstance}"] += 1
            return
        self.times.setdefault(circumstance, []).append(time.monotonic() - began)
        if status != 200:
            self.errors[f"{status} {circumstance}"] += 1


@contextmanager
def _held(place: tuple[str, int], connections: int, sent: bytes) -> Iterator[None]:
    """Connections on which something was sent and nothing follows."""
    with ExitStack() as held:
        for _ in range(connections):
            connection = held.enter_context(socket.create_connection(place, timeout=PATIENCE_S))
            # The server may have ended it already, to make room.
            with suppress(ConnectionError):
                connection.sendall(sent)
        yield


def _half_send_large_bodies(place: tuple[str, int]) -> int:
    """Begin bodies that nobody may send; how many were refused while they were still to come."""
    head = f"POST /login HTTP/1.1\r\n{HOST}Content-Length: {LARGE}\r\n\r\n".encode()
    refused = 0
    with ExitStack() as held:
        waiting = []
        for _ in range(LARGE_BODIES):
            connection = held.enter_context(socket.create_connection(place, timeout=PATIENCE_S))
            with suppress(ConnectionError):
                connection.sendall(head + b"x" * SENT_OF_LARGE)
            waiting.append(connection)
        for connection in waiting:
            with suppress(OSError, ValueError):
                refused += _status(connection) == 413
    return refused


def _search(place: tuple[str, int], token: str) -> int:
    body = json.dumps({"query": "makefile tabs"}).encode()
    head = (
        f"POST /api/memory/search HTTP/1.1\r\n{HOST}Authorization: Bearer {token}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(place, timeout=PATIENCE_S) as connection:
        connection.sendall(head.encode() + body)
        return _status(connection)


def _status(connection: socket.socket) -> int:
    with connection.makefile("rb") as answer:
        words = answer.readline().split()
    if len(words) < 2:
        raise ConnectionError("closed without an answer")
    return int(words[1])


@contextmanager
def _served(folder: Path) -> Iterator[_Server]:
    """`assay serve` as a process of its own that may have few open files."""
    options = {"db": str(folder / "store.db"), "embedder.kind": "none"}
    settings = load_settings(options=options).settings
    with wiring.open_engine(settings.change()) as engine:
        scope = Scope(tenant=settings.tenant, principal="door")
        token = Tokens(engine.store, engine.clock).create(scope, "door", Access.READ).text
    own = {
        "ASSAY_DB": settings.db,
        "ASSAY_EMBEDDER_KIND": "none",
        "ASSAY_SERVER_REQUESTS_PER_MINUTE": "10000000",
        "ASSAY_SERVER_HEAD_S": NEVER_S,
        "ASSAY_SERVER_BODY_S": NEVER_S,
        "ASSAY_SERVER_IDLE_S": NEVER_S,
        "PYTHONUNBUFFERED": "1",
    }
    # The limit is set by a shell, which then becomes the server: no code of ours runs between fork and exec.
    limited = f'ulimit -n {FILES} && exec "$@"'
    command = ["sh", "-c", limited, "sh", sys.executable, "-m", "assay", "serve", "--port", "0", "--require-token"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **own}, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if "http://" not in line:
            raise RuntimeError(f"the server did not start: {line!r}")
        place = urlsplit("http://" + line.split("http://", 1)[1].split()[0])
        yield _Server(server.pid, (str(place.hostname), int(place.port or 0)), token)
    finally:
        server.send_signal(signal.SIGTERM)
        # Reads what is left and closes the pipe, too.
        server.communicate(timeout=60)


def _resident_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="assay-") as temporary:
        outcome = run(folder=Path(temporary), connections=int(sys.argv[1]) if len(sys.argv) > 1 else 1_100)
    print(outcome.did)
    for check in outcome.checks:
        print(f"{'held  ' if check.held else 'BROKEN'} {check.promise}: {check.seen}")
    raise SystemExit(bool(broken(outcome)))
