"""Which tenants a store has, with what each of them holds: for operators alone."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Table, and_, func, not_, or_, select, union

from assay.records.access import TenantLine
from assay.storage.repositories.base import Repository
from assay.storage.repositories.memories import is_forgotten
from assay.storage.tables import access_tokens, audit, memories


class Tenants(Repository):
    """Every tenant of the store, whatever the scope."""

    def page(self, *, after: str, limit: int, now: datetime) -> list[TenantLine]:
        """Return the tenants behind a name, in the order of their names.

        A tenant is known by its memories, its tokens or its audit log.
        """
        known = union(
            *(
                select(table.c.tenant).where(table.c.tenant > after).distinct()
                for table in (memories, access_tokens, audit)
            )
        ).subquery()
        listed = select(known.c.tenant).order_by(known.c.tenant).limit(limit)
        names = [str(name) for name in self._connection.execute(listed).scalars()]
        current = and_(memories.c.superseded_at.is_(None), not_(is_forgotten(self._connection)))
        unexpired = or_(access_tokens.c.expires_at.is_(None), access_tokens.c.expires_at > now)
        stored = self._count(memories, names, not_(is_forgotten(self._connection)))
        held = self._count(memories, names, current)
        made = self._count(access_tokens, names)
        good = self._count(access_tokens, names, and_(access_tokens.c.revoked_at.is_(None), unexpired))
        return [
            TenantLine(
                tenant=name,
                memories=held.get(name, 0),
                stored_memories=stored.get(name, 0),
                tokens=good.get(name, 0),
                made_tokens=made.get(name, 0),
            )
            for name in names
        ]

    def _count(self, table: Table, names: list[str], *conditions: ColumnElement[bool]) -> dict[str, int]:
        counted = (
            select(table.c.tenant, func.count())
            .where(self._among(table.c.tenant, names), *conditions)
            .group_by(table.c.tenant)
        )
        return {str(name): int(count) for name, count in self._connection.execute(counted)}
