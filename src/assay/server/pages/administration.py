"""Pages for administrators: audit log, sign-ins, and settings.

- `/evaluation/audit`: the audit log, and whether it is intact.
- `/evaluation/sign-ins`: signed-in browsers, and ending their sessions.
- `/evaluation/settings`: how answers are evaluated, and where each setting comes from.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assay.access import acts, auditing
from assay.access.auditing import AuditFilter
from assay.hashing import canonical_json
from assay.records.access import Access
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint
from assay.server.pages import filters
from assay.server.pages.page import Page, Pages, PageView
from assay.server.services import grant_of
from assay.settings import KNOWN, fit_to_show
from assay.wiring.research import read_evaluate_mode, research_options

# --- `/evaluation/audit`: the audit log, and whether it is intact ---

audit_pages = Pages("audit")
LISTED = 50
FAR = 2**63 - 1


@audit_pages.get("/evaluation/audit", acts.AUDIT_READ)
def list_audit_entries(view: PageView) -> Page:
    """List matching audit entries, newest first; an operator may list those of every tenant."""
    chosen = filters.time_range(view.query, view.clock.now(), default="all")
    wanted = AuditFilter(
        action=view.query_value("action") or None,
        actor=view.query_value("actor") or None,
        target=view.query_value("target") or None,
        since=chosen.since,
        until=chosen.until,
    )
    operates = grant_of(view.request).access.includes(Access.OPERATOR)
    everyone = operates and bool(filters.yes(view.query, "all_tenants"))
    before = filters.whole(view.query, "before", most=FAR) or 0
    store = view.engine.store
    rows = auditing.list_entries(store, view.scope, wanted, before=before, limit=LISTED, all_tenants=everyone)
    return Page(
        template="audit.html",
        context={
            "entries": [(entry, canonical_json(entry.detail) if entry.detail else "") for entry in rows.entries],
            "chains": auditing.check_chains(store, view.scope, all_tenants=everyone).chains,
            "wanted": {name: view.query_value(name) for name in ("action", "actor", "target")},
            "range": chosen,
            "ranges": filters.RANGES,
            "operates": operates,
            "everyone": everyone,
            "filtered": wanted != AuditFilter(),
            "next": None if rows.next_before is None else view.with_query(before=rows.next_before),
            "first": view.with_query(before="") if before else None,
        },
    )


# --- `/evaluation/sign-ins`: signed-in browsers, and ending their sessions ---

sign_in_pages = Pages("sign-ins")
ADDRESS = "/evaluation/sign-ins"


@sign_in_pages.get(ADDRESS, acts.TOKEN_READ)
def list_sign_ins(view: PageView) -> Page:
    """List every sign-in, newest first; those that have ended are listed for a month."""
    found = view.services.sign_ins.all(view.scope)
    return Page(template="sign_ins.html", context={"sign_ins": found, "said": view.notice})


@sign_in_pages.post(ADDRESS + "/{session_id}/end", acts.TOKEN_CHANGE)
def end_sign_in(view: PageView) -> Response:
    """End a sign-in: its cookie is no longer valid."""
    view.services.sign_ins.end(view.scope, view.path["session_id"])
    return view.go_to(ADDRESS, "ended")


# --- `/evaluation/settings`: how answers are evaluated, and where each setting comes from ---
#
# Settings are read from the file and the environment when the server starts. This page shows their values and which
# lines would change them. Every tenant sees how answers are evaluated; only an operator sees paths, addresses and the
# other settings of the server.

settings_pages = Pages("settings")


@settings_pages.get("/evaluation/settings", acts.SETTINGS_READ)
def show_settings(view: PageView) -> Page:
    """Show the settings in force."""
    options = research_options(view.settings)
    checkpoints = [
        {
            "name": checkpoint.value,
            "options": options.checkpoints[checkpoint],
            "threshold": options.panel.thresholds[checkpoint],
            "again": _again(checkpoint, options),
            "dimensions": [
                {
                    "name": dimension.value,
                    "weight": options.panel.weights[dimension.value],
                    "bar": options.panel.bars.get(dimension.value),
                    "owner": OWNERS[dimension].value,
                }
                for dimension in DIMENSIONS[checkpoint]
            ],
        }
        for checkpoint in Checkpoint
    ]
    return Page(
        template="settings.html",
        context={
            "checkpoints": checkpoints,
            "options": options,
            "how": read_evaluate_mode(view.settings),
            "models": bool(view.settings.model_url),
            "known": _list_settings(view),
        },
    )


def _again(checkpoint: Checkpoint, options: Any) -> str:
    """Return what happens when a checkpoint does not pass."""
    if checkpoint is Checkpoint.PLAN:
        return f"a new plan, up to {options.max_attempts}" if options.iterate else "nothing"
    if checkpoint is Checkpoint.ANSWER:
        return "a new answer, once" if options.regenerate else "nothing"
    return "a warning to the user"


def _list_settings(view: PageView) -> list[tuple[Any, str]] | None:
    """Return every setting with its value, without secrets; None for a caller who is not an operator."""
    if not view.grant.allows(acts.SETTINGS_READ_ALL.policy):
        return None
    return [(setting, fit_to_show(getattr(view.settings, setting.name))) for setting in KNOWN]
