"""Read the audit log in pages with filters, and check that its chain is complete.

A tenant's admin reads the tenant's log; an operator may read the logs of all tenants. The caller checks that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

from assay.records import Scope
from assay.records.maintenance import AuditChain, AuditChains, AuditLine
from assay.storage import Store
from assay.storage.repositories.history import AuditFilter

__all__ = ["AuditFilter", "AuditRows", "check_chains", "count_entries", "every_entry", "list_entries"]
AT_ONCE = 1_000
"""Entries that are read at once when all are wanted."""


class AuditRows(NamedTuple):
    """Entries, newest first."""

    entries: Sequence[AuditLine]
    next_before: int | None
    """The cursor of the next page; None: this is the last."""


def list_entries(
    store: Store,
    scope: Scope,
    wanted: AuditFilter,
    *,
    before: int = 0,
    limit: int = 50,
    all_tenants: bool = False,
    oldest_first: bool = False,
) -> AuditRows:
    """Return the newest entries that fit, of the scope's tenant or of all; `before` goes on behind a page."""
    with store.reading(scope) as work:
        find = work.audit.find_everywhere if all_tenants else work.audit.find
        rows = find(wanted, before=before, limit=limit + 1, oldest_first=oldest_first)
    following = rows[limit - 1].row_id if len(rows) > limit else None
    return AuditRows([listed.entry for listed in rows[:limit]], following)


def every_entry(
    store: Store, scope: Scope, wanted: AuditFilter, *, all_tenants: bool = False, oldest_first: bool = False
) -> Iterator[AuditLine]:
    """Yield all entries that fit, in pages."""
    before: int | None = 0
    while before is not None:
        page = list_entries(
            store, scope, wanted, before=before, limit=AT_ONCE, all_tenants=all_tenants, oldest_first=oldest_first
        )
        yield from page.entries
        before = page.next_before


def count_entries(store: Store, scope: Scope, wanted: AuditFilter, *, all_tenants: bool = False) -> int:
    """Count the entries that fit, of the scope's tenant or of all."""
    with store.reading(scope) as work:
        return work.audit.count(wanted, everywhere=all_tenants)


def check_chains(store: Store, scope: Scope, *, all_tenants: bool = False) -> AuditChains:
    """Check the chain of the scope's tenant, or of every tenant, from its first entry."""
    with store.reading(scope) as work:
        checks = work.audit.check_everywhere() if all_tenants else {scope.tenant: work.audit.check()}
    return AuditChains(
        chains=tuple(
            AuditChain(tenant=tenant, is_whole=check.is_whole, **asdict(check)) for tenant, check in checks.items()
        )
    )
