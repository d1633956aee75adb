"""What a shadow costs whoever searches, when its treatment is fifty times slower than the control.

The same searches are asked in rounds with and without a shadow, in turn, so that a busy machine is busy for both.
Every search is sampled (the default is one in ten). The treatment comes in two kinds: one that waits, as for a service
or another core, and one that computes in Python, which is the worst a treatment can do to its neighbours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.clock import SystemClock
from assay.memory.engine import Engine
from assay.online.shadow import Shadow, ShadowOptions, Treatment
from assay.records import Draft, Scope, SearchRequest, SearchResult
from assay.settings import Settings
from assay.wiring import open_engine

SCOPE = Scope(tenant="bench", principal="bench")
SLOWER = 50
GOAL_MS = 1.0
WORDS = ("kitchen", "door", "tea", "coffee", "umbrella", "key", "garden", "roof", "cellar", "lamp", "table", "window")


def filled(engine: Engine, memories: int, rng: np.random.Generator) -> list[str]:
    """Save memories of random words; returns queries that find some of them."""
    drafts = [
        Draft(title=f"Note {at}", body=" ".join(rng.choice(WORDS, 60)) + f" number {at}.", source_id=str(at))
        for at in range(memories)
    ]
    for _ in engine.saver.save_many(SCOPE, drafts):
        pass
    engine.indexes.compact(SCOPE)
    return [" ".join(rng.choice(WORDS, 3)) for _ in range(200)]


def asked(engine: Engine, queries: Sequence[str]) -> list[float]:
    """Milliseconds of each search, as the caller feels them."""
    times = []
    for query in queries:
        began = time.perf_counter()
        engine.searcher.search(SCOPE, SearchRequest(query=query, k=10))
        times.append((time.perf_counter() - began) * 1000.0)
    return times


def waiting(engine: Engine, seconds: float) -> Treatment:
    """A treatment that waits before it answers."""

    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        time.sleep(seconds)
        return engine.searcher.search(scope, request, before=before)

    return treatment


def computing(engine: Engine, seconds: float) -> Treatment:
    """A treatment that computes in Python before it answers."""

    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        ends = time.thread_time() + seconds
        while time.thread_time() < ends:
            sum(range(1000))
        return engine.searcher.search(scope, request, before=before)

    return treatment


def compared(
    engine: Engine, make: Callable[[Engine, float], Treatment], queries: Sequence[str], rounds: int
) -> tuple[list[float], list[float], Shadow]:
    """Times without and with a shadow, round by round in turn."""
    control_s = float(np.median(asked(engine, queries[:50]))) / 1000.0
    treatment = make(engine, SLOWER * control_s)
    shadow = Shadow(
        store=engine.store,
        features=lambda _: {"mmr": treatment},
        clock=SystemClock(),
        options=ShadowOptions(percent=100),
    )
    plain: list[float] = []
    beside: list[float] = []
    switched: list[bool] = [False]

    def observe(scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        if switched[0]:
            shadow(scope, request, result)

    engine.searcher.watch(observe)
    for _ in range(rounds):
        for on, times in ((False, plain), (True, beside)):
            switched[0] = on
            times.extend(asked(engine, queries))
    shadow.close()
    return plain, beside, shadow


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when the caller's p95 grows by more than the goal."""
    parser = argparse.ArgumentParser(prog="python -m bench.shadow", description=__doc__)
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args(arguments)
    worst = -np.inf
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        settings = Settings(db=str(Path(folder) / "assay.db"), embedder="static", tenant="bench")
        with open_engine(settings) as engine:
            queries = filled(engine, given.memories, np.random.default_rng(3))
            for name, make in (("waits", waiting), ("computes", computing)):
                plain, beside, shadow = compared(engine, make, queries, given.rounds)
                before, after = np.quantile(plain, [0.5, 0.95]), np.quantile(beside, [0.5, 0.95])
                counts = shadow.counts
                print(
                    f"treatment {name:<9} without p50 {before[0]:.2f} p95 {before[1]:.2f} ms, with p50 {after[0]:.2f} "
                    f"p95 {after[1]:.2f} ms: p95 {after[1] - before[1]:+.2f} ms  ({counts.sampled} sampled, "
                    f"{counts.compared} compared, {counts.dropped} dropped)"
                )
                worst = max(worst, after[1] - before[1])
    print(f"goal: below {GOAL_MS} ms more; {'met' if worst < GOAL_MS else 'MISSED'}")
    return int(worst >= GOAL_MS)


if __name__ == "__main__":
    sys.exit(main())
