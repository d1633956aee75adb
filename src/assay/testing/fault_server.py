"""A chat service on the loopback that fails in every way a real one does, as often as configured.

    with serving(FAULTS["slow_drip"]) as service:
        ...  # ask service.url

`FAULTS` are the fifteen ways by name; `replying` is a whole and sound reply. An act is done for each request, the last
one for all that follow. Nothing here sleeps: what waits, waits for the end of the block.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

LONGEST_WAIT_S = 120.0
"""After which even a service that hangs gives up, so that no test can hang with it."""
HUGE = 100_000_000


class Heard(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Act = Callable[["Handler"], None]


class FaultService(ThreadingHTTPServer):
    """Does one act for each request."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *acts: Act) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._acts = list(acts)
        self._gate = threading.Lock()
        self.heard: list[Heard] = []
        """Every request, in order."""
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def next_act(self, heard: Heard) -> Act:
        """Note a request and say what to do."""
        with self._gate:
            self.heard.append(heard)
            return self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in mid-answer is part of the play."""


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: FaultService
    heard: Heard
    """What is to be acted on."""

    def do_POST(self) -> None:
        """Hear a question and act."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._act(json.loads(body) if body else None)

    def do_GET(self) -> None:
        """The same without a body."""
        self._act(None)

    def _act(self, body: Any) -> None:
        self.heard = Heard(self.command, self.path, dict(self.headers), body)
        self.server.next_act(self.heard)(self)

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""


def sending(body: bytes, status: int = 200, **headers: str) -> Act:
    """An answer with these bytes."""

    def act(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def replying(text: str, *, prompt_tokens: int = 10, completion_tokens: int = 5) -> Act:
    """A whole and sound reply with this text."""
    return sending(envelope(text, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens))


def envelope(text: Any, *, prompt_tokens: int = 10, completion_tokens: int = 5) -> bytes:
    """What an OpenAI-compatible service puts around a text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return json.dumps({"model": "faulty", "choices": [choice], "usage": usage}).encode()


def hang(handler: Handler) -> None:
    """Say nothing."""
    handler.server.closing.wait(LONGEST_WAIT_S)


def slow_drip(handler: Handler) -> None:
    """Begin an answer and send a byte of it now and then."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(int(LONGEST_WAIT_S / 0.05)):
        if handler.server.closing.wait(0.05):
            return
        handler.wfile.write(b" ")


def huge_body(handler: Handler) -> None:
    """Send 100 MB."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(HUGE // 1_000_000):
        handler.wfile.write(b" " * 1_000_000)


def redirect(handler: Handler) -> None:
    """Redirect to this service itself, so that a client that follows sends two requests."""
    sending(b"", 307, Location=f"{handler.server.url}/elsewhere")(handler)


FAULTS: Mapping[str, Act] = {
    "refused": sending(b""),  # never reached: `refusing` gives the address of a port where nobody listens
    "hang": hang,
    "slow_drip": slow_drip,
    "too_many_requests": sending(b"slow down", 429, Retry_After="1"),
    "server_error": sending(b"out of memory", 500),
    "truncated_json": sending(envelope('{"score": 5}')[:60]),
    "wrong_types": replying('{"score": "five", "reason": 7, "supported_claims": "all", "unsupported_claims": {}}'),
    "nan": replying('{"score": NaN, "reason": "r", "supported_claims": [], "unsupported_claims": []}'),
    "empty": sending(b""),
    "huge_body": huge_body,
    "redirect": redirect,
    "wrong_schema": sending(json.dumps({"choices": {"first": {"text": "5"}}}).encode()),
    "prose": replying("I think this answer is really quite good, perhaps a four or a five."),
    "duplicate_keys": replying(
        '{"score": 0, "reason": "r", "supported_claims": [], "unsupported_claims": [], "score": 5}'
    ),
    "garbage_bytes": sending(bytes(range(256)) * 40),
}
"""Every way in which a chat service fails, by name."""


@contextmanager
def serving(*acts: Act) -> Iterator[FaultService]:
    """A service for the length of a block."""
    service = FaultService(*acts)
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.closing.set()
        service.shutdown()
        service.server_close()
        thread.join()


@contextmanager
def refusing() -> Iterator[str]:
    """Return the address of a port without a listener."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"
