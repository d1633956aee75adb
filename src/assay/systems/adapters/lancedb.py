"""A table of LanceDB: `lancedb:PATH#TABLE`.

The column `id` has the document's id, or the one that `?id=` names; `?vector=` names the vector column where there are
several. Without a vector index LanceDB scans the table, which is exact; with one it is asked again without the index.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import UnknownSystem
from assay.extras import load_package
from assay.systems.adapters.vector_store import (
    L2,
    OwnFunction,
    StoreHit,
    Vector,
    VectorStore,
    choose_field,
    refuse_missing,
)

_FAR = "_distance"


class Lance(VectorStore):
    """Searches a table by vector."""

    package = "lancedb"

    def open(self) -> None:
        """Open the folder, the table, and find its columns."""
        lancedb = load_package("lancedb", self.package)
        folder = Path(self.target.place).expanduser()
        if not folder.is_dir():
            raise refuse_missing(self.target, f"there is no folder {folder}")
        database = lancedb.connect(str(folder))
        known = list(database.list_tables().tables)
        if self.target.name not in known:
            raise refuse_missing(self.target, f"there is no table {self.target.name!r}", known)
        self._table = database.open_table(self.target.name)
        self._id_column = choose_field(self.target, "id", self._table.schema.names, "id")
        self._text_column = self.target.options.get("text")
        vectors = [field.name for field in self._table.schema if hasattr(field.type, "list_size")]
        self._vector = choose_field(self.target, "vector", vectors, vectors[0] if len(vectors) == 1 else "vector")
        indexes = [index for index in self._table.list_indices() if index.columns == [self._vector]]
        self._index = indexes[0] if indexes else None
        stats = None if self._index is None else self._table.index_stats(self._index.name)
        self._distance = L2 if stats is None else str(stats.distance_type or L2).lower()

    def own_function(self) -> OwnFunction | None:
        """The embedding function in the table's metadata."""
        try:
            kept = self._table.embedding_functions.get(self._vector)
        except Exception as problem:
            raise UnknownSystem(
                f"the embedding function of {self.target.name} cannot be made: {problem}",
                remedy="Install what it needs, and register it before the run if it is your own.",
            ) from problem
        if kept is None:
            return None
        return OwnFunction(type(kept.function).__name__, kept.function.compute_query_embeddings)

    def dimension(self) -> int | None:
        """The length in the schema."""
        return int(self._table.schema.field(self._vector).type.list_size)

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search with the index, where there is one."""
        return self._read(self._query(vector, k))

    def is_exact(self) -> bool:
        """Without an index every row is compared."""
        return self._index is None

    def search_exact(self, vector: Vector, k: int) -> list[StoreHit]:
        """Search without the index."""
        return self._read(self._query(vector, k).bypass_vector_index())

    def describe(self) -> Mapping[str, Any]:
        """The index, its distance, and the number of rows."""
        index = "none: the table is scanned" if self._index is None else str(self._index.index_type)
        return {"index": index, "distance": self._distance, "count": self._table.count_rows()}

    def _read(self, query: Any) -> list[StoreHit]:
        return [
            StoreHit(
                str(row[self._id_column]),
                -row[_FAR] if self._distance == L2 else 1.0 - row[_FAR],
                str(row[self._text_column]) if self._text_column else "",
            )
            for row in query.to_list()
        ]

    def _query(self, vector: Vector, k: int) -> Any:
        columns = [self._id_column, *([self._text_column] if self._text_column else []), _FAR]
        found = self._table.search(vector, vector_column_name=self._vector).distance_type(self._distance)
        return found.select(columns).limit(k)
