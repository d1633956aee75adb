"""Prepared statements that SQLite's driver executes directly.

For a small statement SQLAlchemy takes several times as long as SQLite itself: it looks the statement up in its cache
and makes a context, a cursor and a result. A search runs a dozen such statements, a save two dozen. `prepare_query` and
`prepare_insert` let SQLAlchemy compile the SQL text, the order of the parameters and the conversions of the column
types once; afterwards the driver is called directly.

PostgreSQL statements go through SQLAlchemy: there the round trip takes most of the time.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Insert, Select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeDecorator, TypeEngine

Convert = Callable[[Any], Any]
_DIALECT = sqlite.dialect(paramstyle="qmark")


class _Parameter(NamedTuple):
    """One question mark of the SQL text."""

    name: str
    is_fixed: bool
    """Whether the value is part of the statement."""
    fixed: Any
    """That value, as the driver takes it."""
    convert: Convert | None
    """From a value that is given to what the driver takes."""


class PreparedQuery(NamedTuple):
    """A SELECT as the driver takes it."""

    sql: str
    parameters: tuple[_Parameter, ...]
    row: Callable[[Sequence[Any]], Any]
    """Makes a named tuple of what the driver returns."""
    converted: tuple[tuple[int, Convert], ...]
    """Which columns are converted, and how."""

    def run(self, connection: sqlite3.Connection, given: Mapping[str, Any]) -> list[Any]:
        """Return the rows, as named tuples."""
        return [self.row(values) for values in self.run_plain(connection, given)]

    def run_plain(self, connection: sqlite3.Connection, given: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """The same without names: for hundreds of rows that are taken apart at once."""
        found = connection.execute(self.sql, _values(self.parameters, given)).fetchall()
        return [self._convert(values) for values in found] if self.converted else found

    def _convert(self, values: Sequence[Any]) -> list[Any]:
        changed = list(values)
        for place, convert in self.converted:
            changed[place] = convert(changed[place])
        return changed


class PreparedInsert(NamedTuple):
    """An INSERT as the driver takes it."""

    sql: str
    read: Callable[[Mapping[str, Any]], Sequence[Any]]
    """Takes the values of a row in the order of the SQL text."""
    converted: tuple[tuple[int, Convert], ...]
    """Which values are converted, and how."""

    def run(self, connection: sqlite3.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert these rows."""
        try:
            connection.executemany(self.sql, [self._values(row) for row in rows])
        except sqlite3.Error as problem:
            raise as_sqlalchemy_raises(problem, self.sql) from problem

    def _values(self, row: Mapping[str, Any]) -> Sequence[Any]:
        if not self.converted:
            return self.read(row)
        values = list(self.read(row))
        for place, convert in self.converted:
            values[place] = convert(values[place])
        return values


def _values(parameters: tuple[_Parameter, ...], given: Mapping[str, Any]) -> list[Any]:
    return [
        fixed if is_fixed else given[name] if convert is None else convert(given[name])
        for name, is_fixed, fixed, convert in parameters
    ]


@cache
def prepare_query(statement: Select[Any]) -> PreparedQuery:
    """Return a SELECT as the driver takes it. It is kept for good: give only statements built when a module loads."""
    columns = statement.selected_columns
    conversions = [_find_result_conversion(column.type) for column in columns]
    row = namedtuple("Row", columns.keys(), rename=True)  # type: ignore[misc]  # noqa: PYI024 - the fields are known at run time only
    sql, parameters = _compile(statement)
    converted = tuple((place, convert) for place, convert in enumerate(conversions) if convert is not None)
    return PreparedQuery(sql, parameters, row._make, converted)


@cache
def prepare_insert(statement: Insert, names: tuple[str, ...]) -> PreparedInsert:
    """Return an INSERT of these columns as the driver takes it. It is kept for good, as with `prepare_query`."""
    sql, parameters = _compile(statement, column_keys=names)
    if len(parameters) == 1 or any(parameter.is_fixed for parameter in parameters):
        return PreparedInsert(sql, partial(_values, parameters), ())
    converted = [(place, parameter.convert) for place, parameter in enumerate(parameters)]
    return PreparedInsert(
        sql,
        itemgetter(*(parameter.name for parameter in parameters)),
        tuple((place, convert) for place, convert in converted if convert is not None),
    )


def run_sql(connection: Connection, driver: sqlite3.Connection | None, sql: str, values: Sequence[Any]) -> list[Any]:
    """Return the rows of a SELECT that is written as SQLite reads it."""
    if driver is not None:
        try:
            return driver.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise as_sqlalchemy_raises(problem, sql) from problem
    return list(connection.exec_driver_sql(sql, tuple(values)).all())


def as_sqlalchemy_raises(problem: sqlite3.Error, sql: str) -> Exception:
    """Return a driver's error as SQLAlchemy would raise it, so that `assay.storage.backend` can translate it."""
    return DBAPIError.instance(sql, None, problem, sqlite3.Error, hide_parameters=True)


def driver_of(connection: Connection) -> sqlite3.Connection | None:
    """Return SQLite's own connection, or None when the store is not SQLite."""
    if connection.dialect.name != "sqlite":
        return None
    driver = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None


def _compile(
    statement: Select[Any] | Insert, column_keys: tuple[str, ...] | None = None
) -> tuple[str, tuple[_Parameter, ...]]:
    compiled: Any = statement.compile(dialect=_DIALECT, column_keys=column_keys)
    if "POSTCOMPILE" in compiled.string:
        raise ValueError(f"a prepared statement cannot hold IN (...) with a list; use `among`: {compiled.string}")
    parameters = []
    for name in compiled.positiontup or ():
        bound = compiled.binds[name]
        convert = _find_bind_conversion(bound.type)
        fixed = None if bound.required else bound.value if convert is None else convert(bound.value)
        parameters.append(_Parameter(name, not bound.required, fixed, convert))
    return compiled.string, tuple(parameters)


# SQLAlchemy puts a function of its own around the conversions of a `TypeDecorator`, to join them with those of the type
# inside. Where that type converts nothing, as with all of ours on SQLite, the decorator's own method is called.


def _find_result_conversion(kind: TypeEngine[Any]) -> Convert | None:
    """Return what converts a value of the driver to one of this type; None if nothing has to."""
    known = kind.dialect_impl(_DIALECT)
    whole: Convert | None = known.result_processor(_DIALECT, None)
    if whole is None or not isinstance(known, TypeDecorator) or known.impl_instance.result_processor(_DIALECT, None):
        return whole
    return partial(known.process_result_value, dialect=_DIALECT)


def _find_bind_conversion(kind: TypeEngine[Any]) -> Convert | None:
    """Return what converts a value of this type to one that the driver takes; None if nothing has to."""
    known = kind.dialect_impl(_DIALECT)
    whole: Convert | None = known.bind_processor(_DIALECT)
    if whole is None or not isinstance(known, TypeDecorator) or known.impl_instance.bind_processor(_DIALECT):
        return whole
    return partial(known.process_bind_param, dialect=_DIALECT)
