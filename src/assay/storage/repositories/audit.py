"""The audit log: who did what to which thing. Lines are added and read, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.records import AuditEntry
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, to_row
from assay.storage.tables import audit

_ADD = audit.insert()


class Audit(Repository):
    """The audit log of one tenant."""

    def append(self, action: str, target: str, detail: Mapping[str, Any] | None = None) -> None:
        """Write a line in the name of the scope's principal."""
        entry = AuditEntry(
            action=action, target=target, actor=self._principal, at=self._clock.now(), detail=detail or {}
        )
        self._connection.execute(_ADD, {"tenant": self._tenant, **to_row(entry, audit)})

    def entries(self, *, target: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """The newest lines first, of one target or of all."""
        wanted = self._select(audit).order_by(audit.c.id.desc()).limit(limit)
        if target is not None:
            wanted = wanted.where(audit.c.target == target)
        return [from_row(AuditEntry, row, audit) for row in self._connection.execute(wanted)]
