"""Logs of a server on standard error: requests that were answered, and what went wrong.

- The log of requests: one line each, without bodies, headers, cookies and the values of query parameters.
- Text or JSON lines, with secrets masked.

The log of requests needs `server.access_log`; problems are logged from `server.log_level` on. The caller is named by
principal (`token:ci`), never by token.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.clock import Clock
from assay.settings import Settings

Mask = Callable[[str], str]
"""Returns a text without its secrets."""

# --- The log of requests ---

NOTED = "assay.logged_request"
"""The key of a scope under which what is known of a request is collected for its line."""
LONGEST_PATH = 300
_requests = logging.getLogger("assay.requests")


class LoggedRequest:
    """What is known of a request besides its address, told by those who check and answer it."""

    def __init__(self) -> None:
        self.principal = ""
        self.tenant = ""
        self.request_id = ""


def note_caller(scope: Scope, *, tenant: str, principal: str) -> None:
    """Let the line of this request name its caller."""
    noted: LoggedRequest | None = scope.get(NOTED)
    if noted is not None:
        noted.tenant, noted.principal = tenant, principal


def note_request_id(scope: Scope, request_id: str) -> None:
    """Let the line of this request have the id that its answer and the log of problems have."""
    noted: LoggedRequest | None = scope.get(NOTED)
    if noted is not None:
        noted.request_id = request_id


class RequestLog:
    """Writes a line for every request that the application answers."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, then log it; also one whose client went away, with the status 0 if nothing was sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        noted, status, began = LoggedRequest(), 0, self._clock.monotonic()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app({**scope, NOTED: noted}, receive, sending)
        finally:
            milliseconds = (self._clock.monotonic() - began) * 1000
            fields = {
                "method": scope["method"][:10],
                "path": describe_address(scope),
                "status": status,
                "ms": round(milliseconds, 1),
                "principal": noted.principal,
                "tenant": noted.tenant,
                "request_id": noted.request_id,
            }
            _requests.info("request", extra={"fields": fields})


def describe_address(scope: Scope) -> str:
    """Return the path and the names of query parameters: their values may be searches or secrets."""
    path: str = scope["path"][:LONGEST_PATH]
    query = scope.get("query_string", b"").decode("latin-1")[:LONGEST_PATH]
    names = [part.partition("=")[0] for part in query.split("&") if "=" in part]
    return path + ("?" + "&".join(f"{name}=" for name in names) if names else "")


# --- Text or JSON lines, with secrets masked ---


def set_up_logs(settings: Settings, mask: Mask, stream: TextIO | None = None) -> None:
    """Send the logs of this process to standard error, as the settings say."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(mask) if settings.server_log_format == "json" else TextLines(mask))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Other libraries tell their problems alone: some of them would log what they send and receive.
    root.setLevel(logging.WARNING)
    level = settings.server_log_level.upper()
    for name in ("assay", "uvicorn"):
        logging.getLogger(name).setLevel(level)
    _requests.setLevel(logging.INFO if settings.server_access_log == "yes" else logging.CRITICAL)


class _Masked(logging.Formatter):
    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self._mask = mask

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what a record says, without secrets."""
        found: dict[str, Any] = {"at": _moment(record), "level": record.levelname.lower(), "logger": record.name}
        fields: dict[str, Any] | None = getattr(record, "fields", None)
        if fields is None:
            found["message"] = self._mask(record.getMessage())
        else:
            found.update(fields, path=self._mask(str(fields["path"])), principal=self._mask(str(fields["principal"])))
        if record.exc_info:
            found["traceback"] = self._mask(self.formatException(record.exc_info))
        return found


class JsonLines(_Masked):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return json.dumps(self._fields(record))


class TextLines(_Masked):
    """Words with spaces between them; control characters are shown by their numbers, so that a line stays one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and the lines of its traceback."""
        found = self._fields(record)
        if "message" in found:
            text = f"{found['at']} {found['level']} {found['logger']}: {_printable(found['message'])}"
        else:
            who = f"{found['tenant']}/{found['principal']}" if found["principal"] else "-"
            text = (
                f"{found['at']} {found['method']} {_printable(found['path'])} {found['status']} {found['ms']:.1f} ms "
                f"{_printable(who)} {found['request_id'] or '-'}"
            )
        return f"{text}\n{found['traceback']}" if "traceback" in found else text


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
