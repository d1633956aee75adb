"""Chunks with their full-text rows, indexing results and trigger phrases.

- Full-text rows, one for each chunk.
- Write and erase chunks.
- Indexing results of documents.
- Trigger phrases.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, and_, bindparam, delete, select, text
from sqlalchemy.exc import DBAPIError

from assay.errors import BadValue, SearchTimeout
from assay.records import Chunk, MemoryRecord, Operation, RowKind
from assay.storage.full_text import (
    AllOf,
    AnalysedPassage,
    AnyOf,
    Field,
    FullTextQuery,
    Phrase,
    Prefix,
    Within,
    analyse_body,
    analyse_triggers,
    trigger_phrases,
)
from assay.storage.full_text import tenant_term as term_of
from assay.storage.repositories.base import Bound, Repository, among, mine
from assay.storage.repositories.history import ChangedRow, Changes
from assay.storage.repositories.prepared import driver_of, run_sql
from assay.storage.repositories.stems import NewPassage, Stems
from assay.storage.rows import to_row, upsert
from assay.storage.tables import chunks, indexed_documents, memories, memory_triggers, vectors
from assay.text.terms import normalise_phrase

# --- Full-text rows, one for each chunk ---
#
# SQLite keeps them in an FTS5 table, PostgreSQL in a table with a `tsvector` of our own making: a term has the weight
# of each field that contains it, and no more positions than fields, because PostgreSQL keeps only 256 of a word and
# none beyond 16,383; phrases are looked up in the joined words instead. Both rows hold the tenant as a term, so that
# the cost of a query depends on the tenant's own passages alone.

_FIELDS = tuple(Field)
_WEIGHTS = {Field.TITLE: "A", Field.TRIGGERS: "B", Field.BODY: "C"}
_OUTERMOST = "SELECT (SELECT min(tenant) FROM chunks), (SELECT max(tenant) FROM chunks)"
"""Both are this tenant if no other has passages; the query then needs no term for the tenant."""
_STEPS_BETWEEN_LOOKS = 2_000
_WAITING = 20
"""A query may take this many times its budget in elapsed time: the disk may be slow or shared by many."""
_BUSY = 4
"""The same on PostgreSQL, where queries do not wait for Python's interpreter lock."""


class FullText(Protocol):
    """The full-text rows of one tenant."""

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Write the rows of new chunks."""
        ...

    def erase(self, numbers: Sequence[int]) -> None:
        """Delete the rows of these chunks."""
        ...

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        ...

    def read_words(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks; one that is gone is left out."""
        ...


def full_text(connection: Connection, tenant: str) -> FullText:
    """The full text of the back end behind a connection."""
    kind = SqliteFullText if connection.dialect.name == "sqlite" else PostgresFullText
    return kind(connection, tenant)


