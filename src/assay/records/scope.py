"""Whose rows: every read and write of the store names a `Scope`, so that no question can cross tenants by omission."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assay.records import values

DEFAULT_TENANT = "default"
ID_MARK = "#"
"""Between the name of a principal and its id."""
MAX_NAME = 300
"""Characters of a principal's name in its identity: together with the id it must fit a column that an index holds."""
_IDENTITY = re.compile(r"#t_[0-9A-Z]{26}$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The tenant whose rows are meant, and who asks."""

    tenant: str = DEFAULT_TENANT
    principal: str = "local"
    """Who acts: written to the audit log, never used to find rows."""
    principal_id: str = ""
    """Tells principals of the same name apart, such as two tokens; empty where the name is enough."""
    via: str = field(default="", compare=False)
    """From where: `command line`, `http 10.0.0.7`, `mcp stdio`; empty when nobody said. Only the audit log has it."""

    def __post_init__(self) -> None:
        values.identifier(self.tenant, "tenant")
        values.label(self.principal, "principal")
        values.optional_label(self.via, "via")
        if self.principal_id:
            values.identifier(self.principal_id, "principal_id")

    @property
    def identity(self) -> str:
        """The principal as nobody else in the tenant is called: what labels and grades are kept under."""
        return f"{self.principal[:MAX_NAME]}{ID_MARK}{self.principal_id}" if self.principal_id else self.principal


def name_of(identity: str) -> str:
    """Return the name that people know a principal by, from its `Scope.identity`."""
    return _IDENTITY.sub("", identity)
