"""Whose a file is.

Owners are looked for in every tenant: a file that lies in a shared folder does not say whose it is, the row does.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from assay.records.access import FileKind, OwnedFile
from assay.storage.repositories.base import Repository
from assay.storage.rows import from_row, insert, to_row
from assay.storage.tables import owned_files


class OwnedFiles(Repository):
    """The files of one tenant, and the one question that is asked of all tenants: whose is this?"""

    def claim(self, kind: FileKind, name: str) -> None:
        """Write down that a file belongs to this tenant; who claimed it first stays its maker."""
        made = OwnedFile(kind=kind, name=name, principal=self._principal, created_at=self._clock.now())
        row = {"tenant": self._tenant, **to_row(made, owned_files)}
        self._connection.execute(insert(self._connection, owned_files).values(row).on_conflict_do_nothing())

    def all(self, kind: FileKind) -> list[OwnedFile]:
        """Every file of one kind that belongs to this tenant, by name."""
        wanted = self._select(owned_files, owned_files.c.kind == str(kind)).order_by(owned_files.c.name)
        return [from_row(OwnedFile, row, owned_files) for row in self._connection.execute(wanted)]

    def owners(self, kind: FileKind, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the tenants that each file belongs to; a file that no tenant claimed is left out."""
        table = owned_files
        wanted = select(table.c.name, table.c.tenant).where(
            table.c.kind == str(kind), self._among(table.c.name, list(names))
        )
        found: dict[str, set[str]] = {}
        for name, tenant in self._connection.execute(wanted):
            found.setdefault(str(name), set()).add(str(tenant))
        return {name: frozenset(tenants) for name, tenants in found.items()}
