"""A collection of Milvus Lite in a file: `milvus:FILE#COLLECTION`, the file named like `notes.db`.

The primary key is the document's id, or the field that `?id=` names. pymilvus talks to Milvus Lite over a port of
127.0.0.1 that it opens for as long as the collection is open. Milvus Lite has no exact search beside an index: the
vectors are read out once and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.extras import load_package
from assay.systems.adapters.vector_store import (
    COSINE,
    DOT,
    L2,
    MOST_COMPARED,
    StoredVectors,
    StoreHit,
    Vector,
    VectorStore,
    choose_field,
    refuse_missing,
    refuse_too_many,
)

_DISTANCES = {"COSINE": COSINE, "IP": DOT, "L2": L2}
_EXACT = ("FLAT", "BRUTE_FORCE")
"""Indexes that compare every vector."""
_FLOAT_VECTOR = 101
_TIMEOUT_S = 60.0
_PAGE = 1_000


class Milvus(VectorStore):
    """Searches a collection by vector."""

    package = "pymilvus"
    _client: Any = None

    def open(self) -> None:
        """Open the file and find the collection."""
        load_package("milvus_lite", "milvus-lite")
        client = load_package("pymilvus", self.package).MilvusClient
        path = Path(self.target.place).expanduser()
        if not path.exists() or path.suffix != ".db":  # a missing file would be made
            raise refuse_missing(self.target, f"there is no file {path}, or its name does not end in .db")
        self._client = client(str(path.resolve()))
        known = list(self._client.list_collections())
        if self.target.name not in known:
            raise refuse_missing(self.target, f"there is no collection {self.target.name!r}", known)
        described = self._client.describe_collection(self.target.name)
        fields: Mapping[str, Any] = {field["name"]: field for field in described["fields"]}
        self._key = next(name for name, field in fields.items() if field.get("is_primary"))
        self._id_field = choose_field(self.target, "id", fields, self._key)
        self._text_field = self.target.options.get("text")
        vectors = [name for name, field in fields.items() if int(field["type"]) == _FLOAT_VECTOR]
        self._vector = choose_field(self.target, "vector", vectors, vectors[0] if len(vectors) == 1 else "vector")
        self._dim = int(fields[self._vector]["params"]["dim"])
        indexes = self._client.list_indexes(self.target.name, field_name=self._vector)
        # Without an index Milvus Lite compares every vector.
        flat = {"index_type": "FLAT", "metric_type": "COSINE"}
        self._index = self._client.describe_index(self.target.name, indexes[0]) if indexes else flat
        self._distance = _DISTANCES.get(str(self._index["metric_type"]).upper(), COSINE)
        self._client.load_collection(self.target.name)

    def dimension(self) -> int | None:
        """The length in the schema."""
        return self._dim

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search with the index's own parameters."""
        extra = [name for name in (self._id_field, self._text_field) if name and name != self._key]
        found = self._client.search(
            self.target.name,
            data=[vector.tolist()],
            anns_field=self._vector,
            limit=k,
            output_fields=extra,
            timeout=_TIMEOUT_S,
        )
        sign = -1.0 if self._distance == L2 else 1.0
        return [StoreHit(self._read(hit, self._id_field), sign * hit["distance"], self._text(hit)) for hit in found[0]]

    def is_exact(self) -> bool:
        """Whether the index is flat."""
        return str(self._index["index_type"]).upper() in _EXACT

    def read_vectors(self) -> StoredVectors:
        """Read the vectors page by page."""
        count = int(self._client.get_collection_stats(self.target.name)["row_count"])
        if count > MOST_COMPARED:
            raise refuse_too_many(count)
        wanted = [self._id_field, self._vector]
        pages = self._client.query_iterator(self.target.name, batch_size=_PAGE, output_fields=wanted)
        rows = [row for page in iter(pages.next, []) for row in page]
        ids, vectors = [str(row[self._id_field]) for row in rows], [row[self._vector] for row in rows]
        return StoredVectors(ids, vectors, self._distance)

    def describe(self) -> Mapping[str, Any]:
        """The index, its distance, and the number of rows."""
        count = self._client.get_collection_stats(self.target.name)["row_count"]
        return {"index": self._index["index_type"], "distance": self._distance, "count": int(count)}

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _read(self, hit: Mapping[str, Any], field: str) -> str:
        return str(hit[field] if field in hit else hit["entity"][field])

    def _text(self, hit: Mapping[str, Any]) -> str:
        return self._read(hit, self._text_field) if self._text_field else ""
