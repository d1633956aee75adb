"""Authenticate a caller: by a token in the header, by the cookie of a sign-in, or as a user of this machine.

Beyond loopback a token or a sign-in is needed. On loopback a caller without any has the scope of the settings, as on
the command line. An invalid token in the header is refused even there; an invalid cookie is ignored, since browsers
send the cookies of every server on this machine to each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from assay.access import Authoriser, Grant, SignIns
from assay.gateway.front import Credentials, bearer_token
from assay.gateway.headers import Headers
from assay.settings import Settings

COOKIE = "assay_session"
"""The cookie of a browser that signed in; it holds the secret of a sign-in, never a token."""
SECURE_COOKIE = "__Host-assay_session"
"""The same over HTTPS. Browsers accept a cookie with this prefix only from this host and over HTTPS."""
NOTICE_COOKIE = "assay_notice"
"""The cookie with the notice that the next page shows once."""
SECURE_NOTICE_COOKIE = "__Host-assay_notice"
"""The same over HTTPS."""
OWN_COOKIES = (COOKIE, SECURE_COOKIE, NOTICE_COOKIE, SECURE_NOTICE_COOKIE)
"""Every cookie that this server sets; all others are dropped before the framework parses them."""


class HttpCaller(NamedTuple):
    """An authenticated caller."""

    grant: Grant
    ambient: bool
    """Whether a browser authenticates by itself (a cookie, or being on this machine); forms then need a CSRF token."""
    token: str | None
    """The token or sign-in secret of the request; CSRF tokens are bound to it."""
    signed_in: bool = False
    """Whether it is a browser that signed in, and can sign out."""

    def grant_from(self, address: str) -> Grant:
        """Return the grant with the address of the request, for the audit log."""
        kind = "browser" if self.signed_in else "http"
        return self.grant._replace(scope=replace(self.grant.scope, via=f"{kind} {address}"))


class Callers:
    """Finds the caller of a request by its credentials."""

    def __init__(self, authoriser: Authoriser, sign_ins: SignIns, local: Grant | None) -> None:
        self._authoriser = authoriser
        self._sign_ins = sign_ins
        self._local = local

    @property
    def needs_token(self) -> bool:
        """Whether every caller needs a token or sign-in."""
        return self._local is None

    def find(self, shown: Credentials) -> HttpCaller | None:
        """Return the caller, or None if the credentials are not valid."""
        if shown.token is None:
            return self._local_caller()
        if shown.by_cookie:
            opened = self._sign_ins.find(shown.token)
            if opened is None:
                return self._local_caller()
            return HttpCaller(opened.grant, ambient=True, token=shown.token, signed_in=True)
        grant = self._authoriser.grant(shown.token)
        return None if grant is None else HttpCaller(grant, ambient=False, token=shown.token)

    def _local_caller(self) -> HttpCaller | None:
        return None if self._local is None else HttpCaller(self._local, ambient=True, token=None)


def read_credentials(headers: Headers, *, secure: bool = False) -> Credentials:
    """Return the credentials of a request; a header has priority over a cookie. A malformed token counts as invalid.

    `secure`: the request came over HTTPS, where only the `__Host-` cookie counts: another host cannot have set it.
    """
    given = bearer_token(headers)
    if given is not None:
        return given
    kept = find_cookie(headers, SECURE_COOKIE if secure else COOKIE)
    return Credentials(kept, by_cookie=kept is not None)


def is_secure(scope: Mapping[str, Any], settings: Settings) -> bool:
    """Whether the browser uses HTTPS, with this server or with the proxy that the settings declare."""
    return scope.get("scheme") == "https" or settings.server_behind_https == "yes"


def find_cookie(headers: Headers, wanted: str) -> str | None:
    """Return the value of a cookie; None if the request has none of that name.

    `http.cookies` is not used: before Python 3.11.10 the time to parse quoted values grows with the square of their
    length. Our secret needs no quoting, so splitting at ";" and "=" is enough.
    """
    for value in (value for name, value in headers if name == "cookie"):
        for pair in value.split(";"):
            name, found, text = pair.partition("=")
            if found and name.strip() == wanted:
                return text.strip().strip('"')
    return None


def keep_own_cookies(raw: list[tuple[bytes, bytes]], headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the raw headers of a request with only our own cookies, without quotes.

    The framework parses all cookies of every request with `http.cookies` (see `find_cookie`), even if no route uses
    them: one long quoted cookie from another party would block the event loop for seconds.
    """
    if all(name != "cookie" for name, _ in headers):
        return raw
    own = ((name, find_cookie(headers, name)) for name in OWN_COOKIES)
    return [
        *((name, value) for name, value in raw if name.lower() != b"cookie"),
        *((b"cookie", f"{name}={text}".encode("latin-1")) for name, text in own if text is not None),
    ]
