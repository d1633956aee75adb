"""Notices: a sentence that the page after a form shows once, carried by a signed cookie and never by the address.

An address can be sent by anybody, so what it says must not look like the server's own words. The cookie holds the path
of the page and the sentence, signed with a key that only the caller's own pages can use; a cookie that was altered, or
that belongs to another page or caller, is ignored. It lasts a minute and is deleted by the page that shows it.
See `design/notices.md`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from assay.server.security.browsers import csrf_token_of
from assay.server.security.callers import NOTICE_COOKIE, SECURE_NOTICE_COOKIE, find_cookie, is_secure
from assay.server.services import services_of

LASTS_S = 60
"""Seconds after which a notice that no page has shown is dropped."""
LONGEST = 1_000
"""Characters of a notice; the rest is cut."""


def set_notice(request: Request, response: Response, address: str, text: str) -> None:
    """Let the page at `address` show `text` once."""
    payload = json.dumps([unquote(urlsplit(address).path), text[:LONGEST]]).encode()
    encoded = base64.urlsafe_b64encode(payload).decode()
    name = _cookie_name(request)
    response.set_cookie(
        name,
        f"{encoded}.{_sign(request, encoded)}",
        max_age=LASTS_S,
        httponly=True,
        samesite="strict",
        secure=name == SECURE_NOTICE_COOKIE,
        path="/",
    )


def read_notice(request: Request) -> str:
    """Return the notice for the page of this request; empty if there is none, or none that this server signed."""
    encoded, _, signature = (_find(request) or "").partition(".")
    if not encoded or not hmac.compare_digest(_sign(request, encoded).encode(), signature.encode()):
        return ""
    try:
        path, text = json.loads(base64.urlsafe_b64decode(encoded))
    except (binascii.Error, ValueError, TypeError):
        return ""
    return str(text) if path == request.scope["path"] else ""


def drop_notice(request: Request, response: Response) -> None:
    """Delete the cookie after its notice was shown."""
    name = _cookie_name(request)
    response.delete_cookie(name, httponly=True, samesite="strict", secure=name == SECURE_NOTICE_COOKIE, path="/")


def _find(request: Request) -> str | None:
    return find_cookie(request.headers.items(), _cookie_name(request))


def _cookie_name(request: Request) -> str:
    return SECURE_NOTICE_COOKIE if is_secure(request.scope, services_of(request).settings) else NOTICE_COOKIE


def _sign(request: Request, encoded: str) -> str:
    # The form token is secret to the caller and shared by the processes that serve together.
    key = csrf_token_of(request).encode()
    return hmac.new(key, f"notice {encoded}".encode(), hashlib.sha256).hexdigest()
