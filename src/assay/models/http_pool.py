"""Pooled connections to services, with one deadline for each whole call. Only this module opens connections.

`HttpPool.send` sends one request and reads the whole answer. Between calls connections stay open for a short time, so
that the next call to the same service needs no new one. What holds for every call:

- It ends when its time is over, even if the other side hangs or sends a byte now and then: each read and write has
  the time that is left of the whole.
- An answer is read up to a limit, and as it was sent: compressed answers are not unpacked.
- Redirects are not followed, cookies are not kept, and no proxy, password file or other setting of the environment
  is used. Certificates are checked against the trust store of the system.
- The gatekeeper is called first: an address that it refuses is never looked up.
- Nothing is sent twice. Whether to try again is decided by `models.endpoint`, which counts what was sent.

`h11` reads and writes HTTP; sockets, deadlines and the pool are here. Threads may share a pool. A process that was
forked starts with none of its parent's connections.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from assay.clock import Clock, SystemClock
from assay.network import Gatekeeper

IDLE_S = 1.5
"""How long a connection stays open unused. Servers close theirs after 2 s (gunicorn), 5 s (uvicorn, Node.js, llama.cpp)
or more, so that a request is hardly ever sent over a connection which the server is just closing."""
MOST_IDLE = 32
"""How many connections are kept open at most, to all services together."""
_PIECE = 16_384
"""Bytes written at once; the clock is read before each piece."""
_READ = 65_536
"""Bytes read at once."""
_LONGEST_HEAD = 100 * 1024
"""Bytes of the headers of an answer."""


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
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        """Open and unused, the one that was used last at the end."""
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._trust: ssl.SSLContext | None = None
        """Read when first needed: it takes 20 ms, which a service without TLS does not need."""
        # Closes what nobody closed when the pool is let go or the program ends.
        weakref.finalize(self, _close_all, self._idle)
        _ALL.add(self)

    def send(self, request: HttpRequest, *, gate: Gatekeeper, within_s: float, max_bytes: int) -> HttpAnswer:
        """Send a request and return the complete answer.

        Raises `OutOfTime`, `BrokenOff`, `TooLarge` or `Unsendable`, and `AddressRefused` where the gatekeeper refuses.
        """
        gate.check(request.origin)
        left = _TimeLeft(self._clock, self._clock.monotonic() + within_s)
        try:
            server = _parse_origin(request.origin)
            head = _make_head(request, server)
        except (h11.LocalProtocolError, UnicodeError):
            raise Unsendable from None
        connection = self._take(server, left)
        try:
            answer = connection.exchange(head, request.body or b"", left, max_bytes)
        except TimeoutError as problem:
            raise OutOfTime from problem
        except (OSError, h11.RemoteProtocolError) as problem:
            raise BrokenOff(_describe(problem), sent=True) from problem
        else:
            self._give_back(connection)
            return answer
        finally:
            connection.close_unless_idle()

    def close(self) -> None:
        """Close all connections. A later call opens new ones."""
        with self._lock:
            _close_all(self._idle)

    def forget_inherited(self) -> None:
        """Let go of the connections of the process that this one was forked from; they stay open there."""
        # New, since a thread of the parent may have held it at the fork.
        self._lock = threading.Lock()
        for connection in list(self._open):
            connection.close()
        self._idle.clear()

    def _take(self, server: _Server, left: _TimeLeft) -> _Connection:
        """Return an unused connection to a server that still stands, or a new one."""
        now = self._clock.monotonic()
        with self._lock:
            for connection in [one for one in self._idle if one.is_old(now)]:
                self._idle.remove(connection)
                connection.close()
            for connection in reversed(self._idle):
                if connection.server == server:
                    self._idle.remove(connection)
                    connection.is_idle = False
                    return connection
        try:
            opened = _connect(server, left, self._read_trust)
        except TimeoutError as problem:
            raise OutOfTime from problem
        except OSError as problem:
            raise BrokenOff(_describe(problem), sent=False) from problem
        connection = _Connection(server, opened)
        self._open.add(connection)
        return connection

    def _give_back(self, connection: _Connection) -> None:
        if not connection.begin_anew():
            return
        with self._lock:
            connection.is_idle = True
            connection.idle_since = self._clock.monotonic()
            self._idle.append(connection)
            while len(self._idle) > MOST_IDLE:
                self._idle.pop(0).close()

    def _read_trust(self) -> ssl.SSLContext:
        with self._lock:
            if self._trust is None:
                self._trust = ssl.create_default_context()
            return self._trust


def _close_all(connections: list[_Connection]) -> None:
    while connections:
        connections.pop().close()


def _describe(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__)[:200]


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


def _make_head(request: HttpRequest, server: _Server) -> h11.Request:
    headers = [(b"Host", server.header), *_encode_headers(request.headers)]
    if request.body is not None:
        headers.append((b"Content-Length", str(len(request.body)).encode("ascii")))
    return h11.Request(method=request.method.encode("ascii"), target=request.target.encode("ascii"), headers=headers)


def _encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    # Blanks around a value are not part of it, and h11 refuses them.
    return [(name.encode("ascii"), value.strip(" \t").encode("latin-1")) for name, value in headers.items()]


class _TimeLeft:
    """The time until a call must have ended."""

    def __init__(self, clock: Clock, ends: float) -> None:
        self._clock = clock
        self._ends = ends

    def seconds(self) -> float:
        """Return what is left; raises `TimeoutError` when nothing is."""
        left = self._ends - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _connect(server: _Server, left: _TimeLeft, read_trust: Callable[[], ssl.SSLContext]) -> socket.socket:
    default = 443 if server.scheme == "https" else 80
    opened = socket.create_connection((server.host, server.port or default), timeout=left.seconds())
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server.scheme != "https":
            return opened
        opened.settimeout(left.seconds())
        return read_trust().wrap_socket(opened, server_hostname=server.host)
    except BaseException:
        opened.close()
        raise


class _Connection:
    """One open connection, used by one call at a time."""

    def __init__(self, server: _Server, opened: socket.socket) -> None:
        self.server = server
        self.is_idle = False
        self.idle_since = 0.0
        self._socket = opened
        self._http = h11.Connection(our_role=h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)

    def is_old(self, now: float) -> bool:
        """Whether it was unused for too long, or the server has closed it or sent what nobody asked for."""
        if now - self.idle_since > IDLE_S:
            return True
        looking = select.poll()
        looking.register(self._socket, select.POLLIN)
        return bool(looking.poll(0))

    def exchange(self, head: h11.Request, body: bytes, left: _TimeLeft, max_bytes: int) -> HttpAnswer:
        """Send a request and read the complete answer."""
        try:
            self._write(head, body, left)
        except TimeoutError:
            raise
        except OSError:
            # The server may have refused in the middle of the request: what it says of it is read below.
            pass
        response = self._next(left)
        while isinstance(response, h11.InformationalResponse):
            response = self._next(left)
        if not isinstance(response, h11.Response):
            raise h11.RemoteProtocolError("the service closed the connection without an answer")
        return HttpAnswer(response.status_code, _decode_headers(response), self._read_body(left, max_bytes))

    def begin_anew(self) -> bool:
        """Make ready for the next request; return whether both sides are done and neither wants to close."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def close_unless_idle(self) -> None:
        """Close it if it was not given back."""
        if not self.is_idle:
            self.close()

    def close(self) -> None:
        """Close this process's end."""
        self._socket.close()

    def _write(self, head: h11.Request, body: bytes, left: _TimeLeft) -> None:
        """Write everything; head and body of a small request leave together."""
        parts = [self._http.send(head) or b""]
        if body:
            parts.append(self._http.send(h11.Data(data=body)) or b"")
        parts.append(self._http.send(h11.EndOfMessage()) or b"")
        unsent = b"".join(parts)
        for start in range(0, len(unsent), _PIECE):
            self._socket.settimeout(left.seconds())
            self._socket.sendall(unsent[start : start + _PIECE])

    def _next(self, left: _TimeLeft) -> object:
        """Return the next event of the answer."""
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._socket.settimeout(left.seconds())
            self._http.receive_data(self._socket.recv(_READ))

    def _read_body(self, left: _TimeLeft, max_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while isinstance(event := self._next(left), h11.Data):
            size += len(event.data)
            if size > max_bytes:
                raise TooLarge
            parts.append(bytes(event.data))
        return b"".join(parts)


def _decode_headers(response: h11.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


SHARED_POOL = HttpPool()
"""For objects without a `close` of their own, such as models and embedders; closed when the program ends."""


def _forget_inherited() -> None:
    for pool in list(_ALL):
        pool.forget_inherited()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_inherited)
