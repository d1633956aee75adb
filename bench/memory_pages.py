"""How long the pages of many memories take: `python -m bench.memory_pages [--memories 50000] [--json]`.

A store is filled with that many memories of some hundred words, one in ten superseded, joined in a row by edges; then
`assay serve` serves it in a process of its own, and one client asks for each address over loopback. The time is the
client's: request sent to last byte read. The first request of each address is not counted, and counted apart: it makes
what later ones find again as long as nothing changes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import numpy as np
from rich.console import Console
from rich.table import Table

from assay.clock import SystemClock
from assay.records import Chunk, Edge, EdgeKind, MemoryRecord, Scope, Tier
from assay.storage import open_store
from assay.storage.repositories.chunks import Saved
from bench.pages import PageClient, served_store

CLOCK = SystemClock()
SCOPE = Scope()
TOGETHER = 2_000
WORDS = 120
GOAL_MS = 300.0
VOCABULARY = [
    "refund",
    "holiday",
    "parking",
    "breakfast",
    "invoice",
    "dogs",
    "late",
    "arrival",
    "keys",
    "pool",
    "linen",
    "bikes",
    "guest",
    "desk",
    "night",
    "price",
    "rule",
    "charge",
    "garage",
    "winter",
    "summer",
    "group",
    "member",
    "booking",
    "cancel",
    "hour",
    "day",
    "room",
    "courtyard",
    "bell",
    "door",
    "hall",
    "towel",
    "sauna",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPageTime:
    """How long one address took."""

    what: str
    kilobytes: float
    first_ms: float
    cpu_ms: float
    """Processor time of the server for one request: it does not depend on what else the machine does."""
    p50_ms: float
    p95_ms: float


def fill(path: Path, memories: int, seed: int) -> str:
    """Make a store with so many memories; return the id of one in the middle."""
    rng = np.random.default_rng(seed)
    with open_store(str(path), clock=CLOCK) as store:
        now, middle = CLOCK.now(), ""
        for first in range(0, memories, TOGETHER):
            batch = [
                _memory(store.ids.new("m"), number, now - timedelta(minutes=memories - number), rng)
                for number in range(first, min(memories, first + TOGETHER))
            ]
            middle = batch[0].id if first <= memories // 2 else middle
            with store.writing(SCOPE) as work:
                work.memories.add_many(
                    Saved(memory, [Chunk(memory_id=memory.id, position=0, text=memory.body, token_count=WORDS)])
                    for memory in batch
                )
                for one, other in pairwise(batch):
                    kind = EdgeKind.CONTRADICTS if rng.random() < 0.002 else EdgeKind.SUPPORTS
                    work.edges.put(Edge(source_id=one.id, target_id=other.id, kind=kind, strength=0.5, created_at=now))
    return middle


def _memory(memory_id: str, number: int, at: datetime, rng: np.random.Generator) -> MemoryRecord:
    tier = list(Tier)[int(rng.choice(6, p=[0.0, 0.002, 0.02, 0.9, 0.05, 0.028]))]
    body = " ".join(rng.choice(VOCABULARY, WORDS))
    return MemoryRecord(
        id=memory_id, title=f"Note {number} on {rng.choice(VOCABULARY)} {rng.choice(VOCABULARY)}", body=body,
        created_at=at, updated_at=at, valid_from=at,
        superseded_at=at + timedelta(minutes=5) if rng.random() < 0.1 else None,
        folder=f"team{number % 40}/notes", tier=tier, access_count=int(rng.poisson(2)),
        confidence=float(rng.beta(5, 5)), tags=("bench",),
    )  # fmt: skip


def measure(path: Path, middle: str, requests: int) -> list[MemoryPageTime]:
    """Serve a store and ask for every address so many times."""
    deep = quote(middle)
    addresses = {
        "list, newest": "/memory",
        "list, deep page": f"/memory?after={deep}",
        "list by updated": "/memory?sort=-updated",
        "list by title, deep page": f"/memory?sort=title&after={deep}",
        "list by reads": "/memory?sort=-reads",
        "list, critical ones by confidence": "/memory?tier=critical&sort=-confidence",
        "list, superseded ones of a folder": "/memory?status=superseded&folder=team7",
        "one memory": f"/memory/{deep}",
        "inbox": "/memory/inbox",
        "palette, a common word": "/find?q=guest&export=json",
        "palette, a word of none": "/find?q=zeppelin&export=json",
    }
    with served_store(path) as (process, address), closing(PageClient(address)) as client:
        return [_time(client, process, what, target, requests) for what, target in addresses.items()]


def _read_cpu_ms(process: int) -> float:
    # After the name in brackets; user and system time are the 14th and 15th field of the whole line.
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _time(client: PageClient, process: int, what: str, address: str, requests: int) -> MemoryPageTime:
    seconds, spent = [], 0.0
    for place in range(requests + 1):
        spent = _read_cpu_ms(process) if place == 1 else spent
        began = time.perf_counter()
        size = len(client.get(address))
        seconds.append(1000 * (time.perf_counter() - began))
    spent = (_read_cpu_ms(process) - spent) / requests
    p50, p95 = (float(value) for value in np.percentile(seconds[1:], [50, 95]))
    return MemoryPageTime(what=what, kilobytes=size / 1000, first_ms=seconds[0], cpu_ms=spent, p50_ms=p50, p95_ms=p95)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = Path(folder) / "memories.db"
        middle = fill(path, given.memories, given.seed)
        measured = measure(path, middle, given.requests)
    if given.json:
        print(json.dumps([asdict(row) for row in measured], indent=2))
        return
    table = Table(title=f"{given.memories:,} memories, {given.requests} requests each", box=None, title_justify="left")
    for column in ("asked for", "kB", "first ms", "cpu ms", "p50 ms", "p95 ms", ""):
        table.add_column(column, justify="left" if column in ("asked for", "") else "right")
    for row in measured:
        held = "holds" if row.p95_ms < GOAL_MS else "MISSED"
        times = (
            f"{row.kilobytes:.0f}",
            f"{row.first_ms:.0f}",
            f"{row.cpu_ms:.0f}",
            f"{row.p50_ms:.0f}",
            f"{row.p95_ms:.0f}",
        )
        table.add_row(row.what, *times, held)
    Console().print(table)


if __name__ == "__main__":
    main()
