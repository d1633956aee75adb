"""A real HTTP service on the loopback whose every answer is scripted: what a broken one would send, byte for byte."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import numpy as np

from assay.clock import Clock, SystemClock
from assay.models.endpoint import Endpoint, EndpointOptions
from assay.network import ANYWHERE


class Heard(NamedTuple):
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


Act = Callable[["Handler"], None]


class Service(ThreadingHTTPServer):
    """Does one act for each request, the last one for all that follow."""

    daemon_threads = True

    def __init__(self, acts: tuple[Act, ...], handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.acts = list(acts)
        self.heard: list[Heard] = []
        self.accepted = 0
        """Connections so far."""
        self.open = 0
        """Connections that are open now."""
        self.closing = threading.Event()
        self.gate = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.gate:
            self.accepted += 1
            self.open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self.gate:
            self.open -= 1

    def next_act(self, heard: Heard) -> Act:
        with self.gate:
            self.heard.append(heard)
            return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in mid-answer is part of several tests."""


class Handler(BaseHTTPRequestHandler):
    server: Service
    heard: Heard
    """What this one is to answer."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.heard = Heard(self.path, dict(self.headers), body)
        self.server.next_act(self.heard)(self)

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""


class KeepAliveHandler(Handler):
    """Leaves connections open for the next request."""

    protocol_version = "HTTP/1.1"
    # An answer is written in two parts, and the second would wait for the client's acknowledgement of the first.
    disable_nagle_algorithm = True


def answer(status: int = 200, body: bytes | Any = b"", **headers: str) -> Act:
    """A whole answer; a body that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def act(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return act


def embeddings(*vectors: list[float]) -> Act:
    """An answer with these vectors, last first: order is told by the index alone."""
    items = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return answer(body={"data": items[::-1]})


def hang(handler: Handler) -> None:
    """Say nothing until the test is over."""
    handler.server.closing.wait(30)


def drip(handler: Handler) -> None:
    """Begin an answer and send a byte of it now and then, without end."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b" ")


def flood(handler: Handler) -> None:
    """Send 100 MB."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" " * 1_000_000)


def say_nothing(handler: Handler) -> None:
    """Close the connection without an answer, as a program does that has just died."""
    handler.close_connection = True


def break_off(handler: Handler) -> None:
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')


@contextmanager
def serving(*acts: Act, keep_alive: bool = False) -> Iterator[Service]:
    """A service for the length of a block; without `keep_alive` it closes each connection after one answer."""
    service = Service(acts, KeepAliveHandler if keep_alive else Handler)
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.closing.set()
        service.shutdown()
        service.server_close()
        thread.join()


def endpoint(
    url: str, *, pauses: list[float] | None = None, clock: Clock | None = None, seed: int = 0, **options: Any
) -> Endpoint:
    """A client that notes its pauses instead of making them."""
    pause = (pauses if pauses is not None else []).append
    rng = np.random.default_rng(seed)
    options_ = EndpointOptions(url=url, **options)
    return Endpoint(options_, gate=ANYWHERE, clock=clock or SystemClock(), rng=rng, pause=pause)
