"""An index file of FAISS: `faiss:FILE`.

FAISS knows vectors by number. A file beside the index, `FILE.ids`, has the document's id of each vector, one a line;
without it the numbers are the ids. Exact search reads the vectors back out of the index; an index that compresses
vectors gives them back as it keeps them, so its recall is that of the search and not that of the compression.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import BadValue, MalformedFile, UnknownSystem
from assay.extras import load_package
from assay.regular_files import read_regular_text
from assay.systems.adapters.vector_store import (
    DOT,
    L2,
    MOST_COMPARED,
    StoredVectors,
    StoreHit,
    Vector,
    VectorStore,
    refuse_missing,
    refuse_too_many,
)


class Faiss(VectorStore):
    """Searches an index that was read into memory."""

    package = "faiss-cpu"

    def open(self) -> None:
        """Read the index and the ids beside it."""
        self._faiss = load_package("faiss", self.package)
        path = Path(self.target.place).expanduser()
        if not path.is_file():
            raise refuse_missing(self.target, f"there is no file {path}")
        try:
            self._index = self._faiss.read_index(str(path))
        except RuntimeError as problem:
            raise UnknownSystem(
                f"{path} cannot be read as an index of FAISS: {problem}", remedy="Write it with faiss.write_index."
            ) from problem
        self._ids = self._read_ids(path.with_name(f"{path.name}.ids"))
        self._distance = DOT if self._index.metric_type == self._faiss.METRIC_INNER_PRODUCT else L2

    def _read_ids(self, path: Path) -> list[str] | None:
        if not path.is_file():
            return None
        ids = read_regular_text(path).splitlines()
        if len(ids) != self._index.ntotal:
            raise MalformedFile(
                f"{path} has {len(ids):,} lines, and the index {self._index.ntotal:,} vectors",
                remedy="Write the id of each vector on a line of its own, in the order the vectors were added.",
            )
        return ids

    def dimension(self) -> int | None:
        """The length that the index was made for."""
        return int(self._index.d)

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search with the parameters that the index was written with."""
        far, numbers = self._index.search(vector.reshape(1, -1), k)
        found = zip(numbers[0].tolist(), far[0].tolist(), strict=True)
        sign = 1.0 if self._distance == DOT else -1.0
        return [StoreHit(self._id(number), sign * distance) for number, distance in found if number >= 0]

    def is_exact(self) -> bool:
        """A flat index compares every vector."""
        return isinstance(self._inner()[0], self._faiss.IndexFlat)

    def read_vectors(self) -> StoredVectors:
        """Reconstruct the vectors."""
        inner, numbers = self._inner()
        if inner.ntotal > MOST_COMPARED:
            raise refuse_too_many(inner.ntotal)
        try:
            vectors = inner.reconstruct_n(0, inner.ntotal)
        except RuntimeError as problem:
            raise BadValue(
                f"a {type(inner).__name__} does not give its vectors back: {problem}",
                remedy="Its recall cannot be measured; compare it with a flat index of the same vectors.",
            ) from problem
        return StoredVectors([self._id(int(number)) for number in numbers], vectors, self._distance)

    def describe(self) -> Mapping[str, Any]:
        """The kind of index, with what bounds its search."""
        inner = self._inner()[0]
        limits = {name: getattr(inner, name) for name in ("nlist", "nprobe") if hasattr(inner, name)}
        graph = {"ef_search": inner.hnsw.efSearch} if hasattr(inner, "hnsw") else {}
        kind = type(inner).__name__
        return {"index": kind, "distance": self._distance, **limits, **graph, "count": int(self._index.ntotal)}

    def _inner(self) -> tuple[Any, Any]:
        """The index under a mapping of numbers, and the number of each of its vectors."""
        if hasattr(self._index, "id_map"):
            return self._faiss.downcast_index(self._index.index), self._faiss.vector_to_array(self._index.id_map)
        return self._index, np.arange(self._index.ntotal)

    def _id(self, number: int) -> str:
        if self._ids is None:
            return str(number)
        if number >= len(self._ids):
            raise BadValue(f"vector {number} has no line in the file of ids", remedy="Add without numbers of your own.")
        return self._ids[number]
