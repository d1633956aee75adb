"""What the processes write, and what must then be in the store.

A memory's whole content follows from its id and its version, so one number says everything about what must be there:
how many chunks, every text, its edge. `Expected` reads ledgers and knows for each id which versions may be found;
`look` reads a file's tables plainly, not through the code under test; `differences` compares the two.
"""

from __future__ import annotations

import random
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from assay.clock import SystemClock
from assay.records import Chunk, Edge, EdgeKind, LoggedQuery, MemoryRecord, Scope
from assay.storage import Store, StoreOptions, open_store
from assay.storage.schema import CURRENT, Schema
from assay.testing import note
from reliability.ledger import Ledger

SCOPE = Scope(tenant="load", principal="reliability")
ANCHOR = "m_anchor"
"""Every memory has an edge to this one."""
GONE = 0
"""The version of a memory that is not there."""
CLOCK = SystemClock()
PASSAGE = "what was written here must be read here again, word for word. " * 8


class Row(NamedTuple):
    """What a file holds of one memory."""

    version: int
    body: str
    chunks: tuple[str, ...]
    edges: int


def opened(address: str | Path, *, schema: Schema = CURRENT, options: StoreOptions | None = None) -> Store:
    """The store at an address, as the product opens it."""
    return open_store(address, clock=CLOCK, options=options, schema=schema)


def prepare(path: Path) -> None:
    """A new store with the anchor in it."""
    with opened(path) as store, store.writing(SCOPE) as work:
        work.memories.add(note(ANCHOR))


def texts_of(memory_id: str, version: int) -> tuple[str, ...]:
    """The chunks a memory must have."""
    count = 1 + zlib.crc32(f"{memory_id}:{version}".encode()) % 4
    return tuple(f"{memory_id} v{version} #{position}: {PASSAGE}" for position in range(count))


def row_of(memory_id: str, version: int) -> Row:
    """Everything that must be there of a memory."""
    texts = texts_of(memory_id, version)
    return Row(version, " ".join(texts), texts, edges=1)


def memory_of(memory_id: str, version: int) -> MemoryRecord:
    """The record of a memory."""
    return note(memory_id, body=" ".join(texts_of(memory_id, version)), version=version)


def chunks_of(memory_id: str, version: int) -> list[Chunk]:
    """The chunk records of a memory."""
    texts = texts_of(memory_id, version)
    return [
        Chunk(memory_id=memory_id, position=position, text=text, token_count=90) for position, text in enumerate(texts)
    ]


def save(store: Store, memory_id: str) -> None:
    """Save a memory with its chunks and its edge, in one unit of work."""
    with store.writing(SCOPE) as work:
        memory = memory_of(memory_id, 1)
        work.memories.add(memory, chunks_of(memory_id, 1))
        work.edges.put(
            Edge(source_id=memory_id, target_id=ANCHOR, kind=EdgeKind.SUPPORTS, created_at=memory.created_at)
        )


def rewrite(store: Store, memory_id: str, version: int) -> None:
    """Give a memory its next content, chunks included."""
    with store.writing(SCOPE) as work:
        work.memories.update(memory_of(memory_id, version), chunks_of(memory_id, version))


def remove(store: Store, memory_id: str) -> None:
    """Delete a memory with its chunks and its edge."""
    with store.writing(SCOPE) as work:
        work.memories.remove(memory_id)


def query_of(query_id: str) -> LoggedQuery:
    """A query for the log."""
    return LoggedQuery(query_id=query_id, query=PASSAGE, tool_name="reliability", created_at=CLOCK.now())


@dataclass
class Author:
    """One writer's memories: saves, sometimes rewrites, sometimes removes, and tells the ledger before and after."""

    store: Store
    ledger: Ledger
    prefix: str
    rng: random.Random
    count: int = 0

    def __post_init__(self) -> None:
        self._alive: dict[str, int] = {}

    def act(self) -> None:
        """Do one thing."""
        choice = self.rng.random()
        if choice < 0.8 or not self._alive:
            self._act(f"{self.prefix}_{self.count}", 1, lambda memory_id, _: save(self.store, memory_id))
            self.count += 1
            return
        memory_id = self.rng.choice(list(self._alive))
        if choice < 0.95:
            self._act(memory_id, self._alive[memory_id] + 1, lambda one, version: rewrite(self.store, one, version))
        else:
            self._act(memory_id, GONE, lambda one, _: remove(self.store, one))

    def _act(self, memory_id: str, version: int, operation: Callable[[str, int], None]) -> None:
        self.ledger.note("try", memory_id, version)
        operation(memory_id, version)
        self.ledger.note("done", memory_id, version)
        self._alive[memory_id] = version
        if version == GONE:
            del self._alive[memory_id]


