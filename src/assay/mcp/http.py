"""The protocol over streamable HTTP: a guard in front of everything, and the address it is served at.

The guard looks at every request, whatever its path and wherever the server is bound: the Host it was sent to, the
Origin it came from, its size, the token. A page that a browser shows can reach a port of this machine by a name that
it made point here; the Host it sends gives it away.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import mcp_types as types
import uvicorn
from anyio import to_thread
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.errors import SettingError
from assay.mcp.policies import Authoriser, Grant
from assay.mcp.server import GRANT

PATH = "/mcp"
LONGEST_BODY = 4 * 1024 * 1024
"""Bytes of one request."""
SESSIONS = 200
"""Clients that may be connected at once."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16
GOODBYE_S = 5
"""How long calls under way may go on after the server was told to stop."""


class _Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Guard:
    """Lets through what may come in, with the caller's grant."""

    def __init__(self, app: ASGIApp, authoriser: Authoriser, names: Collection[str]) -> None:
        self._app = app
        self._authoriser = authoriser
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            # A token may have to be looked up in the store.
            found = await to_thread.run_sync(self._checked, scope["headers"])
            if isinstance(found, _Refusal):
                await _refuse(found, send)
            else:
                await self._app({**scope, GRANT: found, "user": _user(found)}, receive, send)

    def _checked(self, headers: list[tuple[bytes, bytes]]) -> Grant | _Refusal:
        given = [(name.lower(), value.decode("latin-1")) for name, value in headers]
        hosts = [value for name, value in given if name == b"host"]
        if len(hosts) != 1 or _name(f"//{hosts[0]}") not in self._names:
            return _Refusal(421, f"this server does not answer to the Host {', '.join(hosts)!r}; see --allow-host")
        for origin in (value for name, value in given if name == b"origin"):
            if _name(origin) not in self._names:
                return _Refusal(403, f"pages of {origin!r} may not use this server; see --allow-host")
        if any(name == b"content-length" and _is_over(value) for name, value in given):
            return _Refusal(413, f"the request is over {LONGEST_BODY:,} bytes; send less at a time")
        grant = self._authoriser.grant(_token(given))
        if grant is None:
            asked = ((b"www-authenticate", b'Bearer realm="assay"'),)
            return _Refusal(401, "send the token of this server: Authorization: Bearer TOKEN", asked)
        return grant


def _name(address: str) -> str | None:
    """The host an address names, without its port; None for what is no address."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return None if parts.username is not None or not parts.hostname else parts.hostname.lower()


def _is_over(length: str) -> bool:
    return not length.isascii() or not length.isdigit() or int(length[:20]) > LONGEST_BODY


def _token(headers: list[tuple[bytes, str]]) -> str | None:
    shown = [value for name, value in headers if name == b"authorization"]
    kind, _, token = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
    return token.strip() if kind.lower() == "bearer" else None


def _user(grant: Grant) -> AuthenticatedUser:
    """Who the SDK takes the caller for: a session belongs to whoever began it."""
    caller = f"{grant.scope.tenant}/{grant.scope.principal}/{grant.access.value}"
    return AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[grant.access.value]))


async def _refuse(refusal: _Refusal, send: Send) -> None:
    error = {"code": types.INVALID_REQUEST, "message": refusal.message}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def need_token(host: str, token: str | None, *, stored: bool = False) -> None:
    """Refuse to serve beyond this machine without a token, or with one that can be guessed; `stored`: some are kept."""
    if token is None and not stored and not is_loopback(host):
        raise SettingError(
            f"{host} is reached from other machines, and there is no token",
            remedy="Make one with `assay token create`, or set ASSAY_MCP_TOKEN, or bind to 127.0.0.1.",
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SettingError(
            f"the token has {len(token)} characters, too few", remedy=f"Give ASSAY_MCP_TOKEN {SHORTEST_TOKEN} or more."
        )


def guarded(server: Server[Any], authoriser: Authoriser, *, host: str, also: Collection[str] = ()) -> Guard:
    """The application to serve: it answers to this machine's own names, the one it is bound to, and those given."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST_BODY,
        max_sessions=SESSIONS,
        # The guard has looked at Host and Origin before anything else did.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, authoriser, {*LOOPBACK, host, *also})


def listen(host: str, port: int) -> socket.socket:
    """A socket at that address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as problem:
        raise SettingError(f"cannot listen at {host}:{port}: {problem}", remedy="Give another --port.") from problem


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GOODBYE_S,
        lifespan="on",
        server_header=False,
    )


async def serve(app: ASGIApp, at: socket.socket) -> None:
    """Serve until told to stop (Ctrl-C, SIGTERM)."""
    await uvicorn.Server(configured(app)).serve(sockets=[at])


def address_of(at: socket.socket) -> str:
    """Where clients find it."""
    host, port = at.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
