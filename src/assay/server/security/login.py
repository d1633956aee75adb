"""How a browser comes in beyond loopback: a page that takes a token, and a cookie that holds it.

No script can read the cookie, and no other site's page makes the browser send it.
"""

from __future__ import annotations

import html
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from assay.access import acts
from assay.server.routing import with_act
from assay.server.security.callers import COOKIE
from assay.server.security.guard import LOGIN, address_key
from assay.server.services import services_of

LOGOUT = "/logout"
KEPT_S = 30 * 24 * 3600
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Assay: sign in</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:15vh auto;padding:0 1rem}}
:root{{color-scheme:light dark}}
input,button{{font:inherit;width:100%;padding:.5rem;margin:.25rem 0 1rem;box-sizing:border-box}}</style></head>
<body><main><h1>Assay</h1>{problem}<form method="post" action="/login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input type="hidden" name="next" value="{next}"><button>Sign in</button></form>
<p>Make one on the server with <code>assay token create</code>.</p></main></body></html>"""


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
    return HTMLResponse(_filled(request.query_params.get("next", "/")))


@with_act(acts.LOGIN_OPEN)
async def _sign_in(request: Request) -> Response:
    form = _read_form(await request.body())
    token, after = form.get("token", [""])[0].strip(), inside(form.get("next", ["/"])[0])
    services = services_of(request)
    if await services.run(lambda: services.stored_tokens.grant(token)) is None:
        services.failures.count(address_key(request.scope), token)
        problem = "<p role='alert'>That token opens nothing here.</p>"
        return HTMLResponse(_filled(after, problem), status_code=401)
    answer = RedirectResponse(after, status_code=303)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, max_age=KEPT_S, httponly=True, samesite="strict", secure=secure)
    return answer


def _read_form(body: bytes) -> dict[str, list[str]]:
    """The fields of the form; one with more fields than the page has opens nothing."""
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
    except ValueError:
        return {}


@with_act(acts.LOGIN_CLOSE)
async def _sign_out(request: Request) -> Response:  # noqa: ARG001 - as FastAPI calls it
    answer = RedirectResponse(LOGIN, status_code=303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _filled(after: str, problem: str = "") -> str:
    return PAGE.format(next=html.escape(inside(after), quote=True), problem=problem)
