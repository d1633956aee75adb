"""Between records and rows: column types, masking, and fields as columns.

- Column types that mean the same on SQLite and PostgreSQL.
- Texts that are masked before they are written.
- Records as rows and rows as records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    DOUBLE_PRECISION,
    INTEGER,
    REAL,
    TEXT,
    BigInteger,
    Connection,
    LargeBinary,
    Row,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine, UserDefinedType

from assay.hashing import canonical_json
from assay.records import values

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


# --- Column types that mean the same on SQLite and PostgreSQL ---
#
# Each is the last line behind the checks of `assay.records.values`: text sorts by bytes on both, times are UTC text of
# one width (so they sort as they read), numbers are finite, JSON has one spelling, vectors are half floats.

# Byte order on both: PostgreSQL would otherwise sort by the language of the machine it runs on.
TextType = Text().with_variant(TEXT(collation="C"), "postgresql")
# SQLite counts its row ids only in a column of exactly this type.
WholeType = BigInteger().with_variant(INTEGER(), "sqlite")
RealType: TypeEngine[float] = DOUBLE_PRECISION().with_variant(REAL(), "sqlite")
BlobType = LargeBinary()


class Moment(TypeDecorator[datetime]):
    """A point in time as `2026-01-31T09:30:00.000000Z`."""

    impl = TextType
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """To the text that is stored."""
        return None if value is None else write_moment(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """From the text that was stored."""
        return None if value is None else read_moment(value)


class Finite(TypeDecorator[float]):
    """A number that is neither NaN (SQLite would keep NULL) nor infinite."""

    impl = RealType
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """Refuse what is not finite."""
        return None if value is None else values.finite(value, "number")


class Json(TypeDecorator[Any]):
    """A JSON value in its canonical text. None is "not known" (NULL), not the JSON `null`."""

    impl = TextType
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """To the text that is stored."""
        if value == ():
            # Most memories have no tags and no triggers, and most documents nothing that was left out.
            return "[]"
        if value == {}:
            return "{}"
        return None if value is None else canonical_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - signature is SQLAlchemy's
        """From the text that was stored."""
        if value == "{}":
            # Most memories have no metadata.
            return {}
        return None if value is None else json.loads(value)


class YesNo(TypeDecorator[bool]):
    """True or false as 1 or 0, as the tables of the evaluation have it."""

    impl = WholeType
    cache_ok = True

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """To 1 or 0."""
        return None if value is None else int(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> bool | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """From 1 or 0."""
        return None if value is None else bool(value)


class _HalfFloats(TypeDecorator[NDArray[np.float32]]):
    """A vector in SQLite: little-endian half floats, one after the other."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - signature is SQLAlchemy's
        """To the bytes that are stored."""
        return None if value is None else np.asarray(value).astype("<f2").tobytes()


