"""Whether a form was sent by one of our own pages: each carries a token that only our pages could read.

Needed where a browser proves who it is on its own. JSON needs none: a foreign page cannot send it without asking first,
and it is refused when it asks. Pages call `token_of(request)` and put it into a hidden field named `csrf_token`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from assay.server.errors import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

FIELD = "csrf_token"
HEADER = "x-csrf-token"
CSRF = "assay.csrf"
"""Where the guard leaves in the request's scope what makes the caller's CSRF token: only pages ask for it."""
LONGEST = 200


class Csrf:
    """Makes and checks the tokens of one server; they last as long as it runs."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(32)

    def token(self, caller: str) -> str:
        """The token of one caller."""
        return hmac.new(self._secret, caller.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def check(self, caller: str, shown: str) -> None:
        """Refuse a form that is not ours."""
        if not hmac.compare_digest(self.token(caller).encode(), shown.encode("utf-8", "surrogatepass")):
            raise Refused(
                403, "stale_form", "this form was not sent by a page of this server, or it is too old",
                remedy="Load the page again and send it from there.",
            )  # fmt: skip


def shown_in(header: str | None, form: bytes) -> str:
    """What a form shows: the header a script adds, or the hidden field."""
    if header is not None:
        return header[:LONGEST]
    try:
        found = parse_qs(form.decode(), max_num_fields=1_000).get(FIELD, [""])
    except ValueError:
        return ""
    return found[0][:LONGEST]


def token_of(request: Request) -> str:
    """What a page puts into its forms."""
    made: Callable[[], str] = request.scope[CSRF]
    return made()
