"""Calls of an ASGI application inside this process: one event loop, no sockets, no threads of a client."""

from __future__ import annotations

import json as encoding
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

import anyio
from starlette.types import ASGIApp, Message

PORT = 8710


class Answer(NamedTuple):
    """What an application answered."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def location(self) -> str:
        """Where a browser is sent."""
        return self.headers.get("location", "")

    @property
    def whole(self) -> str:
        """Everything a caller gets to see."""
        return "\n".join([*self.headers.values(), self.text])

    def json(self) -> Any:
        """The body as JSON."""
        return encoding.loads(self.text)


class Asgi:
    """Sends requests to an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sent = 0

    async def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request and its whole answer."""
        body, kind = b"", None
        if form is not None:
            body, kind = urlencode(form).encode(), b"application/x-www-form-urlencoded"
        elif json is not None:
            body, kind = encoding.dumps(json).encode(), b"application/json"
        given = [(b"host", f"127.0.0.1:{PORT}".encode()), (b"accept", b"*/*")]
        given += [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        if kind is not None:
            given += [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        self._sent += 1
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http",
            "method": method,
            "path": unquote(path), "raw_path": path.encode(), "root_path": "", "headers": given,
            "query_string": urlencode(query or {}).encode(), "server": ("127.0.0.1", PORT),
            "client": ("127.0.0.1", 10_000 + self._sent % 50_000),
        }  # fmt: skip
        return await self._call(scope, body)

    async def _call(self, scope: dict[str, Any], body: bytes) -> Answer:
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Message] = []

        async def receive() -> Message:
            if not waiting:
                await anyio.sleep_forever()  # a client that stays until it has its answer
            return waiting.pop()

        async def keep(message: Message) -> None:
            sent.append(message)

        await self._app(scope, receive, keep)
        start = next(message for message in sent if message["type"] == "http.response.start")
        text = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Answer(start["status"], headers, text.decode("utf-8", "replace"))
