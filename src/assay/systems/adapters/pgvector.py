"""A table of PostgreSQL with a pgvector column: `pgvector:URL#TABLE`.

The primary key is the document's id, or the column that `?id=` names; `?vector=` names the vector column where there
are several. The distance is the one the column's index orders by; without an index it is the cosine, and every row is
compared. Exact search is the same statement with index scans switched off.

Runs keep the name of their system, so a password does not belong in the URL: use `PGPASSWORD`, a password file, or
`${NAME}` for a variable of the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assay.errors import UnknownSystem
from assay.storage.vector_tables import TableRow, VectorTable
from assay.systems.adapters.vector_store import StoreHit, Vector, VectorStore
from assay.systems.replies import VARIABLE, from_environment

_COSINE = "<=>"


class Pgvector(VectorStore):
    """Queries a table by vector."""

    package = "psycopg"
    _table: Any = None

    def open(self) -> None:
        """Connect, and find the columns of the table."""
        options = self.target.options
        url = from_environment(_check_address(self.target.place), None, "the address")
        address = urlsplit(url)
        host = address.hostname or parse_qs(address.query).get("host", [""])[0]
        if host and not host.startswith("/"):  # a path is a socket of this machine
            port = f":{address.port}" if address.port else ""
            self.gate.check(f"postgresql://{host}{port}/")
        try:
            self._table = VectorTable(
                url,
                self.target.name,
                id_column=options.get("id"),
                vector=options.get("vector"),
                text=options.get("text"),
            )
        except UnknownSystem as problem:
            raise UnknownSystem(f"{self.target.text}: {problem.message}", remedy=problem.remedy) from problem

    def dimension(self) -> int | None:
        """The length in the column's type."""
        length: int | None = self._table.columns.length
        return length

    def search(self, vector: Vector, k: int) -> list[StoreHit]:
        """Order by distance."""
        return self._read(self._table.nearest(vector.tolist(), k))

    def is_exact(self) -> bool:
        """Without an index every row is compared."""
        return not self._table.columns.index

    def search_exact(self, vector: Vector, k: int) -> list[StoreHit]:
        """Order by distance without the index."""
        return self._read(self._table.nearest(vector.tolist(), k, scan=True))

    def _read(self, rows: Iterable[TableRow]) -> list[StoreHit]:
        cosine = self._table.columns.operator == _COSINE
        return [StoreHit(row.id, 1.0 - row.distance if cosine else -row.distance, row.text) for row in rows]

    def describe(self) -> Mapping[str, Any]:
        """The index, its distance, and the number of rows."""
        columns = self._table.columns
        index = columns.index or "none: the table is scanned"
        return {"index": index, "distance": columns.operator, "count": self._table.count()}

    def close(self) -> None:
        """Close the connections."""
        if self._table is not None:
            self._table.close()


def _check_address(url: str) -> str:
    address = urlsplit(url)
    if address.scheme not in ("postgresql", "postgres"):
        raise UnknownSystem(
            f"{address.scheme or url!r} is not an address of PostgreSQL",
            remedy="Write it like pgvector:postgresql://user@host/database#table.",
        )
    if address.password and not VARIABLE.search(address.password):
        raise UnknownSystem(
            "the address has a password, which the files of the run would keep",
            remedy="Set PGPASSWORD instead, or write ${NAME} for a variable of the environment.",
        )
    return url
