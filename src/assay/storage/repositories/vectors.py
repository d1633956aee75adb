"""Vectors of chunks, and nearest-vector search inside PostgreSQL.

- Nearest vectors by pgvector.
- Vectors of each model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Row,
    Select,
    String,
    and_,
    bindparam,
    delete,
    func,
    literal,
    select,
    text,
    type_coerce,
)
from sqlalchemy.engine import Dialect

from assay.errors import InputError, RecordNotFound
from assay.records import Operation, RowKind
from assay.storage.repositories.base import Bound, Meta, Repository, among, mine, model_key
from assay.storage.repositories.chunks import ChunkVector, vector_row
from assay.storage.repositories.history import ChangedRow, Changes
from assay.storage.repositories.passage_filters import PassageFilter, join_memories
from assay.storage.rows import upsert
from assay.storage.tables import chunks, memories, vectors

# --- Nearest vectors by pgvector ---
#
# The index is partial and over an expression, because one table holds every tenant and every vector length. Statements
# contain tenant and model as literals, not parameters: only then does the planner use the index.

LARGEST_EF = 1_000
"""What pgvector allows as `hnsw.ef_search`."""
_LEAST_EF = 200
_VECTORS_PER_EF = 1_000
"""Vectors of the index for each one that a search keeps in view. With 200 of 1,000,000 the first ten were .95 of the
nearest, and some questions missed their whole topic; with 1,000 .99, for 2 ms more (`bench.database_vectors`)."""
_EF_CONSTRUCTION = 128
"""Candidates for the neighbours of each vector while the index is made. With pgvector's own 64, the same searches found
.84 and .95 of the nearest."""


class Near(NamedTuple):
    """A chunk and its cosine."""

    number: int
    similarity: float


class NearestQuery(NamedTuple):
    """A search for the nearest vectors: tenant, model, vector and limit."""

    tenant: str
    model: str
    vector: NDArray[np.float32]
    limit: int
    within: PassageFilter | None = None
    """Which passages may be found; None: all. Only for a tenant whose word index is in the database."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What the statements bind."""
        return {"near": str(self.vector.astype(np.float16).tolist()), "limit": self.limit}


def exactly(connection: Connection, query: NearestQuery, numbers: Sequence[int] | None) -> list[Near]:
    """Search all vectors, or those with these numbers, without an index."""
    given = {**query.parameters, "tenant": query.tenant, "model": query.model}
    joined, condition = _join_passages(query.within, given)
    if numbers is not None:
        given["numbers"] = list(numbers)
        condition = f"{condition} AND v.number = ANY(:numbers)"
    statement = text(f"""
        SELECT v.number, v.vector <=> CAST(:near AS halfvec) AS distance FROM vectors v {joined}
        WHERE v.tenant = :tenant AND v.model = :model AND {condition} ORDER BY distance, v.number LIMIT :limit
    """)  # noqa: S608 - what is put in holds names of parameters only
    return _near(connection.execute(statement, given))


def by_index(connection: Connection, query: NearestQuery) -> list[Near]:
    """Search with the index, if there is one, until enough are found."""
    _set_effort(connection, query)
    kind = f"halfvec({len(query.vector)})"
    given = query.parameters
    joined, condition = _join_passages(query.within, given)
    whose = _whose(connection.dialect, query.tenant, query.model, prefix="v.")
    statement = text(f"""
        SELECT v.number, CAST(v.vector AS {kind}) <=> CAST(:near AS {kind}) AS distance FROM vectors v {joined}
        WHERE {whose} AND {condition} ORDER BY distance LIMIT :limit
    """)  # noqa: S608 - what is put in is quoted by the dialect
    return _near(connection.execute(statement, given))


def _set_effort(connection: Connection, query: NearestQuery) -> None:
    """Tell pgvector how many vectors to keep in view until the end of this transaction: more in a larger index."""
    statement = text("""
        SELECT set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.ef_search', LEAST(:most, GREATEST(:least, size / :share))::bigint::text, true)
        FROM (SELECT COALESCE(MAX(reltuples), 0) AS size FROM pg_class WHERE oid = to_regclass(:name)) own
    """)
    given = {
        "name": index_name(query.tenant, query.model),
        "least": max(2 * query.limit, _LEAST_EF),
        "most": LARGEST_EF,
        "share": _VECTORS_PER_EF,
    }
    connection.execute(statement, given)


