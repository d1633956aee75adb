"""Helpers for migrations: typed columns and constraints that mean the same on SQLite and PostgreSQL.

Each constraint has a name, so that an error of the database shows which one was violated.
"""

from __future__ import annotations

from collections.abc import Iterable

from alembic import op
from sqlalchemy import CheckConstraint, Column
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from assay.storage.rows import BlobType, RealType, TextType, WholeType

_LARGEST = "1.7976931348623157e308"


def text(name: str, *, null: bool = False, key: bool = False) -> Column[str]:
    """Text in byte order."""
    return Column(name, TextType, nullable=null, primary_key=key)


def whole(name: str, *, null: bool = False, key: bool = False) -> Column[int]:
    """A 64-bit integer."""
    return Column(name, WholeType, nullable=null, primary_key=key, autoincrement=False)


def counter(name: str) -> Column[int]:
    """The primary key of a table that only grows."""
    return Column(name, WholeType, primary_key=True, autoincrement=True)


def real(name: str, *, null: bool = False) -> Column[float]:
    """A double. Pair it with `finite`."""
    return Column(name, RealType, nullable=null)


def blob(name: str) -> Column[bytes]:
    """Bytes."""
    kind: TypeEngine[bytes] = BlobType
    return Column(name, kind, nullable=False)


def finite(*names: str) -> list[CheckConstraint]:
    """Neither NaN nor infinite: NaN sorts above everything on PostgreSQL, so a range refuses both."""
    return [CheckConstraint(f"{name} BETWEEN -{_LARGEST} AND {_LARGEST}", name=f"{name}_is_finite") for name in names]


def share(*names: str) -> list[CheckConstraint]:
    """From 0 to 1."""
    return [CheckConstraint(f"{name} BETWEEN 0 AND 1", name=f"{name}_is_a_share") for name in names]


def yes_no(*names: str) -> list[CheckConstraint]:
    """0 or 1."""
    return [CheckConstraint(f"{name} IN (0, 1)", name=f"{name}_is_yes_or_no") for name in names]


def not_negative(*names: str) -> list[CheckConstraint]:
    """Zero or more."""
    return [CheckConstraint(f"{name} >= 0", name=f"{name}_is_not_negative") for name in names]


def one_of(name: str, allowed: Iterable[str]) -> CheckConstraint:
    """One of the listed words."""
    listed = ", ".join(f"'{word}'" for word in allowed)
    return CheckConstraint(f"{name} IN ({listed})", name=f"{name}_is_known")


def create(name: str, *items: SchemaItem) -> None:
    """Create a table that refuses values of another type: STRICT on SQLite; PostgreSQL always does."""
    counted = any(isinstance(item, Column) and item.autoincrement is True for item in items)
    op.create_table(name, *items, sqlite_strict=True, sqlite_autoincrement=counted)
