"""What others do with the same passages, each in its default way: full text of SQLite, exact vectors, LanceDB.

A peer is built from texts and vectors and then asked with a query and its vector, for ten results. None of them joins
two kinds of evidence, filters, explains or logs: they show what the parts cost, not what the whole should.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
SHOWN = 10


class Peer(Protocol):
    """Something that finds passages."""

    name: str

    def ask(self, query: str, vector: Vectors) -> Sequence[object]:
        """The ten best."""
        ...


class FullText:
    """An FTS5 table with its default tokenizer; any of the query's words, ranked by its own `bm25()`."""

    name = "SQLite FTS5 alone"

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "fts5.db")
        self._connection.execute("CREATE VIRTUAL TABLE passages USING fts5(body)")
        self._connection.executemany("INSERT INTO passages(body) VALUES (?)", ((text,) for text in texts))
        self._connection.execute("INSERT INTO passages(passages) VALUES ('optimize')")
        self._connection.commit()

    def ask(self, query: str, vector: Vectors) -> Sequence[object]:  # noqa: ARG002 - asked like the others
        """By words."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        found = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY bm25(passages) LIMIT ?"
        return self._connection.execute(found, (words, SHOWN)).fetchall()


class Exact:
    """Every vector compared, by one matrix product."""

    name = "NumPy alone, exact"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)

    def ask(self, query: str, vector: Vectors) -> Sequence[object]:  # noqa: ARG002 - asked like the others
        """By the vector."""
        scores = self._vectors @ vector
        best = np.argpartition(scores, -SHOWN)[-SHOWN:]
        found: list[object] = best[np.argsort(-scores[best])].tolist()
        return found


class Lance:
    """A LanceDB table as its first page makes one: a flat scan of the vectors, or both kinds with its own fusion."""

    def __init__(self, texts: Sequence[str], vectors: Vectors, folder: Path, *, hybrid: bool) -> None:
        self.name = "LanceDB, hybrid" if hybrid else "LanceDB, default (flat)"
        arrow: Any = importlib.import_module("pyarrow")
        values = arrow.array(vectors.ravel(), arrow.float32())
        rows = arrow.table(
            {
                "text": arrow.array(list(texts)),
                "vector": arrow.FixedSizeListArray.from_arrays(values, vectors.shape[1]),
            }
        )
        database: Any = importlib.import_module("lancedb").connect(str(folder / f"lance-{hybrid}"))
        self._table = database.create_table("passages", rows)
        self._hybrid = hybrid
        if hybrid:
            self._table.create_fts_index("text")

    def ask(self, query: str, vector: Vectors) -> Sequence[object]:
        """By the vector, or by both."""
        if not self._hybrid:
            found: list[object] = self._table.search(vector).select(["_distance"]).limit(SHOWN).to_list()
            return found
        plain = " ".join(re.findall(r"\w+", query))
        both = self._table.search(query_type="hybrid").vector(vector).text(plain)
        joined: list[object] = both.limit(SHOWN).to_list()
        return joined


def peers(texts: Sequence[str], vectors: Vectors, folder: Path) -> list[Peer]:
    """Those that are installed."""
    makers: list[Callable[[], Peer]] = [lambda: FullText(texts, folder), lambda: Exact(vectors)]
    if importlib.util.find_spec("lancedb") is not None:
        makers += [
            lambda: Lance(texts, vectors, folder, hybrid=False),
            lambda: Lance(texts, vectors, folder, hybrid=True),
        ]
    return [make() for make in makers]
