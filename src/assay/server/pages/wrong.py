"""What went wrong, on a page: the error, what to do about it, and a way back.

With the frame of every page where its files will load: for somebody the server knows, who does not ask too often. All
others get one without it, that needs no second request and says nothing of what is inside.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from assay.errors import AssayError
from assay.gateway.hosts import SAFE, authority
from assay.presentation.templates import STYLE, read_shared
from assay.server.errors import Refused, status_of
from assay.server.pages.rendering import environment, render
from assay.server.security.guard import LOGIN
from assay.server.security.login import inside
from assay.server.services import GRANT

TITLES = {
    400: "That cannot be read",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Not in this way",
    409: "Not now",
    413: "Too large",
    415: "That cannot be read",
    421: "Another server",
    422: "That cannot be read",
    429: "Too fast",
    500: "That did not work",
    501: "Not installed",
    503: "Not now",
}
STALE = "stale_form"
TOO_FAST = 429


def shown(app: FastAPI, scope: Scope, problem: AssayError | Refused) -> Response:
    """The page of an error that no page told of itself."""
    request = Request({**scope, "app": app})
    status = status_of(problem)
    context = said_of(problem, *_way_back(request, problem, status))
    if scope.get(GRANT) is not None and status != TOO_FAST:
        return render(request, "error.html", context, status=status)
    text = environment().get_template("error_alone.html").render(**context, style=read_shared(STYLE))
    return HTMLResponse(text, status_code=status)


def said_of(problem: AssayError | Refused, back: str, back_says: str) -> dict[str, Any]:
    """What the template of errors shows."""
    status = status_of(problem)
    message = problem.message[:1].upper() + problem.message[1:]
    return {
        "title": "The form is too old" if problem.code == STALE else TITLES.get(status, "That did not work"),
        "message": message if message.endswith(".") else f"{message}.",
        "remedy": problem.remedy,
        "back": back,
        "back_says": back_says,
    }


def _way_back(request: Request, problem: AssayError | Refused, status: int) -> tuple[str, str]:
    """Where to go on: the page again if only its time was wrong, else where the browser came from, else the start."""
    came_from = _came_from(request)
    if status == 401:
        return f"{LOGIN}?next={quote(came_from or '/')}", "Sign in"
    if problem.code == STALE and came_from:
        return came_from, "Load the page again"
    if status in (TOO_FAST, 503) and request.method in SAFE:
        return inside(_here(request)), "Try again"
    if came_from and came_from != _here(request):
        return came_from, "Back"
    return "/", "To the first page"


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _came_from(request: Request) -> str:
    """The page of this server that led here; empty when it was another's, or is not said."""
    said, host = request.headers.get("referer", ""), request.headers.get("host", "")
    if not said or authority(said) != authority(f"//{host}"):
        return ""
    parts = urlsplit(said)
    return inside(parts.path + (f"?{parts.query}" if parts.query else ""))
