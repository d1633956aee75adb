"""A collection of Chroma in a folder: `chroma:PATH#COLLECTION`.

A document's id is the id it was added with, or the metadata field that `?id=` names. Chroma has no exact search: the
vectors are read out once and compared. A collection may keep an embedding function. The default one is the model that
comes with Assay (all-MiniLM-L6-v2), which Chroma would download: there the embedder of the settings is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.extras import load_package
from assay.systems.adapters.vector_store import (
    COSINE,
    DOT,
    L2,
    MOST_COMPARED,
    OwnFunction,
    StoredVectors,
    StoreHit,
    Vector,
    VectorStore,
    read_field,
    refuse_missing,
    refuse_too_many,
)

_DISTANCES = {"cosine": COSINE, "ip": DOT, "l2": L2}
_DEFAULT_FUNCTION = "default"
_PAGE = 5_000


class Chroma(VectorStore):
    """Queries a collection by vector."""

    package = "chromadb"
    _client: Any = None

    def open(self) -> None:
        """Open the folder and find the collection."""
        chromadb = load_package("chromadb", self.package)
        config = load_package("chromadb.config", self.package)
        folder = Path(self.target.place).expanduser()
        if not (folder / "chroma.sqlite3").is_file():  # Chroma would make an empty one
            raise refuse_missing(self.target, f"there is no Chroma database in {folder}")
        self._client = chromadb.PersistentClient(path=str(folder), settings=config.Settings(anonymized_telemetry=False))
        known = [collection.name for collection in self._client.list_collections()]
        if self.target.name not in known:
            raise refuse_missing(self.target, f"there is no collection {self.target.name!r}", known)
        self._items = self._client.get_collection(self.target.name, embedding_function=None)
        self._settings: Mapping[str, Any] = self._items.configuration_json
        index = self._settings.get("hnsw") or self._settings.get("spann") or {}
        self._distance = _DISTANCES.get(str(index.get("space")), L2)

    def own_function(self) -> OwnFunction | None:
        """The function of the collection's configuration, other than the default one."""
        described = self._settings.get("embedding_function") or {}
        name = described.get("name")
        if described.get("type") != "known" or name == _DEFAULT_FUNCTION:
            return None
        try:
            function = self._items.configuration["embedding_function"]
        except Exception as problem:
            raise UnknownSystem(
                f"the embedding function {name!r} of {self.target.name} cannot be made: {problem}",
                remedy="Install what it needs and set its key.",
            ) from problem
        return OwnFunction(str(name), lambda query: function.embed_query(input=[query]))

    def dimension(self) -> int | None:
        """The length of the first vector."""
        found = self._items.get(limit=1, include=["embeddings"])["embeddings"]
        return len(found[0]) if len(found) else None

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Query by vector."""
        found = self._items.query(
            query_embeddings=[vector], n_results=k, include=["documents", "metadatas", "distances"]
        )
        rows = zip(*(found[name][0] for name in ("ids", "metadatas", "documents", "distances")), strict=True)
        return [
            StoreHit(self._id(own, facts), -far if self._distance == L2 else 1.0 - far, text or "")
            for own, facts, text, far in rows
        ]

    def is_exact(self) -> bool:
        """HNSW and SPANN are approximate."""
        return False

    def read_vectors(self) -> StoredVectors:
        """Read the vectors page by page."""
        count = self._items.count()
        if count > MOST_COMPARED:
            raise refuse_too_many(count)
        ids, vectors = list[str](), list[Any]()
        for start in range(0, count, _PAGE):
            page = self._items.get(limit=_PAGE, offset=start, include=["embeddings", "metadatas"])
            ids += [self._id(own, facts) for own, facts in zip(page["ids"], page["metadatas"], strict=True)]
            vectors += list(page["embeddings"])
        return StoredVectors(ids, vectors, self._distance)

    def describe(self) -> Mapping[str, Any]:
        """The index and its settings."""
        index = "hnsw" if self._settings.get("hnsw") else "spann"
        return {"index": index, **(self._settings.get(index) or {}), "count": self._items.count()}

    def close(self) -> None:
        """Release the folder."""
        if self._client is not None:
            self._client.close()

    def _id(self, own: str, facts: Mapping[str, Any] | None) -> str:
        path = self.target.options.get("id")
        return own if path is None else read_field(facts, path, f"the metadata of {own}")
