"""Vector stores that run on this machine: Chroma, Qdrant, LanceDB. All get the shared embedder's vectors.

Each keeps all users in one collection and filters by user, as their guides recommend for many small users. The packages
are no dependencies of Assay; where one is missing, the error says what to install.
"""

from __future__ import annotations

import uuid
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
from assay.referee.contenders.plain import missing_item
from assay.referee.sets.values import MemoryItem

BATCH = 1_000
COLLECTION = "items"
_SPACE = uuid.UUID("6f1c6d0e-2b7a-4e43-9d0f-3a1f6f0f7f11")


def point_id(user: str, item_id: str) -> str:
    """Return the id of an item among all users."""
    return str(uuid.uuid5(_SPACE, f"{user}\x00{item_id}"))


class VectorContender(Contender):
    """What contenders share that are given vectors."""

    package = ""

    def __init__(self, opened: OpenContender) -> None:
        if opened.embedder is None:
            raise InputError(f"{self.name} needs an embedder", remedy="Install assaykit[memory].")
        self.embedder: Any = opened.embedder

    @property
    def declaration(self) -> Declaration:
        """Return version and settings."""
        configuration = {"package": f"{self.package} {package_version(self.package)}", **self.settings()}
        return Declaration(ignores=(FILTERS, TIMESTAMPS), embedder=self.embedder.model, configuration=configuration)

    def settings(self) -> dict[str, Any]:
        """Return what was set."""
        return {}

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return vectors as lists."""
        rows: list[list[float]] = self.embedder.embed(list(texts)).tolist()
        return rows


class Chroma(VectorContender):
    """A Chroma collection with cosine distance."""

    name = "chroma"
    package = "chromadb"

    def __init__(self, opened: OpenContender) -> None:
        super().__init__(opened)
        chromadb = load_package("chromadb", "chromadb")
        config = load_package("chromadb.config", "chromadb")
        self._client = chromadb.PersistentClient(
            path=str(opened.folder), settings=config.Settings(anonymized_telemetry=False)
        )
        self._items = self._client.get_or_create_collection(
            COLLECTION, metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def settings(self) -> dict[str, Any]:
        """Return what was set."""
        return {"index": "HNSW, cosine, one collection, filter by user", "telemetry": "off"}

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Add the items in batches."""
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            self._items.upsert(
                ids=[point_id(user, item.id) for item in batch],
                embeddings=self.vectors([item.text for item in batch]),
                documents=[item.text for item in batch],
                metadatas=[{"user": user, "item": item.id} for item in batch],
            )

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Query by vector."""
        found = self._items.query(
            query_embeddings=self.vectors([question]),
            n_results=k,
            where={"user": user},
            include=["documents", "metadatas"],
        )
        pairs = zip(found["metadatas"][0], found["documents"][0], strict=True)
        return [ContenderHit(id=facts["item"], text=text) for facts, text in pairs]

    def update(self, user: str, item: MemoryItem) -> None:
        """Replace the item."""
        self._need(user, item.id)
        self.fill(user, [item])

    def delete(self, user: str, item_id: str) -> None:
        """Delete the item."""
        self._need(user, item_id)
        self._items.delete(ids=[point_id(user, item_id)])

    def close(self) -> None:
        """Stop the client; Chroma keeps one for each path, which would outlive its folder."""
        load_package("chromadb.api.client", "chromadb").SharedSystemClient.clear_system_cache()

    def _need(self, user: str, item_id: str) -> None:
        if not self._items.get(ids=[point_id(user, item_id)])["ids"]:
            raise missing_item(self.name, user, item_id)


class Qdrant(VectorContender):
    """A Qdrant collection in local mode."""

    name = "qdrant"
    package = "qdrant-client"

    def __init__(self, opened: OpenContender) -> None:
        super().__init__(opened)
        self._models = load_package("qdrant_client.models", "qdrant-client")
        self._client = load_package("qdrant_client", "qdrant-client").QdrantClient(path=str(opened.folder))
        if not self._client.collection_exists(COLLECTION):
            models = self._models
            self._client.create_collection(
                COLLECTION,
                vectors_config=models.VectorParams(size=self.embedder.dimension, distance=models.Distance.COSINE),
            )

    def settings(self) -> dict[str, Any]:
        """Return what was set."""
        return {"mode": "local, exact search, cosine, one collection, filter by user"}

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Upsert the items in batches."""
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            rows = self.vectors([item.text for item in batch])
            points = [
                self._models.PointStruct(
                    id=point_id(user, item.id),
                    vector=row,
                    payload={"user": user, "item": item.id, "text": item.text},
                )
                for item, row in zip(batch, rows, strict=True)
            ]
            if points:
                self._client.upsert(COLLECTION, points=points)

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Query by vector."""
        models = self._models
        only = models.Filter(must=[models.FieldCondition(key="user", match=models.MatchValue(value=user))])
        found = self._client.query_points(
            COLLECTION, query=self.vectors([question])[0], limit=k, query_filter=only, with_payload=True
        )
        return [ContenderHit(id=point.payload["item"], text=point.payload["text"]) for point in found.points]

    def update(self, user: str, item: MemoryItem) -> None:
        """Replace the item."""
        self._need(user, item.id)
        self.fill(user, [item])

    def delete(self, user: str, item_id: str) -> None:
        """Delete the item."""
        self._need(user, item_id)
        self._client.delete(COLLECTION, points_selector=[point_id(user, item_id)])

    def close(self) -> None:
        """Release the folder."""
        self._client.close()

    def _need(self, user: str, item_id: str) -> None:
        if not self._client.retrieve(COLLECTION, ids=[point_id(user, item_id)]):
            raise missing_item(self.name, user, item_id)


class Lance(VectorContender):
    """A LanceDB table: a flat scan of the vectors, or with `hybrid` both kinds of search and its own fusion."""

    package = "lancedb"

    def __init__(self, opened: OpenContender, *, hybrid: bool = False) -> None:
        self.name = "lancedb:hybrid" if hybrid else "lancedb"
        super().__init__(opened)
        self._arrow = load_package("pyarrow", "pyarrow")
        self._hybrid = hybrid
        self._stale = True
        database = load_package("lancedb", "lancedb").connect(str(opened.folder))
        fields = [(name, self._arrow.string()) for name in ("id", "user", "item", "text")]
        vector = ("vector", self._arrow.list_(self._arrow.float32(), self.embedder.dimension))
        self._table = database.create_table(COLLECTION, schema=self._arrow.schema([*fields, vector]), exist_ok=True)

    def settings(self) -> dict[str, Any]:
        """Return what was set."""
        kind = "full text and vectors, fused by reciprocal ranks" if self._hybrid else "flat scan, cosine"
        return {"search": f"{kind}; one table, filter by user before the search"}

    def fill(self, user: str, items: Sequence[MemoryItem]) -> None:
        """Add the items."""
        rows = self.vectors([item.text for item in items])
        if not rows:
            return
        values = [
            {"id": point_id(user, item.id), "user": user, "item": item.id, "text": item.text, "vector": row}
            for item, row in zip(items, rows, strict=True)
        ]
        (self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(values))
        self._stale = True

    def ask(self, user: str, question: str, k: int) -> Sequence[ContenderHit]:
        """Search by vector, or by both."""
        vector = self.vectors([question])[0]
        if self._hybrid:
            if self._stale:
                self._table.create_index("text", config=load_package("lancedb.index", "lancedb").FTS(), replace=True)
                self._stale = False
            plain = " ".join("".join(letter if letter.isalnum() else " " for letter in question).split())
            search = self._table.search(query_type="hybrid").vector(vector).text(plain or "nothing")
        else:
            search = self._table.search(vector).distance_type("cosine")
        found = search.where(f"user = '{_escape(user)}'", prefilter=True).limit(k).to_list()
        return [ContenderHit(id=row["item"], text=row["text"]) for row in found]

    def update(self, user: str, item: MemoryItem) -> None:
        """Replace the item."""
        self._need(user, item.id)
        self.fill(user, [item])

    def delete(self, user: str, item_id: str) -> None:
        """Delete the item."""
        self._need(user, item_id)
        self._table.delete(f"id = '{point_id(user, item_id)}'")
        self._stale = True

    def _need(self, user: str, item_id: str) -> None:
        if not self._table.count_rows(f"id = '{point_id(user, item_id)}'"):
            raise missing_item(self.name, user, item_id)


def _escape(text: str) -> str:
    return text.replace("'", "''")
