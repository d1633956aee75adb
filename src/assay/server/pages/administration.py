"""Pages for administrators: audit log, tokens, sign-ins, and settings.

- `/evaluation/audit`: the audit log, and whether it is intact.
- `/evaluation/tokens`: tokens of the tenant, new ones, and revoking them.
- `/evaluation/sign-ins`: signed-in browsers, and ending their sessions.
- `/evaluation/settings`: how answers are evaluated, and where each setting comes from.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from assay.access import acts, auditing
from assay.access.auditing import AuditFilter
from assay.hashing import canonical_json
from assay.records.access import LONGEST_DAYS, Access, CreatedToken, SignInLine, TokenLine
from assay.records.maintenance import AuditLine
from assay.records.research import DIMENSIONS, OWNERS, Checkpoint
from assay.server.pages import filters, lists
from assay.server.pages.lists import ListColumn, PageList
from assay.server.pages.page import Page, Pages, PageView
from assay.server.services import grant_of
from assay.settings import KNOWN, fit_to_show
from assay.verbs import access as access_verbs
from assay.wiring.research import read_evaluate_mode, research_options

# --- `/evaluation/audit`: the audit log, and whether it is intact ---

audit_pages = Pages("audit")
LISTED = 50
FAR = 2**63 - 1


AUDIT_COLUMNS = (
    ListColumn[AuditLine](name="tenant", value=lambda entry: entry.tenant, sorts=False, shown=False),
    ListColumn[AuditLine](name="action", title="what", value=lambda entry: entry.action, sorts=False),
    ListColumn[AuditLine](name="target", title="to", value=lambda entry: entry.target, sorts=False),
    ListColumn[AuditLine](name="actor", title="who", value=lambda entry: entry.actor, sorts=False),
    ListColumn[AuditLine](name="via", title="from", value=lambda entry: entry.via, sorts=False),
    ListColumn[AuditLine](name="at", title="when", value=lambda entry: entry.at),
    ListColumn[AuditLine](name="place", title="entry", value=lambda entry: entry.place, numeric=True, sorts=False),
    ListColumn[AuditLine](
        name="detail", value=lambda entry: canonical_json(entry.detail) if entry.detail else None, sorts=False,
        shown=False,
    ),
)  # fmt: skip


@audit_pages.get("/evaluation/audit", acts.AUDIT_READ)
def list_audit_entries(view: PageView) -> Page:
    """List matching audit entries, newest first unless the address says otherwise; an operator's of every tenant."""
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
    sort = lists.read_sort(view.query, AUDIT_COLUMNS, "-at")
    how = {"all_tenants": everyone, "oldest_first": sort is not None and not sort.descending}
    store = view.engine.store
    rows = auditing.list_entries(store, view.scope, wanted, before=before, limit=LISTED, **how)
    listed = PageList(
        view=view,
        name="audit",
        what="entry",
        columns=AUDIT_COLUMNS,
        rows=rows.entries,
        total=auditing.count_entries(store, view.scope, wanted, all_tenants=everyone),
        sort=sort,
        every=lambda: auditing.every_entry(store, view.scope, wanted, **how),
    )
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
        listed=listed,
    )


# --- `/evaluation/tokens`: tokens of the tenant, new ones, and revoking them ---

token_pages = Pages("tokens")
TOKENS = "/evaluation/tokens"
TOKEN_COLUMNS = (
    ListColumn[TokenLine](name="name", value=lambda token: token.name),
    ListColumn[TokenLine](name="token_id", value=lambda token: token.token_id, sorts=False, shown=False),
    ListColumn[TokenLine](name="access", value=lambda token: token.access.value),
    ListColumn[TokenLine](
        name="person", title="used by", value=lambda token: "a person" if token.person else "a program"
    ),
    ListColumn[TokenLine](name="created_at", title="made", value=lambda token: token.created_at),
    ListColumn[TokenLine](name="created_by", title="by", value=lambda token: token.created_by),
    ListColumn[TokenLine](name="expires_at", title="ends", value=lambda token: token.expires_at),
    ListColumn[TokenLine](name="revoked_at", title="revoked", value=lambda token: token.revoked_at),
)


@token_pages.get(TOKENS, acts.TOKEN_READ)
def list_tokens(view: PageView) -> Page:
    """List the tokens of the tenant, newest first."""
    return _show_tokens(view)


@token_pages.post(TOKENS, acts.TOKEN_CHANGE)
def create_token(view: PageView) -> Page:
    """Make a token and show its text; this page is the only place that ever shows it."""
    given = {"name": view.form_value("name").strip(), "access": view.form_value("access")}
    days = filters.whole(view.form, "days", most=LONGEST_DAYS)
    person = view.form.get("person") == "yes"
    made = view.call(access_verbs.CREATE_TOKEN, **given, days=days, person=person)
    return _show_tokens(view, made)


@token_pages.post(TOKENS + "/{token_id}/revoke", acts.TOKEN_CHANGE)
def revoke_token(view: PageView) -> Response:
    """Revoke a token: it opens nothing any more, and neither do the browsers that signed in with it."""
    view.call(access_verbs.REVOKE_TOKEN, token_id=view.path["token_id"])
    return view.go_to(TOKENS, "revoked")


def _show_tokens(view: PageView, made: CreatedToken | None = None) -> Page:
    tokens = view.call(access_verbs.LIST_TOKENS).tokens
    listed = lists.list_rows(view, tokens, TOKEN_COLUMNS, name="tokens", what="token", default="-created_at")
    own = [access.value for access in Access if view.grant.access.includes(access)]
    context = {"made": made, "accesses": own, "longest": LONGEST_DAYS, "said": view.notice}
    return Page(template="tokens.html", context=context, listed=listed)


# --- `/evaluation/sign-ins`: signed-in browsers, and ending their sessions ---

sign_in_pages = Pages("sign-ins")
ADDRESS = "/evaluation/sign-ins"
SIGN_IN_COLUMNS = (
    ListColumn[SignInLine](name="token_name", title="token", value=lambda line: line.token_name),
    ListColumn[SignInLine](name="session_id", value=lambda line: line.session_id, sorts=False, shown=False),
    ListColumn[SignInLine](
        name="state", value=lambda line: "open" if line.is_open else "ended" if line.ended_at else "over"
    ),
    ListColumn[SignInLine](name="via", title="from", value=lambda line: line.via),
    ListColumn[SignInLine](name="created_at", title="signed in", value=lambda line: line.created_at),
    ListColumn[SignInLine](name="last_seen_at", title="last used", value=lambda line: line.last_seen_at),
    ListColumn[SignInLine](name="expires_at", title="ends by", value=lambda line: line.expires_at),
    ListColumn[SignInLine](name="ended_at", value=lambda line: line.ended_at, sorts=False, shown=False),
)


@sign_in_pages.get(ADDRESS, acts.TOKEN_READ)
def list_sign_ins(view: PageView) -> Page:
    """List every sign-in, newest first; those that have ended are listed for a month."""
    found = view.services.sign_ins.all(view.scope)
    listed = lists.list_rows(view, found, SIGN_IN_COLUMNS, name="sign-ins", what="sign-in", default="-created_at")
    return Page(template="sign_ins.html", context={"said": view.notice}, listed=listed)


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
