"""Who calls: a token in the header, a browser that signed in, or whoever sits at this machine.

Beyond loopback a token or a sign-in is needed. On loopback without any, the machine's own user has the settings' scope,
as on the command line; a token in the header must be good there all the same. A cookie need not be: browsers send
those of every server on this machine to each of them.
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
"""The same over HTTPS. Browsers take a cookie of such a name from this host alone, and only over HTTPS."""


class HttpCaller(NamedTuple):
    """Who calls, and whether a browser would say so by itself."""

    grant: Grant
    ambient: bool
    """A browser adds the proof on its own (a cookie, or being on this machine): forms need a CSRF token then."""
    token: str | None
    """What was shown: a token, or the secret of a sign-in. CSRF tokens are bound to it."""
    signed_in: bool = False
    """It is a browser that signed in, and can sign out."""

    def grant_from(self, address: str) -> Grant:
        """The grant, with where the request came from for the audit log."""
        kind = "browser" if self.signed_in else "http"
        return self.grant._replace(scope=replace(self.grant.scope, via=f"{kind} {address}"))


class Callers:
    """Turns what a request shows into a caller."""

    def __init__(self, authoriser: Authoriser, sign_ins: SignIns, local: Grant | None) -> None:
        self._authoriser = authoriser
        self._sign_ins = sign_ins
        self._local = local

    @property
    def needs_token(self) -> bool:
        """Whether nobody comes in without one."""
        return self._local is None

    def find(self, shown: Credentials) -> HttpCaller | None:
        """The caller; None: nobody we know."""
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
    """What a request shows; a header counts before a cookie. A token that cannot be read is one that opens nothing.

    `secure`: the browser came over HTTPS, where only the cookie counts that another host cannot have set.
    """
    given = bearer_token(headers)
    if given is not None:
        return given
    kept = find_cookie(headers, SECURE_COOKIE if secure else COOKIE)
    return Credentials(kept, by_cookie=kept is not None)


def is_secure(scope: Mapping[str, Any], settings: Settings) -> bool:
    """Whether the browser speaks HTTPS with us, or with the proxy that the settings say is in front of us."""
    return scope.get("scheme") == "https" or settings.server_behind_https == "yes"


def find_cookie(headers: Headers, wanted: str) -> str | None:
    """The value of a cookie; None: the request has none of that name.

    `http.cookies` is not used: before Python 3.11.10 its reading of quoted values takes time that grows with the
    square of their length. Our secret needs no quoting, so pairs split at ";" and "=" are all there is to read.
    """
    for value in (value for name, value in headers if name == "cookie"):
        for pair in value.split(";"):
            name, found, text = pair.partition("=")
            if found and name.strip() == wanted:
                return text.strip().strip('"')
    return None


def keep_own_cookies(raw: list[tuple[bytes, bytes]], headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the raw headers of a request with no cookies but ours, and those without quotes.

    The framework parses all cookies of every request with `http.cookies` (see `find_cookie`), also where no route
    asks for any: one long quoted cookie of a stranger would keep the event loop busy for seconds.
    """
    if all(name != "cookie" for name, _ in headers):
        return raw
    own = ((name, find_cookie(headers, name)) for name in (COOKIE, SECURE_COOKIE))
    return [
        *((name, value) for name, value in raw if name.lower() != b"cookie"),
        *((b"cookie", f"{name}={secret}".encode("latin-1")) for name, secret in own if secret is not None),
    ]
