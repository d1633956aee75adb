"""The process whose disk is watched: real saves and logged queries through the product, acknowledged through the shim.

    python -m reliability.shim.writing_child FOLDER ACTS SEED FLUSH_INTERVAL_S SYNCHRONOUS

The store is closed and opened again now and then, so that logs are folded, deleted and made anew under watch.
`SYNCHRONOUS` other than `product` weakens the writer's connection behind the product's back: the control, which must
lose what was acknowledged.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from assay.storage import Store, StoreOptions
from assay.storage.sqlite import SqliteBackend
from reliability import load
from reliability.ledger import Ledger

ACTS_PER_OPENING = 250
"""Enough that the log is also folded into the file in mid-use."""
QUERIES_PER_ACT = 3
AS_THE_PRODUCT_DOES = "product"


def main(folder: Path, acts: int, seed: int, flush_interval_s: float, synchronous: str) -> None:
    """Save, rewrite or remove that many times."""
    path = folder / "store.db"
    load.prepare(path)
    rng = random.Random(seed)
    with Ledger(folder / "ACK") as told:
        for opening, first in enumerate(range(0, acts, ACTS_PER_OPENING)):
            with load.opened(path, options=StoreOptions(flush_interval_s=flush_interval_s)) as store:
                _weaken(store, synchronous)
                _write(store, load.Author(store, told, f"m_{opening}", rng), told, min(ACTS_PER_OPENING, acts - first))
            told.note("closed", opening)


def _write(store: Store, author: load.Author, told: Ledger, acts: int) -> None:
    for number in range(acts):
        author.act()
        for query in range(QUERIES_PER_ACT):
            query_id = f"q_{author.prefix}_{number}_{query}"
            store.log.append(load.SCOPE, load.query_of(query_id))
            told.note("logged", query_id)


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
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
