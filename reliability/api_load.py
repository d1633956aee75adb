"""Sixty-four clients at one server: four searches to each save, over a memory that is filled before.

The server is `assay serve` with a process for each core, reached over loopback. Each client sends its next request when
the last one was answered. The first seconds are not counted. Memory is looked at in the last ten of them, and in the
last ten of all: once a second, and the median counts, since folding an index holds some megabytes for a moment. It is
the memory of all processes together; what several of them map (the index, libraries) is there once and counts once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from assay import wiring
from assay.records import Draft
from assay.settings import load_settings
from reliability.outcome import Check, Spread, at_least, below, none_of, spread

CLIENTS = 64
RATE = 200
"""Requests a second that are promised with the static embedder."""
LEAST_S = 30
"""Seconds from which on speed and growth are judged."""
SEARCHES = 0.8
"""Share of the requests that search; the others save."""
WARM_S = 30.0
"""Seconds of load before anything is counted: each process loads its model and its index first, and keeps the rows
that searches look at."""
LOOK_S = 10.0
"""Seconds at the end of a load in which memory is looked at."""
SUBJECTS = ("oven", "router", "invoice", "harbour", "boiler", "ledger", "garden", "antenna", "kettle", "mortgage")
ACTS = ("polls", "drops", "settles", "moves", "replaces", "warms", "archives", "signs", "rejects", "repeats")
FILLERS = tuple(f"{first}{second}" for first in ("mar", "tol", "sen", "vik", "ras", "dum") for second in "aeiouxyz")


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOutcome:
    """What clients and server saw."""

    memories: int
    embedder: str
    seconds: float
    requests: int
    errors: tuple[str, ...]
    search: Spread
    save: Spread
    every: Spread
    cpu_ms: float
    """Of the server's processes, for one request."""
    grown_percent: float
    resident_mb: float
    whole: bool
    """Whether it went on for long enough that speed and growth mean something."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds if self.seconds else 0.0

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return (
            f"{CLIENTS} clients for {self.seconds:.0f} s over {self.memories:,} memories ({self.embedder}): "
            f"{self.requests:,} requests, {self.rate:.0f}/s; search p50 {self.search.p50_ms:.0f} ms, "
            f"save p50 {self.save.p50_ms:.0f} ms, longest {self.every.longest_ms:.0f} ms; "
            f"{self.cpu_ms:.1f} ms of processor a request, "
            f"{self.resident_mb:.0f} MB, grown {self.grown_percent:+.1f} %"
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """Each promise of the scenario."""
        seen = (none_of("errors seen by clients", self.errors), at_least("requests", self.requests, CLIENTS))
        if not self.whole:
            return seen
        return (
            *seen,
            at_least("requests a second", int(self.rate), RATE),
            below("p99 of all requests", self.every.p99_ms, 500.0, "ms"),
            below("growth of memory", self.grown_percent, 10.0, "%"),
        )


@dataclass
class _Seen:
    searches: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def run(*, folder: Path, seconds: int, memories: int = 20_000, embedder: str = "static", seed: int = 1) -> LoadOutcome:
    """Fill a memory, serve it, and load the server for so many seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    fill(folder, memories, embedder, seed)
    seen = _Seen()
    with _served(folder, embedder) as (process, address):
        first = asyncio.run(_load(address, min(WARM_S, seconds), f"{seed}-warm", _Seen(), process))
        began = time.monotonic()
        last = asyncio.run(_load(address, seconds, f"{seed}", seen, process))
        took = time.monotonic() - began
    times = [*seen.searches, *seen.saves]
    return LoadOutcome(
        memories=memories,
        embedder=embedder,
        seconds=took,
        requests=len(times),
        errors=tuple(f"{count} x {what}" for what, count in seen.errors.most_common()),
        search=spread(seen.searches),
        save=spread(seen.saves),
        every=spread(times),
        cpu_ms=(last.cpu_s - first.cpu_s) * 1000.0 / max(len(times), 1),
        grown_percent=(last.resident / first.resident - 1.0) * 100.0,
        resident_mb=last.resident / 1e6,
        whole=seconds >= LEAST_S,
    )


def text_of(chance: random.Random) -> tuple[str, str]:
    """A title and a body like no other."""
    subject, act = chance.choice(SUBJECTS), chance.choice(ACTS)
    number = chance.randrange(10**9)
    rest = " ".join(chance.choices(FILLERS, k=24))
    return f"{subject} {number}", f"The {subject} {act} number {number} because of {rest}."


