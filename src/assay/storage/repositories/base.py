"""What every repository is bound to: a connection inside a transaction, and a scope."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, Table, any_, func, literal_column, select

from assay.clock import Clock
from assay.records import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A connection, whose rows, and what time it is."""

    connection: Connection
    scope: Scope
    clock: Clock


class Repository:
    """Reads and writes one subject's tables, inside one scope."""

    def __init__(self, bound: Bound) -> None:
        self._connection = bound.connection
        self._tenant = bound.scope.tenant
        self._principal = bound.scope.principal
        self._clock = bound.clock

    def _mine(self, table: Table) -> ColumnElement[bool]:
        """The condition that every statement on a user's table carries."""
        return table.c.tenant == self._tenant

    def _select(self, table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
        return select(table).where(self._mine(table), *conditions)

    def _among(self, column: Column[Any], wanted: Iterable[int | str]) -> ColumnElement[bool]:
        """Whether a column is one of many values: one parameter however many there are."""
        # NumPy's integers are not Python's to any driver.
        listed = [one if isinstance(one, str) else int(one) for one in wanted]
        if self._connection.dialect.name == "sqlite":
            return column.in_(select(literal_column("value")).select_from(func.json_each(json.dumps(listed))))
        return column == any_(listed)  # type: ignore[arg-type]
