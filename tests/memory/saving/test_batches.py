"""However many drafts are saved in one transaction, the store holds the same afterwards."""

from __future__ import annotations

import gc
import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.memory.saving.conftest import draft

from assay.flags import Flags
from assay.index import Indexes, IndexOptions
from assay.memory.saving import Refused, Saver
from assay.memory.saving.garbage import CollectorPause
from assay.records import Draft, Format, IdFactory, Scope, Tier
from assay.storage import open_store
from assay.storage.tables import metadata
from assay.testing import FixedClock, HashedEmbedder
from assay.text.chunking import Chunker

LEFT_OUT = {"meta", "audit"}
"""The epoch of a store and the salts of the audit log are drawn."""


def drafts() -> Iterator[Draft]:
    """Documents of many kinds; some sources come twice, and some hold secrets."""
    for number in range(60):
        yield draft(
            f"Note {number}",
            f"The limit of queue {number % 7} is {number}.\n\n" + f"Words about it, number {number}. " * (number % 9),
            source_id=f"notes.jsonl#{number % 50}",
            source_hash=None if number % 3 else f"hash {number}",
            tags=("tea",) if number % 4 == 0 else (),
            triggers=(f"ask {number}",) if number % 5 == 0 else (),
            metadata={"z": number, "a": [1, {"deep": None}]} if number % 2 else {"kind": "plain", "a": True},
            automated=number % 2 == 0,
        )
    yield draft("A law", "Never deploy on a Friday.", tier=Tier.CONSTITUTIONAL, source_id="law")
    yield draft("Broken", "{", format=Format.JSON, source_id="broken")
    yield draft("A secret", "The password is hunter2Secret9.", source_id="secret")
    yield draft("Long", "# One\n\n" + "word " * 900 + "\n\n# Two\n\n" + "other " * 900, source_id="long")
    yield draft("Without a source", "The tea is in the left cupboard.")


def save_in_batches(folder: Path, batch: int) -> tuple[list[Any], dict[str, list[Any]]]:
    """Save everything in batches of a size; return what came of each draft, and the rows of every table."""
    folder.mkdir()
    clock, count, words, scope = FixedClock(), itertools.count(1), HashedEmbedder(), Scope()
    ids = IdFactory(clock, lambda size: next(count).to_bytes(size, "big"))
    with (
        open_store(folder / "notes.db", clock=clock, ids=ids) as store,
        Indexes(store, None, clock=clock, options=IndexOptions(background=False)) as indexes,
    ):
        chunker = Chunker(words.count_tokens, words.token_limit)
        saver = Saver(
            store=store, embedder=words, indexes=indexes, flags=Flags(clock=clock), chunker=chunker, clock=clock
        )
        results = [result for _, result in saver.save_many(scope, drafts(), batch=batch)]
    with closing(sqlite3.connect(folder / "notes.db")) as file:
        names = [table.name for table in metadata.sorted_tables]
        tables = {name: file.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        tables["passages_fts"] = file.execute("SELECT rowid, * FROM passages_fts").fetchall()
    # A batch writes its lines of the change log table by table.
    tables["changes"] = sorted(row[1:] for row in tables["changes"])
    told = [result.reason if isinstance(result, Refused) else result for result in results]
    return told, {name: sorted(map(str, rows)) for name, rows in tables.items() if name not in LEFT_OUT}


def test_the_rows_are_the_same_one_by_one_and_all_at_once(tmp_path: Path) -> None:
    alone, together = (save_in_batches(tmp_path / str(batch), batch) for batch in (1, 500))
    assert alone[0] == together[0]
    assert alone[1] == together[1]
    assert len(together[1]["memories"]) == 64


def test_the_collector_is_on_again_when_the_last_one_leaves() -> None:
    pause = CollectorPause()
    with pause.hold():
        with pause.hold():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with CollectorPause().hold():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
