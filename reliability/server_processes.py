"""Real servers on loopback over one database, and a client that goes to the next one when one is away."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

START_S = 120.0
"""Seconds in which a server must have begun."""
STOP_S = 90.0
AWAY_S = 30.0
"""Seconds for which a client tries one server after the other before it gives up."""


class ServerProcess:
    """One `assay serve` with an index folder and a port of its own."""

    def __init__(self, folder: Path, number: int, environment: Mapping[str, str]) -> None:
        self.number = number
        self.port = _free_port()
        self._log = folder / f"server-{number}.log"
        own = {"ASSAY_INDEX_FOLDER": str(folder / f"index-{number}"), "ASSAY_RUNS_FOLDER": str(folder / "runs")}
        self._environment = {**os.environ, **environment, **own, "PYTHONUNBUFFERED": "1"}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None while it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it; `wait_until_ready` waits for it."""
        command = [sys.executable, "-m", "assay", "serve", "--port", str(self.port), "--require-token"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=self._environment)

    def wait_until_ready(self) -> None:
        """Wait until it says that requests may be sent to it."""
        deadline = time.monotonic() + START_S
        while self._ask_ready() != 200:
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"server {self.number} did not begin: {self._log.read_text()[-2_000:]}")
            time.sleep(0.05)

    def stop(self) -> int:
        """Stop it as a supervisor does, with SIGTERM; return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL it."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(how)
        return process.wait(STOP_S)

    def _ask_ready(self) -> int:
        with suppress(OSError):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                    return int(answer.status)
            except urllib.error.HTTPError as refused:
                return refused.code
        return 0


class Servers:
    """Several of them; all are gone when the `with` block ends."""

    def __init__(self, folder: Path, count: int, environment: Mapping[str, str]) -> None:
        self.all = [ServerProcess(folder, number, environment) for number in range(count)]

    def __enter__(self) -> Self:
        """Start all at the same moment, and wait for them."""
        try:
            for server in self.all:
                server.start()
            for server in self.all:
                server.wait_until_ready()
        except BaseException:
            self._kill_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill_all()

    def _kill_all(self) -> None:
        for server in self.all:
            server.kill()

    @property
    def ports(self) -> list[int]:
        """Where they listen."""
        return [server.port for server in self.all]


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    body: Any
    port: int
    """Which server it was."""
    tries: int
    """Connections that were refused or closed before it."""


class NextServerClient:
    """A client of several servers: where a connection is refused or ends without an answer, the next one is tried.

    A request that is sent again carries the same `Idempotency-Key`, so a write is done once.
    """

    def __init__(self, ports: Sequence[int], token: str, *, first: int = 0) -> None:
        self._ports = list(ports)
        self._token = token
        self._place = first % len(self._ports)
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def turn_to(self, place: int) -> None:
        """Send the next request to another server."""
        if place % len(self._ports) != self._place:
            self._go_to(place)

    async def send(self, method: str, path: str, body: Any = None, *, key: str = "") -> Answer:
        """Send a request until a server answers it; raise `ConnectionError` when none does."""
        deadline, tries = time.monotonic() + AWAY_S, 0
        while True:
            port = self._ports[self._place]
            try:
                status, headers, found = await self._exchange(method, path, body, key)
            except (OSError, asyncio.IncompleteReadError) as problem:
                tries += 1
                self._go_to(self._place + 1)
                if time.monotonic() > deadline:
                    raise ConnectionError(f"no server answers {path}: {problem!r}") from problem
                await asyncio.sleep(0.02 * min(tries, 10))
                continue
            if headers.get("connection") == "close":
                # The server is being stopped: the next request goes elsewhere.
                self._go_to(self._place + 1)
            return Answer(status, found, port, tries)

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _go_to(self, place: int) -> None:
        self.close()
        self._place = place % len(self._ports)

    async def _exchange(self, method: str, path: str, body: Any, key: str) -> tuple[int, dict[str, str], Any]:
        if self._open is None:
            self._open = await asyncio.open_connection("127.0.0.1", self._ports[self._place])
        reader, writer = self._open
        sent = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {self._token}",
            "Content-Type: application/json",
            f"Content-Length: {len(sent)}",
            *([f"Idempotency-Key: {key}"] if key else []),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        found = await reader.readexactly(int(headers["content-length"]))
        # What the gateway refuses before it has read a request is plain text.
        is_json = headers.get("content-type", "").startswith("application/json")
        return int(head[0].split()[1]), headers, json.loads(found) if is_json else {"text": found.decode()}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