def _join_passages(within: PassageFilter | None, given: dict[str, Any]) -> tuple[str, str]:
    """Return the join of vectors `v` with what a filter looks at, and its condition."""
    if within is None:
        return "", "true"
    joined, condition = join_memories(within, given)
    return f"JOIN passage_stems p ON p.number = v.number AND p.tenant = v.tenant {joined}", condition


def has_index(connection: Connection, tenant: str, model: str) -> bool:
    """Whether a usable index of these vectors exists."""
    statement = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    return bool(connection.execute(statement, {"name": index_name(tenant, model)}).scalar_one_or_none())


def build_index(connection: Connection, tenant: str, model: str, dimension: int) -> bool:
    """Make the index while others go on reading and writing; whether there was none. Outside any transaction."""
    if has_index(connection, tenant, model):
        return False
    name = index_name(tenant, model)
    # An interrupted build leaves an index that is updated but never used.
    connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {name}"))
    create_index(connection, tenant, model, dimension, how="CONCURRENTLY")
    return True


def create_index(connection: Connection, tenant: str, model: str, dimension: int, *, how: str = "") -> None:
    """Make the index of a tenant's vectors of a model; within a transaction unless `how` is CONCURRENTLY."""
    connection.execute(
        text(f"""
            CREATE INDEX {how} {index_name(tenant, model)} ON vectors
            USING hnsw ((CAST(vector AS halfvec({int(dimension)}))) halfvec_cosine_ops)
            WITH (ef_construction = {_EF_CONSTRUCTION})
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


def index_size(connection: Connection, tenant: str, model: str) -> int:
    """Bytes of the index of these vectors; 0 when there is none."""
    statement = text("SELECT COALESCE(pg_relation_size(to_regclass(:name)), 0)")
    return int(connection.execute(statement, {"name": index_name(tenant, model)}).scalar_one())


def _whose(dialect: Dialect, tenant: str, model: str, prefix: str = "") -> str:
    quoted = [_quote(dialect, value) for value in (tenant, model)]
    return f"{prefix}tenant = {quoted[0]} AND {prefix}model = {quoted[1]}"


def _quote(dialect: Dialect, value: str) -> str:
    """A literal; a colon would be read as the name of a parameter."""
    compiled = literal(value, String()).compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return str(compiled).replace(":", "\\:")


def _near(rows: Any) -> list[Near]:
    found = [Near(number, 1.0 - distance) for number, distance in rows if distance == distance]  # noqa: PLR0124 - not a number: a vector of zeros
    return sorted(found, key=lambda near: (-near.similarity, near.number))


# --- Vectors of each model ---
#
# A vector can be looked up by the hash of the text it was made of, so that the same text is embedded once. On
# PostgreSQL
# `nearest` searches them in the database; with SQLite a derived index does.

PAGE = 5_000


class NumberedVector(NamedTuple):
    """A vector for a chunk that is there already."""

    number: int
    text_hash: str
    vector: NDArray[np.float32]


class VectorPage(NamedTuple):
    """Some vectors, in the order of their chunks' numbers."""

    numbers: NDArray[np.int64]
    vectors: NDArray[np.float32]
    """One row for each number; no columns when there is none."""


class Unembedded(NamedTuple):
    """A chunk without a vector under some model, with what its vector is made of."""

    number: int
    title: str
    heading_path: str
    text: str


class _Prepared(NamedTuple):
    """Statements that every save and every change uses, built once."""

    by_hashes: Select[Any]
    by_numbers: Select[Any]
    of_memories: Select[Any]


def _prepare(as_bytes: ColumnElement[Any]) -> _Prepared:
    own = and_(memories.c.tenant == chunks.c.tenant, memories.c.id == chunks.c.memory_id)
    made = and_(vectors.c.number == chunks.c.number, vectors.c.model == bindparam("model"))
    of_model = (mine(vectors), vectors.c.model == bindparam("model"))
    return _Prepared(
        by_hashes=select(vectors.c.text_hash, as_bytes).where(*of_model, among(vectors.c.text_hash, "hashes")),
        by_numbers=select(chunks.c.number, as_bytes)
        .select_from(chunks.join(vectors, made))
        .where(mine(chunks), among(chunks.c.number, "numbers"))
        .order_by(chunks.c.number),
        of_memories=select(memories.c.number, as_bytes)
        .select_from(memories.join(chunks, own).join(vectors, made))
        .where(mine(memories), among(memories.c.number, "numbers"))
        .order_by(memories.c.number, chunks.c.position),
    )


# A vector as bytes: pgvector's text would cost more to read than the search costs.
_BYTES: dict[str, ColumnElement[Any]] = {
    "sqlite": type_coerce(vectors.c.vector, LargeBinary),
    "postgresql": func.halfvec_send(vectors.c.vector, type_=LargeBinary),
}
_PREPARED = {name: _prepare(as_bytes) for name, as_bytes in _BYTES.items()}


class Vectors(Repository):
    """The vectors of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)
        self._meta = Meta(bound)

    def active(self) -> str | None:
        """The model that search uses; None before anything was embedded."""
        return self._meta.get(model_key(self._tenant))

    def activate(self, model: str) -> None:
        """Let search use this model from now on."""
        self._meta.put(model_key(self._tenant), model)

    def put_many(self, model: str, rows: Sequence[NumberedVector]) -> None:
        """Store vectors of existing chunks, and write the change log."""
        if not rows:
            return
        lines = self._lines([row.number for row in rows])
        key, fresh = ("number", "model"), ("dimension", "text_hash", "vector")
        kept = [vector_row(self._tenant, model, row.number, ChunkVector(row.text_hash, row.vector)) for row in rows]
        self._connection.execute(upsert(self._connection, vectors, key=key, fresh=fresh), kept)
        self._changes.append(Operation.UPDATE, lines)

    def page(self, model: str, *, after: int = 0, limit: int = PAGE) -> VectorPage:
        """Up to `limit` vectors in the order of their numbers, beginning after one of them."""
        return self._read(self._of_chunks(model).where(chunks.c.number > after).limit(limit))

    def by_numbers(self, model: str, numbers: Iterable[int]) -> VectorPage:
        """The vectors of these chunks; one that has none is left out."""
        return _page(self._rows(self._prepare.by_numbers, model=model, numbers=numbers), self._matrix)

    def by_hashes(self, model: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors already made of texts with these hashes."""
        found = self._rows(self._prepare.by_hashes, model=model, hashes=hashes)
        return dict(zip((row[0] for row in found), self._matrix([row[1] for row in found]), strict=True))

    def missing(self, model: str, *, after: int = 0, limit: int = PAGE) -> list[Unembedded]:
        """Chunks without a vector under a model, in the order of their numbers."""
        made = and_(vectors.c.number == chunks.c.number, vectors.c.model == model)
        own = and_(memories.c.tenant == chunks.c.tenant, memories.c.id == chunks.c.memory_id)
        statement = (
            select(chunks.c.number, memories.c.title, chunks.c.heading_path, chunks.c.text)
            .select_from(chunks.join(memories, own).outerjoin(vectors, made))
            .where(self._mine(chunks), chunks.c.number > after, vectors.c.number.is_(None))
            .order_by(chunks.c.number)
            .limit(limit)
        )
        return [Unembedded(*row) for row in self._connection.execute(statement)]

    def count(self, model: str) -> int:
        """How many chunks have a vector under a model."""
        counted = select(func.count()).select_from(vectors).where(self._mine(vectors), vectors.c.model == model)
        return int(self._connection.execute(counted).scalar_one())

    def models(self) -> dict[str, int]:
        """How many vectors there are of each model."""
        counted = select(vectors.c.model, func.count()).where(self._mine(vectors)).group_by(vectors.c.model)
        return {row[0]: row[1] for row in self._connection.execute(counted.order_by(vectors.c.model))}

    def remove_model(self, model: str) -> int:
        """Delete every vector of a model that search no longer uses; how many there were."""
        if model == self.active():
            raise InputError(f"the model {model!r} is in use", remedy="Activate another model first.")
        gone = self._connection.execute(delete(vectors).where(self._mine(vectors), vectors.c.model == model))
        return int(gone.rowcount)

    def of_memories(self, memory_numbers: Iterable[int], model: str) -> dict[int, NDArray[np.float32]]:
        """The mean of each memory's vectors, at length 1; a memory without any is left out."""
        rows = self._rows(self._prepare.of_memories, model=model, numbers=memory_numbers)
        read = self._matrix([row[1] for row in rows])
        places = groupby(range(len(rows)), key=lambda place: int(rows[place][0]))
        return {number: _mean(read[[*own]]) for number, own in places}

    def nearest(
        self,
        model: str,
        vector: NDArray[np.float32],
        limit: int,
        *,
        numbers: Iterable[int] | None = None,
        within: PassageFilter | None = None,
        exact: bool = False,
    ) -> list[Near]:
        """The nearest chunks by cosine, or the nearest of these; PostgreSQL only. `exact` looks at every one.

        `within` is only for a tenant whose word index is in the database (`Stems`).
        """
        if self._connection.dialect.name == "sqlite":
            raise InputError("SQLite does not search vectors", remedy="Use the derived vector index.")
        query = NearestQuery(self._tenant, model, vector, limit, within)
        if exact or numbers is not None:
            return exactly(self._connection, query, None if numbers is None else list(numbers))
        return by_index(self._connection, query)

    def index_bytes(self, model: str) -> int:
        """Bytes of PostgreSQL's index of this tenant's vectors under a model; 0 when there is none."""
        return 0 if self._connection.dialect.name == "sqlite" else index_size(self._connection, self._tenant, model)

    def has_index(self, model: str) -> bool:
        """Whether PostgreSQL has a vector index of this tenant's vectors under a model."""
        return self._connection.dialect.name != "sqlite" and has_index(self._connection, self._tenant, model)

    @property
    def _prepare(self) -> _Prepared:
        return _PREPARED[self._connection.dialect.name]

    def _matrix(self, found: Sequence[bytes]) -> NDArray[np.float32]:
        if not found:
            return np.empty((0, 0), np.float32)
        if self._connection.dialect.name == "sqlite":
            return np.frombuffer(b"".join(found), "<f2").reshape(len(found), -1).astype(np.float32)
        # pgvector sends two bytes of length and two unused before the numbers.
        return np.frombuffer(b"".join(found), ">f2").reshape(len(found), -1)[:, 2:].astype(np.float32)

    def _of_chunks(self, model: str) -> Select[Any]:
        """By way of the chunks, which are indexed by tenant and number."""
        made = and_(vectors.c.number == chunks.c.number, vectors.c.model == model)
        statement = select(chunks.c.number, _BYTES[self._connection.dialect.name]).select_from(
            chunks.join(vectors, made)
        )
        return statement.where(self._mine(chunks)).order_by(chunks.c.number)

    def _read(self, wanted: Select[Any]) -> VectorPage:
        return _page(self._connection.execute(wanted).all(), self._matrix)

    def _lines(self, numbers: Sequence[int]) -> list[ChangedRow]:
        mine = (self._mine(chunks), self._among(chunks.c.number, numbers))
        statement = (
            select(chunks.c.number, chunks.c.memory_id, chunks.c.position).where(*mine).order_by(chunks.c.number)
        )
        rows = self._connection.execute(statement).all()
        if absent := set(numbers) - {row.number for row in rows}:
            raise RecordNotFound(
                f"there is no chunk with the number {min(absent)} in this scope", remedy="Save the memory first."
            )
        return [ChangedRow(RowKind.CHUNK, f"{row.memory_id}#{row.position}", row.number) for row in rows]


def _page(rows: Sequence[Row[*tuple[Any, ...]]], matrix: Callable[[list[bytes]], NDArray[np.float32]]) -> VectorPage:
    return VectorPage(np.array([row[0] for row in rows], np.int64), matrix([row[1] for row in rows]))


def _mean(found: NDArray[np.float32]) -> NDArray[np.float32]:
    total = found.sum(axis=0, dtype=np.float32)
    unit: NDArray[np.float32] = total / np.float32(np.linalg.norm(total) or 1.0)
    return unit
