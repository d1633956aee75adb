"""An index of OpenSearch or Elasticsearch over HTTP: `opensearch:URL#INDEX`, `elasticsearch:URL#INDEX`.

An index with a vector field is searched by vector, and again exactly by a script that compares every document. An index
without one, or any with `?by=text`, is searched by words over its text fields. `_id` is the document's id, or the field
that `?id=` names. `?auth=NAME` sends the variable NAME of the environment as the header `Authorization`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import UnknownSystem
from assay.records.datasets import Case
from assay.records.evaluations import Retrieved
from assay.systems.adapters.search_bodies import BODIES, VectorField, find_text_fields, find_vector_field, text_body
from assay.systems.adapters.search_index import EngineIndex
from assay.systems.adapters.vector_store import StoreHit, StoreOpening, Vector, VectorStore
from assay.systems.protocol import System
from assay.systems.replies import read_reply

OPTIONS = ("id", "text", "vector", "by", "auth")


class TextIndex(System):
    """Searches by words."""

    def __init__(self, kind: str, index: EngineIndex) -> None:
        self.name = index.target.text
        self._kind = kind
        self._index = index
        self._fields = find_text_fields(index.target, index.fields)

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:  # noqa: ARG002 - the protocol's arguments
        """Search the text fields."""
        hits = self._index.ask(text_body(query, k, self._fields))
        return read_reply([{"id": hit.id, "score": hit.score, "text": hit.text} for hit in hits])

    def subject(self) -> Mapping[str, Any]:
        """The index and its fields."""
        return {"system": self.name, "kind": self._kind, "by": "text", "fields": list(self._fields)}

    def close(self) -> None:
        """Close the connections."""
        self._index.close()


class VectorIndex(VectorStore):
    """Searches by vector."""

    package = "assay"

    def __init__(self, kind: str, index: EngineIndex, field: VectorField, opening: StoreOpening) -> None:
        self._kind, self._index, self._field = kind, index, field
        self._bodies = BODIES[kind]
        super().__init__(opening)

    def open(self) -> None:
        """The index is open already."""

    def dimension(self) -> int | None:
        """The length in the mapping."""
        return self._field.length

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search with the index's graph, or exactly where it has none."""
        body = self._bodies.exact if self._field.exact else self._bodies.nearest
        return self._index.ask(body(self._field, vector.tolist(), k))

    def is_exact(self) -> bool:
        """Whether the field has no graph."""
        return self._field.exact

    def search_exact(self, vector: Vector, k: int) -> list[StoreHit]:
        """Compare every document by a script."""
        return self._index.ask(self._bodies.exact(self._field, vector.tolist(), k))

    def describe(self) -> Mapping[str, Any]:
        """The field as it is mapped."""
        return {"kind": self._kind, "field": self._field.name, "distance": self._field.distance}

    def close(self) -> None:
        """Close the connections."""
        self._index.close()


def open_index(kind: str, opening: StoreOpening) -> System:
    """Open an index for search by vector where it has a vector field, else by words."""
    target = opening.target
    by = target.options.get("by")
    if by not in (None, "text", "vector"):
        raise UnknownSystem(f"{target.text} is searched by {by!r}", remedy="Write ?by=text or ?by=vector.")
    index = EngineIndex(target, opening.gate)
    try:
        field = None if by == "text" else find_vector_field(target, index.fields, required=by == "vector")
        return TextIndex(kind, index) if field is None else VectorIndex(kind, index, field, opening)
    except BaseException:
        index.close()
        raise
