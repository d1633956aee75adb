"""What browsers are told with every response: run nothing but our own scripts, and show us in nobody's frame."""

from __future__ import annotations

from typing import Any

# Charts set the style of what they draw; a style can run nothing.
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS = (
    (b"content-security-policy", CONTENT_SECURITY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NOT_KEPT = (b"cache-control", b"no-store")


def added(message: dict[str, Any], request_id: str) -> dict[str, Any]:
    """The start of a response with them; what a route says of caching stays."""
    headers = list(message.get("headers", []))
    said = {name.lower() for name, _ in headers}
    headers += [one for one in ALWAYS if one[0] not in said]
    if b"cache-control" not in said:
        headers.append(NOT_KEPT)
    return {**message, "headers": [*headers, (b"x-request-id", request_id.encode())]}
