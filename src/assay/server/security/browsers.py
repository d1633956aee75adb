"""What browsers need: the sign-in page and its cookie, a token in every form, and security headers.

- Security headers of every response.
- Forms: a token that only our own pages can read.
- The sign-in page and its cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI
from jinja2 import Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from assay.access import acts
from assay.access.tokens import NewSignIn
from assay.gateway.front import address_key
from assay.gateway.headers import Headers
from assay.presentation.templates import STYLE, environment, read_shared
from assay.server.errors import RequestRefused
from assay.server.routing import with_act
from assay.server.security.callers import COOKIE, SECURE_COOKIE, find_cookie, is_secure
from assay.server.services import services_of

# --- Security headers of every response ---

# 'unsafe-inline' styles are needed by charts; a style cannot run code.
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NO_STORE = (b"cache-control", b"no-store")


def add_security_headers(message: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Return the start of a response with these headers; a route's own headers, such as for caching, are kept."""
    headers = list(message.get("headers", []))
    present = {name.lower() for name, _ in headers}
    headers += [header for header in SECURITY_HEADERS if header[0] not in present]
    if b"cache-control" not in present:
        headers.append(NO_STORE)
    return {**message, "headers": [*headers, (b"x-request-id", request_id.encode())]}


# --- Forms: a token that only our own pages can read ---
#
# A form needs this token where the browser authenticates by itself (a cookie, or being on this machine). JSON needs
# none: a page of another site cannot send it without a preflight request, which is refused. Pages put
# `csrf_token_of(request)` into a hidden field named `csrf_token`.

CSRF_FIELD = "csrf_token"
CSRF_HEADER = "x-csrf-token"
CSRF = "assay.csrf"
"""Key in the request's scope of a function that makes the caller's CSRF token; only pages call it."""
LONGEST_CSRF_TOKEN = 200


class Csrf:
    """Makes and checks CSRF tokens.

    That of a browser that signed in is made with the secret of its sign-in, so every server of the store accepts it,
    and a restarted one too. That of a user of this machine is valid as long as this server runs.
    """

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(32)

    def token(self, caller: str | None) -> str:
        """Return the token of a caller, by the secret of its sign-in; None: a user of this machine."""
        key = self._secret if caller is None else caller.encode("utf-8", "surrogatepass")
        return hmac.new(key, b"a form of Assay", hashlib.sha256).hexdigest()

    def check(self, caller: str | None, shown: str) -> None:
        """Refuse (403) a form whose token is not that of the caller."""
        if not hmac.compare_digest(self.token(caller).encode(), shown.encode("utf-8", "surrogatepass")):
            raise RequestRefused(
                403, "stale_form", "this form was not sent by a page of this server, or it is too old",
                remedy="Load the page again and send it from there.",
            )  # fmt: skip


def read_csrf_token(header: str | None, form: bytes) -> str:
    """Return the CSRF token of a form: from the header that a script adds, or from the hidden field."""
    if header is not None:
        return header[:LONGEST_CSRF_TOKEN]
    try:
        found = parse_qs(form.decode(), max_num_fields=1_000).get(CSRF_FIELD, [""])
    except ValueError:
        return ""
    return found[0][:LONGEST_CSRF_TOKEN]


def csrf_token_of(request: Request) -> str:
    """Return the CSRF token to put into the forms of a page."""
    made: Callable[[], str] = request.scope[CSRF]
    return made()


# --- Requests that another site makes a browser send ---
#
# The cookie of a sign-in is `SameSite=Lax`, so that a link in a chat leads a signed-in colleague to the page. A browser
# then sends it with one kind of request of another site: opening a page in a window. Forms of other sites come without
# it and are refused by Origin and CSRF token; frames, images, scripts and fetches of other sites are refused here.

OWN_SITES = ("same-origin", "none")
"""`Sec-Fetch-Site` of a request that a page of this server, or the user, made. A browser without the header sends no
cookie with requests of other sites but those that open a page."""


