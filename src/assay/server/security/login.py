"""How a browser comes in beyond loopback: a page that takes a token, and a cookie that stands for it.

The cookie holds the secret of a sign-in (`assay.access.tokens`), a new one at each login, and never the token. No
script can read it, and no other site's page makes the browser send it. Over HTTPS it is `Secure`, and its name begins
with `__Host-`. Signing out ends it on the server.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import FastAPI
from jinja2 import Template
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from assay.access import acts
from assay.access.tokens import NewSignIn
from assay.gateway.front import address_key
from assay.presentation.templates import STYLE, environment, read_shared
from assay.server.routing import with_act
from assay.server.security.callers import COOKIE, SECURE_COOKIE, find_cookie, is_secure
from assay.server.security.csrf import token_of
from assay.server.services import services_of

LOGIN = "/login"
LOGOUT = "/logout"
REFUSED = "That token opens nothing here."


def add_login(app: FastAPI) -> None:
    """Let browsers sign in and out."""
    app.add_api_route(LOGIN, _page, methods=["GET"], include_in_schema=False)
    app.add_api_route(LOGIN, _sign_in, methods=["POST"], include_in_schema=False)
    app.add_api_route(LOGOUT, _sign_out, methods=["POST"], include_in_schema=False)


def inside(path: str) -> str:
    """A path of this server; anything else leads to its front page."""
    fine = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if fine else "/"


@with_act(acts.LOGIN_OPEN)
async def _page(request: Request) -> Response:
    return HTMLResponse(_filled(request, request.query_params.get("next", "/")))


@with_act(acts.LOGIN_OPEN)
async def _sign_in(request: Request) -> Response:
    form = _read_form(await request.body())
    token, after = form.get("token", [""])[0].strip(), inside(form.get("next", ["/"])[0])
    services, name = services_of(request), _cookie_name(request)
    before = _secret(request)

    def sign_in() -> NewSignIn | None:
        made = services.sign_ins.begin(token, _via(request))
        if made is not None:
            # Whoever signs in again leaves no second door open.
            services.sign_ins.sign_out(before, _via(request))
        return made

    made = await services.run(sign_in)
    if made is None:
        services.failures.count(address_key(request.scope), token)
        return HTMLResponse(_filled(request, after, REFUSED), status_code=401)
    answer = RedirectResponse(after, status_code=303)
    lasts = int(services.sign_ins.lasts.total_seconds())
    answer.set_cookie(
        name, made.text, max_age=lasts, httponly=True, samesite="strict", secure=name == SECURE_COOKIE, path="/"
    )
    return answer


def _read_form(body: bytes) -> dict[str, list[str]]:
    """The fields of the form; one with more fields than the page has opens nothing."""
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError:
        return {}


@with_act(acts.LOGIN_CLOSE)
async def _sign_out(request: Request) -> Response:
    services, name = services_of(request), _cookie_name(request)
    await services.run(lambda: services.sign_ins.sign_out(_secret(request), _via(request)))
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(name, httponly=True, samesite="strict", secure=name == SECURE_COOKIE, path="/")
    return answer


def _cookie_name(request: Request) -> str:
    return SECURE_COOKIE if is_secure(request.scope, services_of(request).settings) else COOKIE


def _secret(request: Request) -> str:
    return find_cookie(request.headers.items(), _cookie_name(request)) or ""


def _via(request: Request) -> str:
    return f"browser {request.client.host if request.client else 'unknown'}"


def _filled(request: Request, after: str, problem: str = "") -> str:
    # Somebody who is signed in already, or sits at this machine, signs in by a form of ours like any other.
    return _template().render(
        after=inside(after), problem=problem, csrf_token=token_of(request), style=read_shared(STYLE)
    )


@cache
def _template() -> Template:
    return environment(Path(__file__).with_name("templates")).get_template("login.html")
