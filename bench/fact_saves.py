"""How long one save takes beside many memories that state facts, without the time of a model.

Fills a store with notes of two sentences, one of which states a fact, folds the indexes, and then saves notes one by
one: every second one changes a fact that is stored. Vectors are hashes of words, which cost nothing. Works with
versions that know no facts, to compare: `PYTHONPATH=OTHER/src python -m bench.fact_saves`.

    python -m bench.fact_saves [--memories N] [--saves N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from assay.memory.engine import Engine
from assay.records import Draft, Scope
from assay.settings import Settings
from assay.testing import HashedEmbedder
from assay.wiring import open_engine

SCOPE = Scope(tenant="bench", principal="ada")
RELATIONS = ("owner", "limit", "port", "status", "deadline", "budget")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


def main() -> int:
    """Fill, save, and print percentiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--saves", type=int, default=300)
    chosen = parser.parse_args()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        settings = Settings(db=str(Path(folder) / "bench.db"), tenant=SCOPE.tenant, principal=SCOPE.principal)
        with open_engine(settings, embedder=HashedEmbedder()) as engine:
            notes = (_note(number, rng) for number in range(chosen.memories))
            saved = sum(1 for _ in engine.saver.save_many(SCOPE, notes))
            engine.indexes.compact(SCOPE)
            times = _time_saves(engine, chosen.memories, chosen.saves, rng)
    ordered = sorted(times)
    p50, p95 = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    print(f"{saved:,} memories; {len(times)} saves: p50 {p50:.1f} ms, p95 {p95:.1f} ms (processor time)")
    return 0


def _note(number: int, rng: random.Random, value: str = "") -> Draft:
    relation = RELATIONS[number % len(RELATIONS)]
    thing = f"{WORDS[number % 12]} {WORDS[number // 12 % 12]} service {number}"
    prose = " ".join(rng.choice(WORDS) for _ in range(12))
    body = f"The {relation} of the {thing} is {value or rng.randrange(1_000)}. We talked about {prose} that day."
    return Draft(title=f"{thing} {relation}", body=body)


def _time_saves(engine: Engine, memories: int, saves: int, rng: random.Random) -> list[float]:
    """Processor milliseconds of each save; the first few are not counted, because they load what saves need."""
    times = []
    for number in range(saves + 20):
        changes = number % 2 == 0
        draft = _note(rng.randrange(memories) if changes else memories + number, rng, str(rng.randrange(5_000)))
        began = time.process_time()
        engine.saver.save(SCOPE, draft)
        times.append((time.process_time() - began) * 1_000)
    return times[20:]


if __name__ == "__main__":
    raise SystemExit(main())