def check_fetch_site(headers: Headers) -> None:
    """Refuse (403) what another site makes a browser fetch, unless it opens a page in a window of its own."""
    given = dict(headers)
    if given.get("sec-fetch-site", "none") in OWN_SITES:
        return
    if given.get("sec-fetch-mode") == "navigate" and given.get("sec-fetch-dest", "document") == "document":
        return
    raise RequestRefused(
        403, "other_site", "another site asked for this in the name of the browser's user",
        remedy="Open the address itself, or send a token.",
    )  # fmt: skip


# --- The sign-in page and its cookie ---
#
# A server beyond loopback needs a token, which a browser gives at `/login`. Its cookie holds the secret of a sign-in
# (`assay.access.tokens`), a new one at each login, and never the token. It is `HttpOnly` and `SameSite=Lax`. Over
# HTTPS it is `Secure`, and its name begins with `__Host-`. Signing out ends it on the server.

LOGIN = "/login"
LOGOUT = "/logout"
REFUSAL = "That token is not valid on this server."


def add_login(app: FastAPI) -> None:
    """Add the pages to sign in and out to the application."""
    app.add_api_route(LOGIN, _show_login, methods=["GET"], include_in_schema=False)
    app.add_api_route(LOGIN, _sign_in, methods=["POST"], include_in_schema=False)
    app.add_api_route(LOGOUT, _sign_out, methods=["POST"], include_in_schema=False)


def keep_inside(path: str) -> str:
    """Return the path if it belongs to this server, else the front page, so that a link cannot redirect elsewhere."""
    fine = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if fine else "/"


@with_act(acts.LOGIN_OPEN)
async def _show_login(request: Request) -> Response:
    return HTMLResponse(_render_login(request, request.query_params.get("next", "/")))


@with_act(acts.LOGIN_OPEN)
async def _sign_in(request: Request) -> Response:
    form = _read_form(await request.body())
    token, after = form.get("token", [""])[0].strip(), keep_inside(form.get("next", ["/"])[0])
    services, name = services_of(request), _cookie_name(request)
    before = _secret(request)

    def sign_in() -> NewSignIn | None:
        made = services.sign_ins.begin(token, _via(request))
        if made is not None:
            # A new sign-in ends the old one of the same browser.
            services.sign_ins.sign_out(before, _via(request))
        return made

    made = await services.run(sign_in)
    if made is None:
        await services.failures.count(address_key(request.scope), token)
        return HTMLResponse(_render_login(request, after, REFUSAL), status_code=401)
    answer = RedirectResponse(after, status_code=303)
    lasts = int(services.sign_ins.lasts.total_seconds())
    answer.set_cookie(
        name, made.text, max_age=lasts, httponly=True, samesite="lax", secure=name == SECURE_COOKIE, path="/"
    )
    return answer


def _read_form(body: bytes) -> dict[str, list[str]]:
    """Return the fields of the form; none if there are more than the page has."""
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError:
        return {}


@with_act(acts.LOGIN_CLOSE)
async def _sign_out(request: Request) -> Response:
    services, name = services_of(request), _cookie_name(request)
    await services.run(lambda: services.sign_ins.sign_out(_secret(request), _via(request)))
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(name, httponly=True, samesite="lax", secure=name == SECURE_COOKIE, path="/")
    return answer


def _cookie_name(request: Request) -> str:
    return SECURE_COOKIE if is_secure(request.scope, services_of(request).settings) else COOKIE


def _secret(request: Request) -> str:
    return find_cookie(request.headers.items(), _cookie_name(request)) or ""


def _via(request: Request) -> str:
    return f"browser {request.client.host if request.client else 'unknown'}"


def _render_login(request: Request, after: str, problem: str = "") -> str:
    # The CSRF token is needed here too, for a browser that is signed in already or is on this machine.
    return _template().render(
        after=keep_inside(after), problem=problem, csrf_token=csrf_token_of(request), style=read_shared(STYLE)
    )


@cache
def _template() -> Template:
    return environment(Path(__file__).with_name("templates")).get_template("login.html")
