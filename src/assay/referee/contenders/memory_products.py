"""Memory products that can run without a model: mem0 and LangGraph's store.

mem0 is filled with `infer=False`: it keeps each text as it is, and no chat model extracts facts from it. That is how it
can run offline and be compared with stores; it is not how its makers recommend it. Its embedder is replaced by the
shared one after it is made, since its configuration knows remote and downloaded models only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from assay.errors import InputError
from assay.extras import load_package, package_version
from assay.referee.contenders.contract import (
    FILTERS,
    TIMESTAMPS,
    Contender,
    ContenderHit,
    Declaration,
    OpenContender,
)
from assay.referee.contenders.plain import folder_name, missing_item
from assay.referee.contenders.vector_stores import COLLECTION
from assay.referee.sets.values import MemoryItem

MANY = 100_000
"""More items than a user has."""


class _Mem0Embedder:
    """The shared embedder in the shape that mem0 calls."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0 gives it
        """Return the vector of a text."""
        row: list[float] = self._embedder.embed([text])[0].tolist()
        return row

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Return the vectors of several texts."""
        return [self.embed(text, memory_action) for text in texts]


class Mem0(Contender):
    """mem0's open-source memory over local Qdrant, without a model."""

    name = "mem0"

    def __init__(self, opened: OpenContender) -> None:
        if opened.embedder is None:
            raise InputError("mem0 needs an embedder", remedy="Install assaykit[memory].")
        self._embedder: Any = opened.embedder
        # Read when mem0 is imported: without it mem0 reports use to its makers.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(opened.folder / "mem0")
        memory = load_package("mem0", "mem0ai").Memory
        self._memory = memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(opened.folder / "qdrant"),
                        "collection_name": COLLECTION,
                        "embedding_model_dims": self._embedder.dimension,
                        "on_disk": True,
                    },
                },
                # Made and never called: without a model there is nothing to ask.
                "llm": {"provider": "openai", "config": {"api_key": "not-used"}},
                "embedder": {"provider": "openai", "config": {"api_key": "not-used"}},
                "history_db_path": str(opened.folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Mem0Embedder(self._embedder)

    @property
    def declaration(self) -> Declaration:
        """Return how it was set up."""
        return Declaration(
            ignores=(FILTERS, TIMESTAMPS),
            embedder=self._embedder.model,
            configuration={
                "package": f"mem0ai {package_version('mem0ai')}",
                "infer": "False: texts are kept as they are, no model extracts facts",
                "threshold": "0 instead of 0.1, which would cut results",
                "vector store": "qdrant, local",
                "keyword search": "off: it needs mem0ai[extras] and mem0ai[nlp], which download models",
                "telemetry": "off",
            },
        )

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Add each item as one message."""
        for item in items:
            self._memory.add(
                [{"role": "user", "content": item.text}],
                user_id=folder_name(user),
                metadata={"item": item.id},
                infer=False,
            )

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Search."""
        found = self._memory.search(question, top_k=k, threshold=0.0, filters={"user_id": folder_name(user)})
        return [ContenderHit(id=str(_item_of(entry)), text=entry["memory"]) for entry in found["results"]]

    def update(self, user: str, item: MemoryItem) -> None:
        """Give the memory another text."""
        self._memory.update(self._find(user, item.id), text=item.text)

    def delete(self, user: str, item_id: str) -> None:
        """Delete the memory."""
        self._memory.delete(self._find(user, item_id))

    def close(self) -> None:
        """Release the folder."""
        self._memory.vector_store.client.close()
        self._memory.close()

    def _find(self, user: str, item_id: str) -> str:
        found = self._memory.get_all(filters={"user_id": folder_name(user)}, top_k=MANY)["results"]
        ident = next((str(entry["id"]) for entry in found if _item_of(entry) == item_id), None)
        if ident is None:
            raise missing_item(self.name, user, item_id)
        return ident


def _item_of(entry: Any) -> Any:
    return (entry.get("metadata") or {}).get("item", entry["id"])


class LangGraphStore(Contender):
    """LangGraph's store with its vector index: in an SQLite file, else in memory.

    The SQLite store loads an extension for vectors. Some builds of Python cannot load extensions; there the store in
    memory takes its place, which has the same ranking and forgets when it is closed.
    """

    name = "langgraph-store"

    def __init__(self, opened: OpenContender) -> None:
        if opened.embedder is None:
            raise InputError("langgraph-store needs an embedder", remedy="Install assaykit[memory].")
        self._embedder: Any = opened.embedder
        index = {"dims": self._embedder.dimension, "embed": self._embed, "fields": ["text"]}
        self._connection: sqlite3.Connection | None = None
        if hasattr(sqlite3.Connection, "enable_load_extension"):
            module = load_package("langgraph.store.sqlite", "langgraph-checkpoint-sqlite")
            path = opened.folder / "store.db"
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._store = module.SqliteStore(self._connection, index=index)
            self._store.setup()
        else:
            self._store = load_package("langgraph.store.memory", "langgraph").InMemoryStore(index=index)

    @property
    def declaration(self) -> Declaration:
        """Return how it was set up."""
        return Declaration(
            ignores=(FILTERS, TIMESTAMPS),
            embedder=self._embedder.model,
            configuration={
                "package": f"langgraph {package_version('langgraph')}",
                "store": "SQLite with sqlite-vec" if self._connection else "in memory: this Python loads no extensions",
                "index": "cosine, a namespace for each user",
            },
            persistent=self._connection is not None,
        )

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.embed(list(texts)).tolist()
        return rows

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Put each item under its id."""
        for item in items:
            self._store.put(_namespace(user), item.id, {"text": item.text})

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Search the user's namespace."""
        found = self._store.search(_namespace(user), query=question, limit=k)
        return [ContenderHit(id=entry.key, text=entry.value["text"]) for entry in found]

    def update(self, user: str, item: MemoryItem) -> None:
        """Put it again."""
        self._need(user, item.id)
        self._store.put(_namespace(user), item.id, {"text": item.text})

    def delete(self, user: str, item_id: str) -> None:
        """Delete it."""
        self._need(user, item_id)
        self._store.delete(_namespace(user), item_id)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def _need(self, user: str, item_id: str) -> None:
        if self._store.get(_namespace(user), item_id) is None:
            raise missing_item(self.name, user, item_id)


def _namespace(user: str) -> tuple[str, ...]:
    return ("memories", folder_name(user))
