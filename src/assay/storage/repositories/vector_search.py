"""Nearest vectors inside PostgreSQL, by pgvector: an exact scan, or an index of one tenant's vectors of one model.

The index is partial and an expression, because one table holds every tenant and every length. Its statements spell out
tenant and model instead of binding them: only then can the planner know that the index will do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, String, literal, text
from sqlalchemy.engine import Dialect

LARGEST_EF = 1_000
"""What pgvector allows as `hnsw.ef_search`."""
_LEAST_EF = 100


class Near(NamedTuple):
    """A chunk and its cosine."""

    number: int
    similarity: float


class Question(NamedTuple):
    """Whose vectors, of which model, near what, how many."""

    tenant: str
    model: str
    vector: NDArray[np.float32]
    limit: int

    @property
    def parameters(self) -> dict[str, Any]:
        """What the statements bind."""
        return {"near": str(self.vector.astype(np.float16).tolist()), "limit": self.limit}


def exactly(connection: Connection, asked: Question, numbers: Sequence[int] | None) -> list[Near]:
    """Look at every vector, or at those with these numbers."""
    among = "" if numbers is None else "AND number = ANY(:numbers)"
    wanted = text(f"""
        SELECT number, vector <=> CAST(:near AS halfvec) AS distance FROM vectors
        WHERE tenant = :tenant AND model = :model {among} ORDER BY distance, number LIMIT :limit
    """)  # noqa: S608 - what is put in is a constant
    given = {**asked.parameters, "tenant": asked.tenant, "model": asked.model}
    return _near(connection.execute(wanted, given if numbers is None else {**given, "numbers": list(numbers)}))


def by_index(connection: Connection, asked: Question) -> list[Near]:
    """Ask the index, if there is one; going on until enough are found."""
    effort = min(max(2 * asked.limit, _LEAST_EF), LARGEST_EF)
    connection.execute(
        text("SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :ef, true)"),
        {"ef": str(effort)},
    )
    kind = f"halfvec({len(asked.vector)})"
    wanted = text(f"""
        SELECT number, CAST(vector AS {kind}) <=> CAST(:near AS {kind}) AS distance FROM vectors
        WHERE {_whose(connection.dialect, asked.tenant, asked.model)} ORDER BY distance LIMIT :limit
    """)  # noqa: S608 - what is put in is quoted by the dialect
    return _near(connection.execute(wanted, asked.parameters))


def has_index(connection: Connection, tenant: str, model: str) -> bool:
    """Whether a usable index of these vectors exists."""
    wanted = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    return bool(connection.execute(wanted, {"name": index_name(tenant, model)}).scalar_one_or_none())


def build_index(connection: Connection, tenant: str, model: str, dimension: int) -> bool:
    """Make the index while others go on reading and writing; whether there was none. Outside any transaction."""
    if has_index(connection, tenant, model):
        return False
    name = index_name(tenant, model)
    # A build that was broken off leaves an index that is kept up to date but never used.
    connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
    create_index(connection, tenant, model, dimension, how="CONCURRENTLY")
    return True


def create_index(connection: Connection, tenant: str, model: str, dimension: int, *, how: str = "") -> None:
    """Make the index of a tenant's vectors of a model; within a transaction unless `how` is CONCURRENTLY."""
    connection.execute(
        text(f"""
            CREATE INDEX {how} {index_name(tenant, model)} ON vectors
            USING hnsw ((CAST(vector AS halfvec({int(dimension)}))) halfvec_cosine_ops)
            WHERE {_whose(connection.dialect, tenant, model)}
        """)
    )


def list_indexes(connection: Connection) -> list[tuple[str, str, int]]:
    """Tenant, model and dimension of every usable index of vectors."""
    rows = connection.execute(
        text("SELECT tenant, model, max(vector_dims(vector)) AS dimension FROM vectors GROUP BY tenant, model")
    )
    return [(row.tenant, row.model, row.dimension) for row in rows if has_index(connection, row.tenant, row.model)]


def index_name(tenant: str, model: str) -> str:
    """A plain name of its own for each tenant and model."""
    return "vectors_near_" + hashlib.sha256(f"{tenant}\x00{model}".encode()).hexdigest()[:16]


def _whose(dialect: Dialect, tenant: str, model: str) -> str:
    quoted = [_quote(dialect, value) for value in (tenant, model)]
    return f"tenant = {quoted[0]} AND model = {quoted[1]}"


def _quote(dialect: Dialect, value: str) -> str:
    """A literal; a colon would be read as the name of a parameter."""
    compiled = literal(value, String()).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return str(compiled).replace(":", "\\:")


def _near(rows: Any) -> list[Near]:
    found = [Near(number, 1.0 - distance) for number, distance in rows if distance == distance]  # noqa: PLR0124 - not a number: a vector of zeros
    return sorted(found, key=lambda near: (-near.similarity, near.number))
