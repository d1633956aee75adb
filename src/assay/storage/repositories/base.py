"""What every repository is bound to: a connection inside a transaction, and a scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, select

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
