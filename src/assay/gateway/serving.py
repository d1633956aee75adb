"""Sockets, and how uvicorn is set up around an application."""

from __future__ import annotations

import asyncio
import socket
from importlib.util import find_spec

import uvicorn
from starlette.types import ASGIApp

from assay.clock import SystemClock
from assay.errors import SettingError
from assay.gateway.connections import ConnectionLimits, Connections, raise_file_limit, within_files
from assay.gateway.headers import Proxies, is_loopback
from assay.gateway.protocol import LONGEST_HEAD, H11Bounded
from assay.settings import Settings

BACKLOG = 4_096
"""Connections that the kernel queues until they are accepted."""
SHORTEST_TOKEN = 16
"""Fewest characters of a token given in an environment variable."""


def limits_of(settings: Settings) -> ConnectionLimits:
    """Return the limits of connections from the settings."""
    return ConnectionLimits(
        connections=settings.server_connections,
        per_address=settings.server_connections_per_address,
        head_s=settings.server_head_s,
        body_s=settings.server_body_s,
        idle_s=settings.server_idle_s,
        stalled_s=settings.server_stalled_s,
    )


def listen(host: str, port: int, *, beside_others: bool = False) -> socket.socket:
    """Open a socket at an address; port 0 takes any free one. `beside_others`: allow several at one address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        at = socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=beside_others)
    except (OSError, OverflowError) as problem:
        raise SettingError(f"cannot listen at {host}:{port}: {problem}", remedy="Give another --port.") from problem
    # Connections inherit this option. Without it the end of an answer waits until its beginning is acknowledged: 40 ms.
    at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return at


def has_quick_parser() -> bool:
    """Whether `httptools` is installed."""
    return find_spec("httptools") is not None


def protocol_for(connections: Connections, *, quick: bool) -> type[asyncio.Protocol]:
    """The protocol that uvicorn makes for each connection, with the limits of `connections`."""
    parser = _quick_parser() if quick else H11Bounded

    class Served(parser):  # type: ignore[misc, valid-type] # one of two classes with the same methods
        all_connections = connections

    return Served


def _quick_parser() -> type[asyncio.Protocol]:
    from assay.gateway.quick_protocol import HttpToolsBounded  # noqa: PLC0415 - where httptools is installed

    return HttpToolsBounded


def make_config(app: ASGIApp, settings: Settings, *, goodbye_s: int, quick: bool | None = None) -> uvicorn.Config:
    """Return uvicorn's configuration for an application.

    `goodbye_s`: seconds that open requests may take after the server is stopped. `quick`: whether HTTP is parsed by
    `httptools`; None: if it is installed.
    """
    limits = within_files(limits_of(settings), raise_file_limit())
    connections = Connections(limits, SystemClock(), Proxies(settings.server_trusted_proxies))
    return uvicorn.Config(
        app,
        # uvicorn would set up handlers of its own; `gateway.logs` has those of a server.
        log_config=None,
        log_level=settings.server_log_level,
        access_log=False,
        timeout_graceful_shutdown=goodbye_s,
        lifespan="on",
        server_header=False,
        # The gateway itself decides which proxies to trust (`headers.Proxies`).
        proxy_headers=False,
        # Websockets would bypass the limits of connections, and no route uses them.
        ws="none",
        http=protocol_for(connections, quick=has_quick_parser() if quick is None else quick),
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=BACKLOG,
        timeout_keep_alive=limits.idle_s,  # type: ignore[arg-type] # a float does as well
    )


def need_token(host: str, token: str | None = None, *, stored: bool = False, variable: str = "") -> None:
    """Refuse to serve other machines without any token, or with a token that can be guessed.

    `stored`: whether the store holds tokens. `token` comes from the environment variable `variable`.
    """
    if token is None and not stored and not is_loopback(host):
        or_set = f", or set {variable}" if variable else ""
        raise SettingError(
            f"{host} can be reached from other machines, and there is no token",
            remedy=f"Make one with `assay token create --scope admin`{or_set}, or bind to 127.0.0.1.",
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SettingError(
            f"the token has {len(token)} characters, too few", remedy=f"Give {variable} {SHORTEST_TOKEN} or more."
        )


def address_of(at: socket.socket) -> str:
    """Return the URL of a socket."""
    host, port = at.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
