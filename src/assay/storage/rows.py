"""Between records and rows: the fields of a record are the columns of its table, by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import Connection, Row, Table
from sqlalchemy.dialects import sqlite

from assay.storage.masked_columns import mask_row

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Record = TypeVar("Record")


def to_row(record: object, table: Table) -> dict[str, Any]:
    """The columns of a record's own table, without secrets. The tenant is added by the repository."""
    row = {name: _plain(getattr(record, name)) for name in _list_shared(cast("Hashable", type(record)), table)}
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
    wanted = _insert(dialect, table)
    return wanted.on_conflict_do_update(index_elements=key, set_={name: wanted.excluded[name] for name in fresh})


@cache
def _list_shared(kind: Hashable, table: Table) -> tuple[str, ...]:
    return tuple(name for name in table.columns.keys() if name != "tenant" and hasattr(kind, name))  # noqa: SIM118 - a ColumnCollection iterates over columns


@cache
def _init_fields(kind: Hashable, table: Table) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("type[Any]", kind)) if field.name in table.columns)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value