def write_until(path: Path, ledger: Path, prefix: str, seed: int, deadline: float) -> None:
    """What a writer process does."""
    with opened(path) as store, Ledger(ledger) as lines:
        author = Author(store, lines, prefix, random.Random(seed))
        while time.monotonic() < deadline:
            author.act()


def save_until(path: Path, ledger: Path, prefix: str, deadline: float) -> None:
    """What a process does that only adds."""
    number = 0
    with opened(path) as store, Ledger(ledger) as told:
        while time.monotonic() < deadline:
            number += 1
            told.note("try", f"{prefix}_{number}", 1)
            save(store, f"{prefix}_{number}")
            told.note("done", f"{prefix}_{number}", 1)


class Expected:
    """Which versions of each memory may be found."""

    def __init__(self) -> None:
        self.allowed: dict[str, frozenset[int]] = {}

    def read(self, lines: Iterable[list[str]]) -> None:
        """Follow one writer's ledger."""
        for word, memory_id, version in (line for line in lines if line[0] in ("try", "done")):
            before = self.allowed.get(memory_id, frozenset({GONE}))
            self.allowed[memory_id] = frozenset({int(version)}) | (before if word == "try" else frozenset())

    def settle(self, found: Mapping[str, Row]) -> None:
        """What was found once must stay: the in-flight operations are decided now."""
        self.allowed = {
            memory_id: frozenset({found[memory_id].version if memory_id in found else GONE})
            for memory_id in self.allowed
        }

    def lost(self, found: Mapping[str, Row]) -> list[str]:
        """Acknowledged operations that the file does not show, and rows nobody ever asked for."""
        wrong = [
            f"{memory_id} has version {version}, not one of {sorted(allowed)}"
            for memory_id, allowed in self.allowed.items()
            if (version := found[memory_id].version if memory_id in found else GONE) not in allowed
        ]
        return wrong + [f"{memory_id} was never written" for memory_id in found if memory_id not in self.allowed]


def look(path: Path) -> dict[str, Row]:
    """Every memory but the anchor with its chunks and edges, read plainly."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        file.execute("BEGIN")
        tenant = (SCOPE.tenant, ANCHOR)
        rows = file.execute("SELECT id, version, body FROM memories WHERE tenant = ? AND id <> ?", tenant)
        found = {memory_id: Row(version, body, (), 0) for memory_id, version, body in rows}
        chunks: dict[str, list[str]] = {}
        for memory_id, text in file.execute("SELECT memory_id, text FROM chunks ORDER BY memory_id, position"):
            chunks.setdefault(memory_id, []).append(text)
        edges = dict(file.execute("SELECT source_id, count(*) FROM edges GROUP BY source_id"))
    return {
        memory_id: row._replace(chunks=tuple(chunks.get(memory_id, ())), edges=edges.get(memory_id, 0))
        for memory_id, row in found.items()
    }


def halves(found: Mapping[str, Row]) -> list[str]:
    """Memories of which something is missing or foreign."""
    return [
        f"{memory_id} v{row.version} is not whole"
        for memory_id, row in found.items()
        if row != row_of(memory_id, row.version)
    ]


def damage(path: Path) -> list[str]:
    """What SQLite itself finds wrong with the file."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return [row[0] for row in file.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    except sqlite3.DatabaseError as problem:
        return [str(problem)]


def touch_counter(store: Store) -> None:
    """Read, add one, write: an update that is lost if two processes do it at once."""
    with store.writing(SCOPE) as work:
        anchor = work.memories.get(ANCHOR)
        work.memories.update(replace(anchor, access_count=anchor.access_count + 1))
