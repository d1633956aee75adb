"""Who calls: a token in the header, a cookie from the login, or whoever sits at this machine.

Beyond loopback a token is needed. On loopback without any, the machine's own user has the settings' scope, as on the
command line; a token in the header must be good there all the same. A cookie need not be: browsers send those of every
server on this machine to each of them.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.access import Authoriser, Grant
from assay.gateway.hosts import Headers

COOKIE = "assay_session"


class Shown(NamedTuple):
    """What a request shows of its caller."""

    token: str | None
    by_cookie: bool


class Caller(NamedTuple):
    """Who calls, and whether a browser would say so by itself."""

    grant: Grant
    ambient: bool
    """A browser adds the proof on its own (a cookie, or being on this machine): forms need a CSRF token then."""
    token: str | None


class Callers:
    """Turns what a request shows into a caller."""

    def __init__(self, authoriser: Authoriser, local: Grant | None) -> None:
        self._authoriser = authoriser
        self._local = local

    @property
    def needs_token(self) -> bool:
        """Whether nobody comes in without one."""
        return self._local is None

    def find(self, shown: Shown) -> Caller | None:
        """The caller; None: nobody we know."""
        if shown.token is None:
            return None if self._local is None else Caller(self._local, ambient=True, token=None)
        grant = self._authoriser.grant(shown.token)
        if grant is None and shown.by_cookie and self._local is not None:
            return Caller(self._local, ambient=True, token=None)
        return None if grant is None else Caller(grant, ambient=shown.by_cookie, token=shown.token)


def shown_by(headers: Headers) -> Shown:
    """The token a request shows; a header counts before a cookie. One that cannot be read is one that opens nothing."""
    given = [value for name, value in headers if name == "authorization"]
    if given:
        kind, _, token = given[0].partition(" ")
        return Shown(token.strip() if len(given) == 1 and kind.lower() == "bearer" else "", by_cookie=False)
    kept = _cookie_token(headers)
    return Shown(kept, by_cookie=kept is not None)


def _cookie_token(headers: Headers) -> str | None:
    """The value of our own cookie; None: the request has none.

    `http.cookies` is not used: before Python 3.11.10 its reading of quoted values takes time that grows with the
    square of their length. Our token needs no quoting, so pairs split at ";" and "=" are all there is to read.
    """
    for value in (value for name, value in headers if name == "cookie"):
        for pair in value.split(";"):
            name, found, token = pair.partition("=")
            if found and name.strip() == COOKIE:
                return token.strip().strip('"')
    return None
