"""Pooled connections to services, with one deadline for each whole call. Only this module uses `httpcore`.

`HttpPool.send` sends one request and reads the whole answer. Between calls connections stay open for a short time, so
that the next call to the same service needs no new one. What holds for every call:

- It ends when its time is over, even if the other side hangs. `httpcore` applies a timeout to each read and write by
  itself, so that a service which sends a byte now and then is never stopped; `_DeadlineStream` stops it.
- An answer is read up to a limit, and as it was sent: compressed answers are not unpacked.
- Redirects are not followed, cookies are not kept, and no proxy, password file or other setting of the environment
  is used: `httpcore` supports none of them. Certificates are checked against the trust store of the system.
- The gatekeeper is called first: an address that it refuses is never looked up.
- Nothing is sent twice. Whether to try again is decided by `models.endpoint`, which counts what was sent.

Threads may share a pool. A process that was forked starts with none of its parent's connections.
"""

from __future__ import annotations

import os
import ssl
import threading
import weakref
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpcore

from assay.clock import Clock, SystemClock
from assay.network import Gatekeeper

IDLE_S = 1.5
"""How long a connection stays open unused. Servers close theirs after 2 s (gunicorn), 5 s (uvicorn, Node.js, llama.cpp)
or more, so that a request is hardly ever sent over a connection which the server is just closing."""
MOST_IDLE = 32
"""How many connections are kept open at most, to all services together."""
_PIECE = 16_384
"""Bytes written at once; the clock is read before each piece."""


class HttpRequest(NamedTuple):
    """One request to a service."""

    method: str
    origin: str
    """Scheme, host and port, such as `https://api.example.com`."""
    target: str
    """Path and query string; sent as it is, so that `..` and `%2F` in an id do not lead elsewhere."""
    headers: Mapping[str, str]
    body: bytes | None


class HttpAnswer(NamedTuple):
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case; values of a name that was sent twice have a comma between them."""
    body: bytes


class OutOfTime(Exception):
    """The time was over before the answer was complete."""


class BrokenOff(Exception):
    """No connection could be made, or it ended before the answer was complete."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.sent = sent
        """Whether the service may have received the request."""


class TooLarge(Exception):
    """The answer is larger than allowed."""


class Unsendable(Exception):
    """The request has characters that HTTP does not allow. The message is empty: they may be part of a key."""


_ALL: weakref.WeakSet[HttpPool] = weakref.WeakSet()


