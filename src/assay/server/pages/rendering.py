"""From a template and values to a page, with the frame around every page.

`render` makes a response; the environment is that of `assay.presentation`. Navigation shows the pages in `MENU` that
the application has; `asset` gives the address of a file with its version in it, so that browsers may keep it for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.routing import Route

from assay.access import Grant
from assay.presentation import templates
from assay.server.pages.assets import address_of
from assay.server.routing import act_of
from assay.server.security.csrf import token_of
from assay.server.services import GRANT, SIGNED_IN

_TEMPLATES = Path(__file__).with_name("templates")


class Entry(NamedTuple):
    """One line of the navigation."""

    name: str
    """What templates call it."""
    address: str
    title: str
    group: str = ""


MENU: tuple[Entry, ...] = (
    Entry("ask", "/", "Ask"),
    Entry("memory", "/memory", "Memory"),
    Entry("overview", "/evaluation", "Overview", "Answers"),
    Entry("queries", "/evaluation/queries", "Questions", "Answers"),
    Entry("patterns", "/evaluation/patterns", "Patterns", "Answers"),
    Entry("prompts", "/evaluation/prompts", "Prompts", "Answers"),
    Entry("runs", "/evaluation/runs", "Runs", "Retrieval"),
    Entry("experiments", "/evaluation/experiments", "Experiments", "Retrieval"),
    Entry("label", "/evaluation/label", "Label", "Retrieval"),
    Entry("audit", "/evaluation/audit", "Audit log", "Setup"),
    Entry("sign-ins", "/evaluation/sign-ins", "Sign-ins", "Setup"),
    Entry("settings", "/evaluation/settings", "Settings", "Setup"),
)
"""Every page of the navigation, in order."""


@cache
def environment() -> Environment:
    """The templates of the pages."""
    return templates.environment(_TEMPLATES, asset=address_of)


def render(
    request: Request, template: str, context: Mapping[str, Any] | None = None, *, here: str = "", status: int = 200
) -> HTMLResponse:
    """A page. `here` names the entry of the navigation that is lit."""
    frame = {
        "request": request,
        "here": here,
        "menu": served(request),
        "csrf_token": token_of(request),
        "signed_in": request.scope.get(SIGNED_IN, False),
        "now": request.app.state.services.clock.now(),
        "place": request.app.state.services.settings.tenant,
    }
    text = environment().get_template(template).render(**frame, **(context or {}))
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store"})


def served(request: Request) -> list[Entry]:
    """The entries whose page the application has and the caller may see."""
    grant: Grant | None = request.scope.get(GRANT)
    paths = {route.path for route in request.app.routes if isinstance(route, Route) and _is_for(grant, route)}
    return [entry for entry in MENU if entry.address in paths]


def _is_for(grant: Grant | None, route: Route) -> bool:
    act = act_of(route.endpoint)
    return "GET" in (route.methods or ()) and (grant is None or (act is not None and grant.allows(act.policy)))
