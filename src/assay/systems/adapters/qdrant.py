"""A collection of Qdrant in a folder, in the client's local mode: `qdrant:PATH#COLLECTION`.

Ids of points are numbers or UUIDs; `?id=FIELD` names the field of the payload that has the document's id, and
`?vector=NAME` one of several named vectors. Local mode compares the query with every vector: its search is exact, and
there is no recall to measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.extras import load_package
from assay.systems.adapters.vector_store import StoreHit, Vector, VectorStore, read_field, refuse_missing
from assay.systems.replies import at_path

_FARTHER_IS_WORSE = ("Euclid", "Manhattan")


class Qdrant(VectorStore):
    """Queries a collection by vector."""

    package = "qdrant-client"
    _client: Any = None

    def open(self) -> None:
        """Open the folder and find the collection."""
        client = load_package("qdrant_client", self.package).QdrantClient
        folder = Path(self.target.place).expanduser()
        if not (folder / "meta.json").is_file():  # the client would make an empty one
            raise refuse_missing(self.target, f"there is no Qdrant database in {folder}")
        try:
            self._client = client(path=str(folder), force_disable_check_same_thread=True)
        except RuntimeError as problem:
            raise UnknownSystem(
                f"{folder} cannot be opened: {problem}", remedy="Close the other client of this folder."
            ) from problem
        known = [collection.name for collection in self._client.get_collections().collections]
        if self.target.name not in known:
            raise refuse_missing(self.target, f"there is no collection {self.target.name!r}", known)
        self._vector, self._described = self._choose_vector()

    def _choose_vector(self) -> tuple[str | None, Any]:
        """The name of the vector that is searched, None for the unnamed one, and its size and distance."""
        vectors = self._client.get_collection(self.target.name).config.params.vectors
        wanted = self.target.options.get("vector")
        if not isinstance(vectors, dict):
            return None, vectors
        if wanted not in vectors and (wanted is not None or len(vectors) != 1):
            raise UnknownSystem(
                f"{self.target.text} does not say which of its vectors to search",
                remedy=f"Add ?vector=NAME with one of: {', '.join(vectors)}.",
            )
        name = wanted or next(iter(vectors))
        return name, vectors[name]

    def dimension(self) -> int | None:
        """The configured length."""
        return int(self._described.size)

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Query by vector."""
        found = self._client.query_points(
            self.target.name, query=vector.tolist(), using=self._vector, limit=k, with_payload=True
        )
        sign = -1.0 if self._described.distance.value in _FARTHER_IS_WORSE else 1.0
        return [StoreHit(self._id(point), sign * point.score, self._text(point)) for point in found.points]

    def is_exact(self) -> bool:
        """Local mode has no index."""
        return True

    def describe(self) -> Mapping[str, Any]:
        """Mode, distance and size."""
        count = self._client.count(self.target.name).count
        distance = self._described.distance.value
        return {"mode": "local, exact", "distance": distance, "vector": self._vector, "count": count}

    def close(self) -> None:
        """Release the folder."""
        if self._client is not None:
            self._client.close()

    def _id(self, point: Any) -> str:
        path = self.target.options.get("id")
        return str(point.id) if path is None else read_field(point.payload, path, f"the payload of point {point.id}")

    def _text(self, point: Any) -> str:
        path = self.target.options.get("text")
        return "" if path is None else str(at_path(point.payload or {}, path, default=""))
