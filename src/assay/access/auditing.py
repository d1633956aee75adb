"""Reading the audit log: page by page with filters, and whether its chain is whole.

A tenant's admin reads the tenant's log; an operator may read the logs of all tenants. Whoever calls checks that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.records import Scope
from assay.records.plain import plain
from assay.storage import Store
from assay.storage.audit_chain import ChainCheck
from assay.storage.repositories.audit import AuditFilter, ListedEntry

__all__ = ["AuditFilter", "AuditPage", "ChainCheck", "ListedEntry", "check_chains", "entry_as_json", "list_entries"]


class AuditPage(NamedTuple):
    """Entries, newest first."""

    entries: Sequence[ListedEntry]
    next_before: int | None
    """What the next page is asked with; None: this is the last."""


def list_entries(
    store: Store, scope: Scope, wanted: AuditFilter, *, before: int = 0, limit: int = 50, all_tenants: bool = False
) -> AuditPage:
    """Return the newest entries that fit, of the scope's tenant or of all; `before` goes on behind a page."""
    with store.reading(scope) as work:
        find = work.audit.find_everywhere if all_tenants else work.audit.find
        rows = find(wanted, before=before, limit=limit + 1)
    return AuditPage(rows[:limit], rows[limit - 1].row_id if len(rows) > limit else None)


def check_chains(store: Store, scope: Scope, *, all_tenants: bool = False) -> Mapping[str, ChainCheck]:
    """Check the chain of the scope's tenant, or of every tenant, from its first entry; by tenant."""
    with store.reading(scope) as work:
        return work.audit.check_everywhere() if all_tenants else {scope.tenant: work.audit.check()}


def entry_as_json(listed: ListedEntry) -> dict[str, Any]:
    """Return an entry as every surface shows it to machines."""
    shown: dict[str, Any] = plain(listed.entry)
    return {"tenant": listed.tenant, **shown}
