"""Requests whose end could be read in two ways.

A request with both Content-Length and Transfer-Encoding, or with either of them twice, ends at one place for a proxy
and at another for this server; what follows would then be taken for a request of its own ("request smuggling").
"""

from __future__ import annotations

from assay.gateway.hosts import Headers
from assay.gateway.refusal import Refused

CLOSE = {"Connection": "close"}
"""What follows on such a connection cannot be trusted to be a request."""


def check_framing(headers: Headers) -> None:
    """Refuse a request (400, connection closed) whose body does not have exactly one stated end."""
    lengths = [value for name, value in headers if name == "content-length"]
    codings = [value for name, value in headers if name == "transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        stated = "Content-Length and Transfer-Encoding" if lengths and codings else "the length of its body twice"
        raise _ambiguous(f"the request states {stated}", "Send one Content-Length, or Transfer-Encoding: chunked.")
    if codings and codings[0].strip().lower() != "chunked":
        raise _ambiguous(f"the Transfer-Encoding {codings[0][:40]!a} is not known", "Send Transfer-Encoding: chunked.")
    if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
        raise _ambiguous(f"the Content-Length {lengths[0][:40]!a} is not a number", "Send the number of bytes.")


def _ambiguous(message: str, remedy: str) -> Refused:
    return Refused(400, "ambiguous_length", message, remedy=remedy, headers=CLOSE)
