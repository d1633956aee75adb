"""`/evaluation/audit`: who did what, when and from where, and whether the log is whole. For admins and operators."""

from __future__ import annotations

from assay.access import acts, auditing
from assay.access.auditing import AuditFilter
from assay.hashing import canonical_json
from assay.records.access import Access
from assay.server.pages import asking_for
from assay.server.pages.viewing import Page, Pages, View
from assay.server.services import grant_of

pages = Pages("audit")
LISTED = 50
FAR = 2**63 - 1


@pages.get("/evaluation/audit", acts.AUDIT_READ)
def log(view: View) -> Page:
    """The entries that fit, newest first; an operator may see those of every tenant."""
    chosen = asking_for.time_range(view.query, view.clock.now(), default="all")
    wanted = AuditFilter(
        action=view.asked("action") or None,
        actor=view.asked("actor") or None,
        target=view.asked("target") or None,
        since=chosen.since,
        until=chosen.until,
    )
    operates = grant_of(view.request).access.includes(Access.OPERATOR)
    everyone = operates and bool(asking_for.yes(view.query, "all_tenants"))
    before = asking_for.whole(view.query, "before", most=FAR) or 0
    store = view.engine.store
    rows = auditing.list_entries(store, view.scope, wanted, before=before, limit=LISTED, all_tenants=everyone)
    return Page(
        template="audit.html",
        context={
            "entries": [(entry, _said(entry.detail)) for entry in rows.entries],
            "chains": auditing.check_chains(store, view.scope, all_tenants=everyone).chains,
            "wanted": {name: view.asked(name) for name in ("action", "actor", "target")},
            "range": chosen,
            "ranges": asking_for.RANGES,
            "operates": operates,
            "everyone": everyone,
            "filtered": wanted != AuditFilter(),
            "next": None if rows.next_before is None else view.with_query(before=rows.next_before),
            "first": view.with_query(before="") if before else None,
        },
    )


def _said(detail: object) -> str:
    return canonical_json(detail) if detail else ""