class HttpPool:
    """Open connections to any number of services, made when first needed."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._backend = _DeadlineBackend(self._clock)
        self._lock = threading.Lock()
        self._connections: dict[str, httpcore.ConnectionPool] = {}
        """By scheme: reading the trust store takes 20 ms, which a service without TLS does not need."""
        # Closes what nobody closed when the pool is let go or the program ends.
        weakref.finalize(self, _close_connections, self._connections)
        _ALL.add(self)

    def send(self, request: HttpRequest, *, gate: Gatekeeper, within_s: float, max_bytes: int) -> HttpAnswer:
        """Send a request and return the complete answer.

        Raises `OutOfTime`, `BrokenOff`, `TooLarge` or `Unsendable`, and `AddressRefused` where the gatekeeper refuses.
        """
        gate.check(request.origin)
        ends = self._clock.monotonic() + within_s
        try:
            server = _parse_origin(request.origin)
            with self._open_pool(server.scheme).stream(
                request.method,
                httpcore.URL(scheme=server.scheme, host=server.host, port=server.port, target=request.target),
                headers=[(b"Host", server.header), *_encode_headers(request.headers)],
                content=request.body,
                extensions={"timeout": dict.fromkeys(("connect", "read", "write"), ends)},
            ) as response:
                return HttpAnswer(response.status, _decode_headers(response), _read_body(response, max_bytes))
        except httpcore.TimeoutException as problem:
            raise OutOfTime from problem
        except (httpcore.LocalProtocolError, UnicodeError):
            raise Unsendable from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as problem:
            reason = (str(problem) or type(problem).__name__)[:200]
            raise BrokenOff(reason, sent=not isinstance(problem, httpcore.ConnectError)) from problem

    def close(self) -> None:
        """Close all connections. A later call opens new ones."""
        with self._lock:
            _close_connections(self._connections)

    def forget_inherited(self) -> None:
        """Let go of the connections of the process that this one was forked from; they stay open there."""
        # New, since a thread of the parent may have held it at the fork; so for the locks inside the connection pools,
        # which is why those are not closed as usual.
        self._lock = threading.Lock()
        self._backend.close_streams()
        self._connections.clear()

    def _open_pool(self, scheme: str) -> httpcore.ConnectionPool:
        with self._lock:
            if scheme not in self._connections:
                self._connections[scheme] = httpcore.ConnectionPool(
                    ssl_context=ssl.create_default_context() if scheme == "https" else None,
                    max_connections=None,
                    max_keepalive_connections=MOST_IDLE,
                    keepalive_expiry=IDLE_S,
                    network_backend=self._backend,
                )
            return self._connections[scheme]


def _close_connections(connections: dict[str, httpcore.ConnectionPool]) -> None:
    while connections:
        connections.popitem()[1].close()


class _Server(NamedTuple):
    """Where a request goes."""

    scheme: str
    host: str
    port: int | None
    header: bytes
    """The value of `Host`."""


@lru_cache(maxsize=64)
def _parse_origin(origin: str) -> _Server:
    parts = urlsplit(origin)
    host = _encode_host(parts.hostname or "")
    shown = f"[{host}]" if ":" in host else host
    return _Server(parts.scheme, host, parts.port, (f"{shown}:{parts.port}" if parts.port else shown).encode("ascii"))


def _encode_host(host: str) -> str:
    """Return the ASCII form of a host name; raises `UnicodeError` where that would be the name of another host."""
    if host.isascii():
        return host
    encoded = host.encode("idna")
    # The codec of Python writes "fass" for "faß", which is somebody else's name by the rules of today.
    if encoded.decode("idna") != host:
        raise UnicodeError
    return encoded.decode("ascii")


def _encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    # Blanks around a value are not part of it, and h11 refuses them.
    return [(name.encode("ascii"), value.strip(" \t").encode("latin-1")) for name, value in headers.items()]


def _decode_headers(response: httpcore.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _read_body(response: httpcore.Response, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_stream():
        size += len(part)
        if size > max_bytes:
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


class _DeadlineBackend(httpcore.SyncBackend):
    """Opens connections with a deadline, and keeps a list of those that are open."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._streams: weakref.WeakSet[_DeadlineStream] = weakref.WeakSet()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = self.seconds_left(timeout, httpcore.ConnectTimeout)
        return self.watch(super().connect_tcp(host, port, left, local_address, socket_options))

    def watch(self, opened: httpcore.NetworkStream) -> _DeadlineStream:
        """Give a new connection its deadline."""
        stream = _DeadlineStream(opened, self)
        self._streams.add(stream)
        return stream

    def seconds_left(self, ends: float | None, late: type[httpcore.TimeoutException]) -> float:
        """Return the seconds until a moment, or raise `late` when it has passed; None has always passed."""
        left = 0.0 if ends is None else ends - self._clock.monotonic()
        if left <= 0:
            raise late
        return left

    def close_streams(self) -> None:
        """Close this process's ends of all connections."""
        for stream in list(self._streams):
            stream.close()


class _DeadlineStream(httpcore.NetworkStream):
    """A connection whose timeouts are moments of the monotonic clock, not durations.

    httpcore hands a timeout unchanged to every read and write of a call. A duration would begin anew with each byte of
    a service that drips; a moment does not.
    """

    def __init__(self, inner: httpcore.NetworkStream, backend: _DeadlineBackend) -> None:
        self._inner = inner
        self._backend = backend
        self._unsent = bytearray()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._flush(timeout)
        return self._inner.read(max_bytes, self._backend.seconds_left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write, or wait for more until the answer is read: head and body of a small request leave together."""
        self._unsent += buffer
        if len(self._unsent) >= _PIECE:
            self._flush(timeout)

    def _flush(self, timeout: float | None) -> None:
        unsent, self._unsent = bytes(self._unsent), bytearray()
        for start in range(0, len(unsent), _PIECE):
            left = self._backend.seconds_left(timeout, httpcore.WriteTimeout)
            self._inner.write(unsent[start : start + _PIECE], left)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._backend.seconds_left(timeout, httpcore.ConnectTimeout)
        return self._backend.watch(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


SHARED_POOL = HttpPool()
"""For objects without a `close` of their own, such as models and embedders; closed when the program ends."""


def _forget_inherited() -> None:
    for pool in list(_ALL):
        pool.forget_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_inherited)
