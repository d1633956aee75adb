"""The process whose disk is watched: real saves and logged queries through the product, acknowledged through the shim.

    python -m reliability.shim.writing_child FOLDER SECONDS SEED FLUSH_INTERVAL_S SYNCHRONOUS

The store is closed and opened again now and then, so that logs are folded, deleted and made anew under watch.
`SYNCHRONOUS` other than `product` weakens the writer's connection behind the product's back: the control, which must
lose what was acknowledged.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from assay.storage import Store, StoreOptions
from assay.storage.sqlite import SqliteBackend
from reliability import load
from reliability.ledger import Ledger

ACTS_PER_OPENING = 150
QUERIES_PER_ACT = 3
AS_THE_PRODUCT_DOES = "product"


def main(folder: Path, seconds: float, seed: int, flush_interval_s: float, synchronous: str) -> None:
    """Write until the time is up."""
    path = folder / "store.db"
    load.prepare(path)
    deadline = time.monotonic() + seconds
    rng = random.Random(seed)
    opening = 0
    with Ledger(folder / "ACK") as told:
        while time.monotonic() < deadline:
            with load.opened(path, options=StoreOptions(flush_interval_s=flush_interval_s)) as store:
                _weaken(store, synchronous)
                _write(store, load.Author(store, told, f"m_{opening}", rng), told, deadline)
            told.note("closed", opening)
            opening += 1


def _write(store: Store, author: load.Author, told: Ledger, deadline: float) -> None:
    for number in range(ACTS_PER_OPENING):
        author.act()
        for query in range(QUERIES_PER_ACT):
            query_id = f"q_{author.prefix}_{number}_{query}"
            store.log.append(load.SCOPE, load.query_of(query_id))
            told.note("logged", query_id)
        if time.monotonic() > deadline:
            return


def _weaken(store: Store, synchronous: str) -> None:
    if synchronous == AS_THE_PRODUCT_DOES:
        return
    backend = store._backend  # noqa: SLF001 - the control reaches behind the door on purpose
    if not isinstance(backend, SqliteBackend):
        raise TypeError(f"the control needs a SQLite store, not {type(backend).__name__}")
    connection = backend._writer.raw_connection()  # noqa: SLF001 - the same
    connection.cursor().execute(f"PRAGMA synchronous = {synchronous}")
    connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
