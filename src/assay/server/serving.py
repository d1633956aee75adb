"""The socket, the server around the application, and what has to be so before either is made."""

from __future__ import annotations

import asyncio
import socket
import sys
from importlib.util import find_spec

import anyio
import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import HTTPProtocolType

from assay.errors import SettingError
from assay.server.limits import LONGEST_HEAD
from assay.server.security.hosts import is_loopback

GOODBYE_S = 10
"""How long requests under way may go on after the server was told to stop."""


def need_token(host: str, *, stored: bool) -> None:
    """Refuse to serve beyond this machine when nobody could come in."""
    if not stored and not is_loopback(host):
        raise SettingError(
            f"{host} is reached from other machines, and there is no token",
            remedy="Make one with `assay token create --scope admin`, or bind to 127.0.0.1.",
        )


def listen(host: str, port: int, *, beside_others: bool = False) -> socket.socket:
    """A socket at that address; port 0 takes any that is free. `beside_others`: several may be at one address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        at = socket.create_server((host, port), family=family, backlog=1024, reuse_port=beside_others)
    except (OSError, OverflowError) as problem:
        raise SettingError(f"cannot listen at {host}:{port}: {problem}", remedy="Give another --port.") from problem
    # Connections inherit it. Without, the end of an answer waits until its beginning was acknowledged: 40 ms.
    at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return at


def listen_together(host: str, port: int, count: int) -> list[socket.socket]:
    """A socket for each of so many processes, all at one address.

    On Linux each has its own, and the kernel deals connections out among them: of one that they share, the process that
    wakes first takes every connection that waits, and the others none.
    """
    alone = listen(host, port)
    if count == 1 or sys.platform != "linux":
        return [alone] * count
    with alone:
        # Nobody else was there: beside others, a second server at the same address would not be noticed.
        port = alone.getsockname()[1]
    return [listen(host, port, beside_others=True) for _ in range(count)]


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_S,
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        http=_protocol(),
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )


def _protocol() -> type[asyncio.Protocol] | HTTPProtocolType:
    """The quick parser where there is one (CPython), bounded; the other has a bound of its own."""
    if find_spec("httptools") is None:
        return "h11"
    from assay.server.protocol import BoundedHttp  # noqa: PLC0415 - where there is one

    return BoundedHttp


def run(app: ASGIApp, at: socket.socket) -> None:
    """Serve until told to stop (Ctrl-C, SIGTERM), on the quicker event loop where there is one."""
    anyio.run(serve, app, at, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def serve(app: ASGIApp, at: socket.socket) -> None:
    """The same on a loop that runs already."""
    await uvicorn.Server(configured(app)).serve(sockets=[at])


def address_of(at: socket.socket) -> str:
    """Where browsers find it."""
    host, port = at.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
