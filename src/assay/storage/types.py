"""Column types that mean the same on SQLite and on PostgreSQL.

Each is the last line behind the checks of `assay.records.values`: text sorts by bytes on both, times are UTC text of
one width (so they sort as they read), numbers are finite, JSON has one spelling, vectors are half floats.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import DOUBLE_PRECISION, INTEGER, REAL, TEXT, BigInteger, LargeBinary, Text, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine, UserDefinedType

from assay.hashing import canonical_json
from assay.records import values

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
        return None if value is None else canonical_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - signature is SQLAlchemy's
        """From the text that was stored."""
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
    # strftime writes the year 476 with three digits; this always writes four.
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def read_moment(stored: str) -> datetime:
    """The time behind a stored text."""
    return datetime.fromisoformat(stored)