def fill(folder: Path, memories: int, embedder: str, seed: int) -> None:
    """A store with so many memories."""
    chance = random.Random(seed)
    options = {"db": str(folder / "store.db"), "embedder.kind": embedder}
    settings = load_settings(options=options).settings
    with wiring.open_engine(settings) as engine:
        scope = wiring.scope_of(settings)
        drafts = (_draft(chance, number) for number in range(memories))
        for _ in engine.saver.save_many(scope, drafts):
            pass
        engine.indexes.compact(scope)


def _draft(chance: random.Random, number: int) -> Draft:
    title, body = text_of(chance)
    return Draft(title=title, body=body, source_id=f"fill-{number}")


@contextmanager
def _served(folder: Path, embedder: str) -> Iterator[tuple[int, str]]:
    """`assay serve` as a process of its own, by its id and address."""
    own = {
        "ASSAY_DB": str(folder / "store.db"),
        "ASSAY_EMBEDDER_KIND": embedder,
        "ASSAY_SERVER_REQUESTS_PER_MINUTE": "10000000",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--workers", str(os.cpu_count() or 1)]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **own}, text=True)
    try:
        yield server.pid, _address(server)
    finally:
        server.send_signal(signal.SIGTERM)
        # Reads what is left and closes the pipe, too.
        server.communicate(timeout=60)


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    line = server.stdout.readline()
    if "http://" not in line:
        raise RuntimeError(f"the server did not start: {line!r}")
    return "http://" + line.split("http://", 1)[1].split()[0]


class _Used(NamedTuple):
    """What the server's processes use together."""

    resident: float
    """Bytes in memory."""
    cpu_s: float


def _family(process: int) -> list[int]:
    """A process, its children and theirs."""
    children = [child for thread in Path(f"/proc/{process}/task").iterdir() for child in _begun_by(thread)]
    return [process, *(one for child in children for one in _family(child))]


def _begun_by(thread: Path) -> list[int]:
    # A thread may have ended since it was listed; its children are another's then.
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(one) for one in (thread / "children").read_text(encoding="utf-8").split()]
    return []


def _resident(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _cpu(process: int) -> float:
    after = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after[11]) + int(after[12])) / os.sysconf("SC_CLK_TCK")


async def _load(address: str, seconds: float, seed: str, seen: _Seen, process: int) -> _Used:
    ends = time.monotonic() + seconds
    looking = asyncio.create_task(_look(process, ends))
    await asyncio.gather(*(_client(address, number, seed, ends, seen) for number in range(CLIENTS)))
    return _Used(await looking, sum(map(_cpu, _family(process))))


async def _look(process: int, ends: float) -> float:
    """The memory of a process and its family as the load ends."""
    await asyncio.sleep(max(ends - LOOK_S - time.monotonic(), 0.0))
    looks = [sum(map(_resident, _family(process)))]
    while time.monotonic() + 1.0 < ends:
        await asyncio.sleep(1.0)
        looks.append(sum(map(_resident, _family(process))))
    return median(looks)


async def _client(address: str, number: int, seed: str, ends: float, seen: _Seen) -> None:
    chance = random.Random(f"{seed}-{number}")
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        while time.monotonic() < ends:
            searching = chance.random() < SEARCHES
            path, body = _search(chance) if searching else _save(chance)
            began = time.monotonic()
            try:
                status = await _post(reader, writer, place.netloc, path, body)
            except (OSError, ValueError, asyncio.IncompleteReadError) as problem:
                seen.errors[f"{type(problem).__name__} at {path}"] += 1
                return
            (seen.searches if searching else seen.saves).append(time.monotonic() - began)
            if status != 200:
                seen.errors[f"{status} at {path}"] += 1
    finally:
        writer.close()


def _search(chance: random.Random) -> tuple[str, bytes]:
    query = f"{chance.choice(SUBJECTS)} {chance.choice(ACTS)} {chance.choice(FILLERS)} {chance.choice(FILLERS)}"
    return "/api/memory/search", json.dumps({"query": query, "k": 10}).encode()


def _save(chance: random.Random) -> tuple[str, bytes]:
    title, body = text_of(chance)
    return "/api/memory", json.dumps({"title": title, "body": body}).encode()


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, path: str, body: bytes) -> int:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    answer = await reader.readuntil(b"\r\n\r\n")
    lines = answer.decode("latin-1").split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
    await reader.readexactly(length)
    return int(lines[0].split()[1])