class HalfVec(UserDefinedType[NDArray[np.float32]]):
    """A vector in PostgreSQL: pgvector's `halfvec`, of any length."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """How the column is declared."""
        return "HALFVEC"

    def bind_processor(self, dialect: Dialect) -> Any:  # noqa: ARG002 - signature is SQLAlchemy's
        """To the text that pgvector reads."""
        return lambda value: None if value is None else str(np.asarray(value).astype(np.float16).tolist())


VectorType: TypeEngine[NDArray[np.float32]] = _HalfFloats().with_variant(HalfVec(), "postgresql")


def write_moment(value: datetime) -> str:
    """The stored text of a time."""
    return _write_utc(value if value.tzinfo is UTC else value.astimezone(UTC))


@lru_cache(maxsize=64)
def _write_utc(value: datetime) -> str:
    """The stored text of a time in UTC; the rows of one save have the same few times."""
    # strftime writes the year 476 with three digits; this always writes four.
    return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def read_moment(stored: str) -> datetime:
    """The time behind a stored text."""
    return datetime.fromisoformat(stored)


# --- Texts that are masked before they are written ---
#
# Memories are masked by the saver, which reports what it masked; all other texts of people, agents or models are masked
# here, where a record becomes a row. Each table of the schema is on one of the two lists below.

MASKED: Mapping[str, tuple[str, ...]] = {
    "audit": ("detail",),
    "edges": ("evidence",),
    "eval_feedback": ("metadata",),
    "eval_queries": ("query", "previous_query"),
    "eval_results": ("per_query_results",),
    "judge_inputs": ("content",),
    "judge_verdicts": ("reason", "detail"),
    "live_events": ("data",),
    "live_questions": ("question", "problem"),
    "model_replies": ("reply",),
    "prompts": ("text", "note"),
    "research_sessions": ("question", "skip_reason"),
    "research_traces": ("trace",),
    "tasks": ("goal", "result"),
    "trace_spans": ("name", "problem", "input", "output", "documents", "candidates"),
}
"""For each table, the columns with texts of people, agents or models."""

NOT_MASKED: Mapping[str, str] = {
    "memories": "masked by the saver, which tells what it masked",
    "memory_saves": "what the saver decided, told of masked memories; those of an export file are masked when imported",
    "chunks": "cut from a masked memory",
    "memory_triggers": "triggers of a masked memory",
    "memory_facts": "read from a masked memory",
    "indexed_documents": "names of the chunker and of formats",
    "vectors": "numbers and a hash",
    "changes": "ids and numbers",
    "learned_terms": "words of masked queries",
    "learning_changes": "words of masked queries",
    "learning_evidence": "words of masked queries",
    "learning_cycles": "numbers",
    "learning_progress": "numbers, and a reason that Assay words",
    "memory_votes": "ids",
    "ab_votes": "ids and numbers",
    "eval_ab_tests": "names of features and numbers",
    "eval_candidates": "ids and scores",
    "eval_judgments": "ids and grades",
    "eval_shadow_runs": "ids and numbers",
    "flags": "names of flags, and what variants change",
    "interleavings": "ids",
    "judge_calibrations": "names of models and numbers",
    "ladder_steps": "sentences that Assay words",
    "known_files": "paths, which must be found again as they are",
    "owned_files": "names of files, which must be found again as they are",
    "meta": "facts about the store",
    "model_accounts": "numbers",
    "model_reservations": "numbers",
    "prompt_splits": "versions of prompts",
    "research_days": "numbers",
    "traces": "ids and times",
    "access_tokens": "hashes of tokens",
    "login_sessions": "hashes of sessions",
    "leases": "names of background work and of processes",
    "shared_limits": "hashes of callers, and numbers",
    "request_keys": "answers that must be given again as they were; tokens are left out of them before",
}
"""Why the other tables are not masked."""


def mask_row(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the texts of its table masked."""
    for column in MASKED.get(table, ()):
        if row.get(column):
            row[column] = mask_value(row[column])
    return row


def mask_value(value: Any) -> Any:
    """Return a text or a JSON value without its secrets."""
    # A process that writes nothing need not wait for the rules.
    from assay.text.secrets import mask_json  # noqa: PLC0415

    masks: list[Any] = []
    clean = mask_json(value, "", masks)
    return clean if masks else value


# --- Records as rows and rows as records ---

Record = TypeVar("Record")


def to_row(record: object, table: Table) -> dict[str, Any]:
    """The columns of a record's own table, without secrets. The tenant is added by the repository."""
    names, read = _list_shared(cast("Hashable", type(record)), table)
    values = [str(value) if isinstance(value, StrEnum) else value for value in read(record)]
    row = dict(zip(names, values, strict=True))
    return mask_row(table.name, row)


def from_row(kind: type[Record], row: tuple[Any, ...] | Mapping[str, Any], table: Table, **more: Any) -> Record:
    """A record, checked again as it is made: what the store gives back is as sound as what went in."""
    names = _init_fields(cast("Hashable", kind), table)
    mapping = row._mapping if isinstance(row, Row) else row  # noqa: SLF001 - public in SQLAlchemy despite the underscore
    if isinstance(mapping, Mapping):
        return kind(**{name: mapping[name] for name in names}, **more)
    return kind(**{name: getattr(mapping, name) for name in names}, **more)


def insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that can say what to do when the row is there already; both back ends spell it alike."""
    return _insert(connection.dialect.name, table)


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    if dialect == "sqlite":
        return sqlite.insert(table)
    # Many dialects in one package: a process that has a file to read need not wait for them.
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415

    return postgresql.insert(table)


def upsert(
    connection: Connection, table: Table, *, key: tuple[str, ...], fresh: tuple[str, ...]
) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that takes the fresh columns over into a row that is there already under this key; put together once.

    The rows are given when it runs.
    """
    return _upsert(connection.dialect.name, table, key, fresh)


@cache
def _upsert(
    dialect: str, table: Table, key: tuple[str, ...], fresh: tuple[str, ...]
) -> sqlite.Insert | postgresql.Insert:
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(index_elements=key, set_={name: statement.excluded[name] for name in fresh})


@cache
def _list_shared(kind: Hashable, table: Table) -> tuple[tuple[str, ...], Callable[[object], tuple[Any, ...]]]:
    """The columns that a kind of record has a value for, and what reads these values."""
    names = tuple(name for name in table.columns.keys() if name != "tenant" and hasattr(kind, name))  # noqa: SIM118 - a ColumnCollection iterates over columns
    read = attrgetter(*names)
    return names, read if len(names) > 1 else lambda record: (read(record),)


@cache
def _init_fields(kind: Hashable, table: Table) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("type[Any]", kind)) if field.name in table.columns)
