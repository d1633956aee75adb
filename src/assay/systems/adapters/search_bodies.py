"""Requests of OpenSearch and Elasticsearch: which fields of a mapping are searched, and the bodies of searches.

Elasticsearch takes `knn` beside the query and compares exactly by `cosineSimilarity` and its kin; OpenSearch has a
`knn` query and a script of its own, `knn_score`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.errors import UnknownSystem
from assay.systems.adapters.vector_store import StoreTarget

Body = dict[str, Any]
_LENGTHS = {"dense_vector": "dims", "knn_vector": "dimension"}
"""Types of vector fields, and where each says its length."""
FEWEST_CANDIDATES = 100
"""Candidates of a shard that Elasticsearch looks at, as its clients do by default for ten results."""
_SCRIPTS = {
    "cosine": "cosineSimilarity(params.vector, '{field}') + 1.0",
    "dot_product": "sigmoid(1, Math.E, -dotProduct(params.vector, '{field}'))",
    "max_inner_product": "sigmoid(1, Math.E, -dotProduct(params.vector, '{field}'))",
    "l2_norm": "1 / (1 + l2norm(params.vector, '{field}'))",
}
"""Exact scores of Elasticsearch by similarity; a score may not be negative."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VectorField:
    """A vector field of a mapping."""

    name: str
    length: int | None
    distance: str
    exact: bool
    """Whether the field has no graph: only a script can search it."""


class Bodies(NamedTuple):
    """How an engine is asked."""

    nearest: Callable[[VectorField, Sequence[float], int], Body]
    exact: Callable[[VectorField, Sequence[float], int], Body]


def find_vector_field(target: StoreTarget, fields: Mapping[str, Any], *, required: bool) -> VectorField | None:
    """Return the vector field to search; None where the index has none and none is required."""
    vectors = {name: field for name, field in fields.items() if field.get("type") in _LENGTHS}
    wanted = target.options.get("vector")
    if not vectors and wanted is None and not required:
        return None
    name = wanted or (next(iter(vectors)) if len(vectors) == 1 else None)
    if name is None or name not in vectors:
        raise UnknownSystem(
            f"{target.text} does not say which vector field to search",
            remedy=f"Add ?vector=FIELD with one of: {', '.join(vectors)}." if vectors else "Search it with ?by=text.",
        )
    field = vectors[name]
    length = field.get(_LENGTHS[field["type"]])
    method = field.get("method") or {}
    elastic = field["type"] == "dense_vector"
    distance = field.get("similarity") or "cosine" if elastic else method.get("space_type") or field.get("space_type")
    flat = elastic and (field.get("index") is False or (field.get("index_options") or {}).get("type") == "flat")
    return VectorField(name=name, length=length, distance=distance or "l2", exact=flat)


def find_text_fields(target: StoreTarget, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields to search by words: the one that was named, else all of type text."""
    wanted = target.options.get("text")
    names = (wanted,) if wanted else tuple(name for name, field in fields.items() if field.get("type") == "text")
    if not names:
        raise UnknownSystem(f"{target.text} has no text field", remedy="Name one with ?text=FIELD.")
    return names


def text_body(query: str, k: int, fields: Sequence[str]) -> Body:
    """Search by words, the best field counting."""
    return {"size": k, "query": {"multi_match": {"query": query, "fields": list(fields)}}}


def _nearest_elastic(field: VectorField, vector: Sequence[float], k: int) -> Body:
    candidates = max(k, FEWEST_CANDIDATES)
    knn = {"field": field.name, "query_vector": list(vector), "k": k, "num_candidates": candidates}
    return {"size": k, "knn": knn, "_source": {"excludes": [field.name]}}


def _exact_elastic(field: VectorField, vector: Sequence[float], k: int) -> Body:
    source = _SCRIPTS.get(field.distance, _SCRIPTS["cosine"]).format(field=field.name)
    return _scripted(field, k, {"source": source, "params": {"vector": list(vector)}})


def _nearest_open(field: VectorField, vector: Sequence[float], k: int) -> Body:
    query = {"knn": {field.name: {"vector": list(vector), "k": k}}}
    return {"size": k, "query": query, "_source": {"excludes": [field.name]}}


def _exact_open(field: VectorField, vector: Sequence[float], k: int) -> Body:
    given = {"field": field.name, "query_value": list(vector), "space_type": field.distance}
    return _scripted(field, k, {"source": "knn_score", "lang": "knn", "params": given})


def _scripted(field: VectorField, k: int, script: Body) -> Body:
    # Documents without the field have no score that a script could compute.
    query = {"script_score": {"query": {"exists": {"field": field.name}}, "script": script}}
    return {"size": k, "query": query, "_source": {"excludes": [field.name]}}


BODIES: Mapping[str, Bodies] = {
    "elasticsearch": Bodies(_nearest_elastic, _exact_elastic),
    "opensearch": Bodies(_nearest_open, _exact_open),
}
"""By kind of system."""
