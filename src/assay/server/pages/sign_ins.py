"""`/evaluation/sign-ins`: browsers that signed in with a token of the tenant, and a way to end them. For admins."""

from __future__ import annotations

from starlette.responses import Response

from assay.access import acts
from assay.server.pages.viewing import Page, Pages, View, go_to

pages = Pages("sign-ins")
ADDRESS = "/evaluation/sign-ins"


@pages.get(ADDRESS, acts.TOKEN_READ)
def listed(view: View) -> Page:
    """Every sign-in, newest first; those that are over stay for a month."""
    found = view.services.sign_ins.all(view.scope)
    return Page(template="sign_ins.html", context={"sign_ins": found, "said": view.asked("said")})


@pages.post(ADDRESS + "/{session_id}/end", acts.TOKEN_CHANGE)
def end(view: View) -> Response:
    """Let a sign-in open nothing from now on."""
    view.services.sign_ins.end(view.scope, view.path["session_id"])
    return go_to(f"{ADDRESS}?said=ended")