class SqliteFullText:
    """FTS5."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._driver = driver_of(connection)
        self._name = tenant
        self._tenant = term_of(tenant)

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Keep the rows of new chunks."""
        rows = [(self._tenant, *passage) for passage in passages]
        statement = "INSERT INTO passages_fts (tenant, rowid, title, triggers, body) VALUES (?, ?, ?, ?, ?)"
        if rows:
            self._connection.exec_driver_sql(statement, rows)

    def erase(self, numbers: Sequence[int]) -> None:
        """Forget the rows of these chunks."""
        if numbers:
            self._connection.exec_driver_sql(
                "DELETE FROM passages_fts WHERE rowid = ?", [(number,) for number in numbers]
            )

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        expression = match_expression(query)
        parameters = (self._name, self._name, expression, f'"{self._tenant}" AND ({expression})', limit)
        with _interrupt_after(self._connection, budget_s):
            return [number for (number,) in run_sql(self._connection, self._driver, _SQLITE_MATCHING, parameters)]

    def read_words(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks."""
        given = (json.dumps(list(numbers)), self._tenant)
        return map(AnalysedPassage._make, run_sql(self._connection, self._driver, _SQLITE_WORDS, given))


# FTS5 keeps the columns of a row as c0, c1 and so on in a table of its own. Asking that table, instead of the full-text
# table over it, takes a quarter less.
_SQLITE_WORDS = (
    "SELECT id, c1, c2, c3 FROM passages_fts_content WHERE id IN (SELECT value FROM json_each(?)) AND c0 = ?"
)
_SQLITE_MATCHING = (
    "SELECT rowid FROM passages_fts WHERE passages_fts MATCH"  # noqa: S608 - what is put in is written above
    f" CASE WHEN ({_OUTERMOST}) = (?, ?) THEN ? ELSE ? END ORDER BY rowid DESC LIMIT ?"
)


class PostgresFullText:
    """`tsvector` and GIN."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._name = tenant
        self._tenant = term_of(tenant)

    def write(self, passages: Sequence[AnalysedPassage]) -> None:
        """Keep the rows of new chunks."""
        rows = [
            {"tenant": self._name, **passage._asdict(), "terms": term_vector(self._name, passage)}
            for passage in passages
        ]
        if rows:
            self._connection.execute(_PG_WRITE, rows)

    def erase(self, numbers: Sequence[int]) -> None:
        """Forget the rows of these chunks."""
        if numbers:
            self._connection.execute(_PG_ERASE, {"numbers": list(numbers)})

    def matching(self, query: FullTextQuery, limit: int, *, budget_s: float) -> list[int]:
        """The numbers of the newest passages that match."""
        alone = set(self._connection.execute(_PG_OUTERMOST).one()) <= {self._name}
        terms = ts_query(query)
        given: dict[str, Any] = {"tenant": self._name, "limit": limit}
        given["terms"] = terms if alone else f"'{self._tenant}' & ({terms})"
        exactly = f" AND {_exact(query, _FIELDS, given)}" if _has_phrase(query) else ""
        # The newest first by the key would read the whole table for a rare word: find, then sort.
        statement = text(f"""
            WITH found AS MATERIALIZED (
              SELECT number FROM passages_text
              WHERE terms @@ CAST(:terms AS tsquery) AND tenant = :tenant{exactly})
            SELECT number FROM found ORDER BY number DESC LIMIT :limit
        """)  # noqa: S608 - what is put in holds names of parameters only
        with _cancel_after(self._connection, budget_s):
            return list(self._connection.execute(statement, given).scalars())

    def read_words(self, numbers: Sequence[int]) -> Iterable[AnalysedPassage]:
        """The rows of these chunks."""
        given = {"tenant": self._name, "numbers": list(numbers)}
        return map(AnalysedPassage._make, self._connection.execute(_PG_ANALYSED, given))


_PG_WRITE = text("""
    INSERT INTO passages_text (tenant, number, title, triggers, body, terms)
    VALUES (:tenant, :number, :title, :triggers, :body, CAST(:terms AS tsvector))""")
_PG_ANALYSED = text(
    "SELECT number, title, triggers, body FROM passages_text WHERE tenant = :tenant AND number = ANY(:numbers)"
)
_PG_OUTERMOST = text(_OUTERMOST)
_PG_ERASE = text("DELETE FROM passages_text WHERE number = ANY(:numbers)")


def term_vector(tenant: str, passage: AnalysedPassage) -> str:
    """A passage's terms as PostgreSQL reads them: `'word':1A,3C`."""
    fields: dict[str, list[str]] = {}
    for position, field in enumerate(_FIELDS, start=1):
        for word in set(getattr(passage, field).split()):
            fields.setdefault(word, []).append(f"{position}{_WEIGHTS[field]}")
    listed = [f"'{word}':{','.join(places)}" for word, places in fields.items()]
    return " ".join([f"'{term_of(tenant)}'", *listed])


def match_expression(query: FullTextQuery) -> str:
    """Return a query in FTS5's syntax. Terms contain no quotes."""
    match query:
        case str():
            return f'"{query}"'
        case Prefix(word):
            return f'"{word}" *'
        case Phrase(words):
            return f'"{" ".join(words)}"'
        case Within(field, part):
            return f"{{{field}}} : ({match_expression(part)})"
        case AllOf(parts):
            return " AND ".join(f"({match_expression(part)})" for part in parts)
        case AnyOf(parts):
            return " OR ".join(f"({match_expression(part)})" for part in parts)


def ts_query(query: FullTextQuery, weights: str = "") -> str:
    """Return a query in PostgreSQL's syntax, with phrases as sets of terms."""
    match query:
        case str():
            return f"'{query}':{weights}" if weights else f"'{query}'"
        case Prefix(word):
            return f"'{word}':*{weights}"
        case Phrase(words):
            return " & ".join(ts_query(word, weights) for word in words)
        case Within(field, part):
            return ts_query(part, _WEIGHTS[field])
        case AllOf(parts):
            return " & ".join(f"({ts_query(part, weights)})" for part in parts)
        case AnyOf(parts):
            return " | ".join(f"({ts_query(part, weights)})" for part in parts)


def _exact(query: FullTextQuery, fields: Sequence[Field], given: dict[str, Any]) -> str:
    """Return a query as a condition on one row, with exact phrases."""
    match query:
        case Within(field, part):
            return _exact(part, [field], given)
        case AllOf(parts):
            return "(" + " AND ".join(_exact(part, fields, given) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(_exact(part, fields, given) for part in parts) + ")"
        case Phrase(words):
            name = f"p{len(given)}"
            given[name] = f" {' '.join(words)} "
            return "(" + " OR ".join(f"strpos(' ' || {field} || ' ', :{name}) > 0" for field in fields) + ")"
        case _:
            name = f"p{len(given)}"
            given[name] = ts_query(query, "".join(_WEIGHTS[field] for field in fields))
            return f"terms @@ CAST(:{name} AS tsquery)"


def _has_phrase(query: FullTextQuery) -> bool:
    match query:
        case Phrase(words):
            return len(words) > 1
        case Within(_, part):
            return _has_phrase(part)
        case AllOf(parts) | AnyOf(parts):
            return any(_has_phrase(part) for part in parts)
    return False


@contextmanager
def _interrupt_after(connection: Connection, budget_s: float) -> Iterator[None]:
    """Interrupt SQLite when the budget is used up; it checks regularly while it runs.

    The budget is processor time. Each check needs Python's interpreter lock, and with many threads waiting for it takes
    longer than the query: a budget of elapsed time would interrupt queries only because others run too.
    """
    driver: Any = connection.connection.driver_connection
    began, used = time.monotonic(), time.thread_time()

    def is_over() -> bool:
        # Processor time never exceeds elapsed time, and elapsed time is quicker to read, so it is checked first.
        passed = time.monotonic() - began
        return passed >= budget_s and (time.thread_time() - used >= budget_s or passed >= _WAITING * budget_s)

    driver.set_progress_handler(is_over, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    except DBAPIError as problem:
        if getattr(problem.orig, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise _too_slow(budget_s) from problem
        raise
    finally:
        driver.set_progress_handler(None, 0)


@contextmanager
def _cancel_after(connection: Connection, budget_s: float) -> Iterator[None]:
    """Let PostgreSQL cancel the statement when the budget is used up; a savepoint keeps the transaction usable.

    The server measures elapsed time, so the budget is multiplied: on a busy server small queries take longer, too.
    """
    allowed = text("SELECT set_config('statement_timeout', :allowed, true)")
    try:
        with connection.begin_nested():
            before = connection.execute(text("SHOW statement_timeout")).scalar_one()
            connection.execute(allowed, {"allowed": str(max(1, round(_BUSY * budget_s * 1000)))})
            yield
            connection.execute(allowed, {"allowed": before})
    except DBAPIError as problem:
        if getattr(problem.orig, "sqlstate", "") == "57014":
            raise _too_slow(budget_s) from problem
        raise


def _too_slow(budget_s: float) -> SearchTimeout:
    return SearchTimeout(
        f"the full-text question took longer than its budget of {budget_s * 1000:,.0f} ms",
        remedy="Use rarer words.",
    )


# --- Write and erase chunks ---
#
# Numbers are drawn first, so that all rows of a batch are written by one statement for each table.

_ADD_CHUNK = chunks.insert()
_ADD_VECTORS = vectors.insert()


class ChunkVector(NamedTuple):
    """A chunk's vector and the hash of the text it was made of."""

    text_hash: str
    vector: NDArray[np.float32]


class Saved(NamedTuple):
    """A memory and its chunks in order, with their vectors."""

    memory: MemoryRecord
    chunks: Sequence[Chunk] = ()
    vectors: Sequence[ChunkVector | None] | None = None
    """One for each chunk; None where a chunk has none."""
    model: str | None = None
    """Which embedder made the vectors."""
    chunker: str | None = None
    """Which chunker made the chunks; with it, the document is kept in the list of indexed documents."""
    skipped: Mapping[str, int] = {}
    """How many chunks were left out, by reason."""
    doc_type: str = ""


class ChunkWriter(Repository):
    """Writes and erases chunks of one tenant."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self._changes = Changes(bound)
        self._full_text = full_text(self._connection, self._tenant)
        self._stems = Stems(bound)

    def insert(self, batch: Sequence[Saved], numbers: Sequence[int]) -> list[ChangedRow]:
        """Write the chunks of these memories, which exist already; return the rows for the change log."""
        if not numbers:
            return []
        ends = np.cumsum([0, *(len(saved.chunks) for saved in batch)]).tolist()
        numbered = [(saved, numbers[start:end]) for saved, (start, end) in zip(batch, pairwise(ends), strict=True)]
        rows = [
            {"tenant": self._tenant, "number": number, **to_row(piece, chunks)}
            for saved, own in numbered
            for piece, number in zip(saved.chunks, own, strict=True)
        ]
        self._insert(_ADD_CHUNK, rows)
        self._full_text.write(
            [passage for saved, own in numbered for passage in analyse_chunks(saved.memory, saved.chunks, own)]
        )
        self._stems.write_chunks(
            NewPassage(saved.memory, piece, number)
            for saved, own in numbered
            for piece, number in zip(saved.chunks, own, strict=True)
        )
        if embedded := [row for saved, own in numbered for row in self._vector_rows(saved, own)]:
            self._insert(_ADD_VECTORS, embedded)
        return [_line(row["memory_id"], row["position"], row["number"]) for row in rows]

    def erase(self, memory_id: str) -> None:
        """Delete a memory's chunks; their vectors go with them."""
        gone = [_line(memory_id, row.position, row.number) for row in self._rows_of(memory_id)]
        if not gone:
            return
        numbers = [line.number for line in gone]
        self._full_text.erase(numbers)
        self._stems.erase(numbers)
        self._connection.execute(delete(chunks).where(self._mine(chunks), chunks.c.memory_id == memory_id))
        self._changes.append(Operation.DELETE, gone)

    def reword(self, memory: MemoryRecord) -> None:
        """Rewrite a memory's full-text rows after its title or triggers changed."""
        rows = self._rows_of(memory.id)
        numbers = [row.number for row in rows]
        self._full_text.erase(numbers)
        self._full_text.write(analyse_chunks(memory, rows, numbers))
        self._stems.erase(numbers)
        self._stems.write_chunks(NewPassage(memory, row, row.number) for row in rows)
        self._changes.append(Operation.UPDATE, [_line(memory.id, row.position, row.number) for row in rows])

    def _rows_of(self, memory_id: str) -> Sequence[Row[Any]]:
        statement = self._select(chunks, chunks.c.memory_id == memory_id).order_by(chunks.c.position)
        return self._connection.execute(statement).all()

    def _vector_rows(self, one: Saved, numbers: Sequence[int]) -> list[dict[str, Any]]:
        return [
            vector_row(self._tenant, one.model or "", number, made)
            for number, made in zip(numbers, one.vectors or (), strict=False)
            if made is not None
        ]


def _line(memory_id: str, position: int, number: int) -> ChangedRow:
    return ChangedRow(RowKind.CHUNK, f"{memory_id}#{position}", number)


def vector_row(tenant: str, model: str, number: int, made: ChunkVector) -> dict[str, Any]:
    """Return a vector as a row."""
    return {
        "tenant": tenant,
        "number": number,
        "model": model,
        "dimension": len(made.vector),
        "text_hash": made.text_hash,
        "vector": made.vector,
    }


def analyse_chunks(memory: MemoryRecord, pieces: Sequence[Any], numbers: Sequence[int]) -> list[AnalysedPassage]:
    """Return the terms of a memory's chunks."""
    title = normalise_phrase(memory.title)
    triggers = analyse_triggers(memory.triggers)
    return [
        AnalysedPassage(number, title, triggers, analyse_body(piece.heading_path, piece.text))
        for piece, number in zip(pieces, numbers, strict=True)
    ]


def check(saved: Saved) -> None:
    """Refuse chunks out of order, and vectors that do not fit them."""
    expected = [(saved.memory.id, position) for position in range(len(saved.chunks))]
    if [(piece.memory_id, piece.position) for piece in saved.chunks] != expected:
        raise BadValue(
            f"the chunks of {saved.memory.id} are not its positions 0 to {len(saved.chunks) - 1} in order",
            remedy="Number the chunks of a memory from 0 without gaps.",
        )
    if saved.vectors is None:
        return
    if len(saved.vectors) != len(saved.chunks) or not saved.model:
        raise BadValue(
            f"{saved.memory.id} has {len(saved.chunks)} chunks and {len(saved.vectors)} vectors of {saved.model!r}",
            remedy="Give one vector (or None) for each chunk, and the model that made them.",
        )


# --- Indexing results of documents ---


class IndexedRow(NamedTuple):
    """One document as it is indexed under one model."""

    memory_id: str
    chunker: str
    doc_type: str
    skipped: Mapping[str, int]
    chunk_tokens: tuple[int, ...]
    """Tokens of each chunk that has a vector, in document order."""


class Indexed(Repository):
    """The indexed documents of one tenant."""

    def put_many(self, batch: Sequence[Saved]) -> None:
        """Record how documents were split, replacing earlier records; documents without a chunker are skipped."""
        rows = [
            {
                "tenant": self._tenant,
                "memory_id": saved.memory.id,
                "chunker": saved.chunker,
                "doc_type": saved.doc_type,
                "skipped": dict(saved.skipped),
            }
            for saved in batch
            if saved.chunker is not None
        ]
        if not rows:
            return
        key, fresh = ("memory_id", "tenant"), ("chunker", "doc_type", "skipped")
        self._insert(upsert(self._connection, indexed_documents, key=key, fresh=fresh), rows)

    def documents(self, model: str) -> list[IndexedRow]:
        """Every document with the chunks that search can find by vector under a model; by memory id."""
        document, piece, made = indexed_documents.c, chunks.c, vectors.c
        own = and_(piece.tenant == document.tenant, piece.memory_id == document.memory_id)
        embedded = and_(made.number == piece.number, made.model == model)
        statement = (
            select(
                document.memory_id,
                document.chunker,
                document.doc_type,
                document.skipped,
                piece.token_count,
                made.number,
            )
            .select_from(indexed_documents.outerjoin(chunks, own).outerjoin(vectors, embedded))
            .where(self._mine(indexed_documents))
            .order_by(document.memory_id, piece.position)
        )
        rows = self._connection.execute(statement).all()
        return [
            IndexedRow(*first[:4], tuple(row.token_count for row in some if row.number is not None))
            for some in (list(group) for _, group in groupby(rows, key=lambda row: str(row.memory_id)))
            for first in some[:1]
        ]


# --- Trigger phrases ---
#
# Only triggers that the memory's author wrote, no learned ones. `Memories` updates them with each change.


class TriggerMatch(NamedTuple):
    """A memory with a trigger that matches."""

    phrase: str
    memory_number: int
    memory_id: str


_ADD_TRIGGER = memory_triggers.insert()
# Two statements: with a join, SQLite would start with every memory of the tenant.
_HELD = select(memory_triggers.c.phrase, memory_triggers.c.memory_id).where(
    mine(memory_triggers), among(memory_triggers.c.phrase, "phrases")
)
_NUMBERS = select(memories.c.id, memories.c.number).where(mine(memories), among(memories.c.id, "ids"))
# Of all tenants: to look for those of one, SQLite might have to read all phrases of the others.
_SOME_PHRASES = select(memory_triggers.c.tenant, memory_triggers.c.phrase).limit(bindparam("most"))


class TriggerRows(Repository):
    """The trigger phrases of one tenant."""

    def find_few(self, most: int) -> frozenset[str] | None:
        """Every phrase; None when the store has more than `most`, of all tenants together."""
        found = self._tuples(_SOME_PHRASES, most=most + 1)
        if len(found) > most:
            return None
        return frozenset(phrase for tenant, phrase in found if tenant == self._tenant)

    def matching(self, phrases: Sequence[str]) -> list[TriggerMatch]:
        """Memories with one of these normalised phrases, superseded ones too; by phrase, then number."""
        held = self._rows(_HELD, phrases=phrases) if phrases else []
        if not held:
            return []
        numbers = {row.id: row.number for row in self._rows(_NUMBERS, ids={row.memory_id for row in held})}
        return sorted(TriggerMatch(row.phrase, numbers[row.memory_id], row.memory_id) for row in held)

    def keep(self, saved: Sequence[MemoryRecord]) -> None:
        """Write the phrases of new memories."""
        rows = [
            {"tenant": self._tenant, "memory_id": memory.id, "phrase": phrase}
            for memory in saved
            for phrase in trigger_phrases(memory.triggers)
        ]
        if rows:
            self._connection.execute(_ADD_TRIGGER, rows)

    def replace(self, memory: MemoryRecord) -> None:
        """Replace a memory's phrases."""
        own = (self._mine(memory_triggers), memory_triggers.c.memory_id == memory.id)
        self._connection.execute(delete(memory_triggers).where(*own))
        self.keep([memory])
