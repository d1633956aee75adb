"""Whose rows: every read and write of the store names a `Scope`, so that no question can cross tenants by omission."""

from __future__ import annotations

from dataclasses import dataclass

from assay.records import values

DEFAULT_TENANT = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The tenant whose rows are meant, and who asks."""

    tenant: str = DEFAULT_TENANT
    principal: str = "local"
    """Who acts: written to the audit log, never used to find rows."""

    def __post_init__(self) -> None:
        values.identifier(self.tenant, "tenant")
        values.label(self.principal, "principal")
