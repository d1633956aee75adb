"""The protocol over streamable HTTP: a guard in front of everything, and the address it is served at.

The guard looks at every request, whatever its path and wherever the server is bound: the Host it was sent to, the
Origin it came from, the token, its size, and how often the caller asks. All of that is the same code as in front of
`assay serve` (`assay.gateway`). A session belongs to whoever began it, and each principal has a share of them.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import mcp_types as types
import uvicorn
from anyio import CapacityLimiter, to_thread
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.clock import Clock, SystemClock
from assay.errors import SettingError
from assay.gateway import serving
from assay.gateway.bodies import LONGEST_BODY, BodyReader, BodyRoom, replayed
from assay.gateway.framing import check_framing
from assay.gateway.hosts import Headers, Hosts, is_loopback
from assay.gateway.protocol import note_known
from assay.gateway.proxies import Peer, Proxies, key_of
from assay.gateway.rates import Failures, Rates
from assay.gateway.refusal import Refused
from assay.gateway.serving import listen
from assay.mcp.policies import Authoriser, Grant
from assay.mcp.server import GRANT
from assay.mcp.sessions import SESSIONS, Session, Sessions
from assay.settings import Settings

__all__ = ["LONGEST_BODY", "PATH", "Guard", "address_of", "guarded", "is_loopback", "listen", "need_token", "serve"]

PATH = "/mcp"
SHORTEST_TOKEN = 16
GOODBYE_S = 5
"""How long calls under way may go on after the server was told to stop."""
LOOKING_UP = 4
"""Tokens looked up in the store at the same time."""
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
OPENING = b'"initialize"'
"""What stands in the request that opens a session."""


class Gates(NamedTuple):
    """What the guard asks."""

    hosts: Hosts
    proxies: Proxies
    rates: Rates
    failures: Failures
    room: BodyRoom
    sessions: Sessions


class Guard:
    """Lets through what may come in, with the caller's grant."""

    def __init__(self, app: ASGIApp, authoriser: Authoriser, gates: Gates) -> None:
        self._app = app
        self._authoriser = authoriser
        self._gates = gates
        self._looking_up: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the application's own beginning and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            given = _decoded(scope["headers"])
            try:
                grant = await self._admit(scope, given)
                await self._pass_on({**scope, GRANT: grant, "user": _user(_owner(grant))}, given, receive, send)
            except Refused as problem:
                await _refuse(problem, send)

    async def _admit(self, scope: Scope, given: Headers) -> Grant:
        """What the caller may do; raises what a request is refused with."""
        check_framing(given)
        client = scope.get("client")
        peer = self._gates.proxies.peer(client[0] if client else None, scope["scheme"], given)
        self._gates.hosts.check(scope["method"], given, peer.scheme)
        token = _token(given)
        grant = await self._grant(token, peer)
        if grant is None:
            if token is not None:
                self._gates.failures.count(key_of(peer.address), token)
            raise Refused(
                401,
                "unknown_caller",
                "no token of this server was shown",
                remedy="Send the token of this server: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="assay"'},
            )
        note_known(scope)
        self._gates.rates.spend(token or key_of(peer.address))
        return grant._replace(scope=replace(grant.scope, via=f"mcp {peer.address}"))

    async def _grant(self, token: str | None, peer: Peer) -> Grant | None:
        if token is None:
            # Whoever came through a proxy does not sit at this machine.
            return None if peer.forwarded else self._authoriser.grant(None)
        if self._looking_up is None:
            self._looking_up = CapacityLimiter(LOOKING_UP)
        # It may have to be looked up in the store.
        return await to_thread.run_sync(self._authoriser.grant, token, limiter=self._looking_up)

    async def _pass_on(self, scope: Scope, given: Headers, receive: Receive, send: Send) -> None:
        """Read the body, and let the application answer."""
        owner = _owner(scope[GRANT])
        if scope["method"] != "POST":
            await self._in_session(scope, given, receive, send)
            return
        reader = BodyReader(self._gates.room, owner, LONGEST_BODY)
        try:
            body = await reader.read(given, receive)
            again = replayed(body, receive)
            if _first(given, SESSION) is None and _keeps_sessions(given) and OPENING in body:
                await self._open_session(scope, again, send)
            else:
                await self._in_session(scope, given, again, send)
        finally:
            reader.release()

    async def _in_session(self, scope: Scope, given: Headers, receive: Receive, send: Send) -> None:
        """A request of a session that is there, or of none."""
        session_id = _first(given, SESSION)
        session = None if session_id is None else self._gates.sessions.find(session_id, _owner(scope[GRANT]))
        if session is None:
            await self._app(scope, receive, send)
            return
        watched = _Watched(send)
        self._gates.sessions.begin(session)
        try:
            await self._app(scope, receive, watched.send)
        finally:
            self._gates.sessions.finish(session)
            if watched.status == 404 or (scope["method"] == "DELETE" and watched.status < 400):
                self._gates.sessions.forget(session)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request that asks for a new session."""

        async def end(session: Session) -> None:
            await self._end_session(session, scope)

        session = await self._gates.sessions.open(_owner(scope[GRANT]), end)
        watched = _Watched(send, session)
        try:
            await self._app(scope, receive, watched.send)
        finally:
            self._gates.sessions.finish(session)
            if session.session_id is None:
                self._gates.sessions.forget(session)

    async def _end_session(self, session: Session, scope: Scope) -> None:
        """End a session as its own client would: with DELETE."""
        headers = [(name, value) for name, value in scope["headers"] if name.lower() == b"host"]
        headers.append((SESSION.encode(), (session.session_id or "").encode()))
        asked = {**scope, "method": "DELETE", "headers": headers, "user": _user(session.owner)}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            """Nobody waits for the answer."""

        await self._app(asked, receive, send)


class _Watched:
    """What the application answers, on its way to the client."""

    def __init__(self, send: Send, opening: Session | None = None) -> None:
        self._send = send
        self._opening = opening
        """The session that the answer opens."""
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._opening is not None and self.status < 400:
                self._opening.session_id = _first(_decoded(message["headers"]), SESSION)
        await self._send(message)


def _decoded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]


def _first(headers: Headers, wanted: str) -> str | None:
    return next((value for name, value in headers if name == wanted), None)


def _keeps_sessions(headers: Headers) -> bool:
    """Whether the SDK answers this version of the protocol within a session; newer ones have none."""
    version = _first(headers, VERSION)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _token(headers: Headers) -> str | None:
    """The token a request shows; None: none. One that cannot be read is one that opens nothing."""
    shown = [value for name, value in headers if name == "authorization"]
    if not shown:
        return None
    kind, _, token = shown[0].partition(" ")
    return token.strip() if len(shown) == 1 and kind.lower() == "bearer" else ""


def _owner(grant: Grant) -> str:
    """Who holds a session."""
    return f"{grant.scope.tenant}/{grant.scope.identity}/{grant.access.value}"


def _user(owner: str) -> AuthenticatedUser:
    """Who the SDK takes the caller for: a session belongs to whoever began it."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))


async def _refuse(problem: Refused, send: Send) -> None:
    message = f"{problem.message}. {problem.remedy}"
    error = {"code": types.INVALID_REQUEST, "message": message, "data": problem.as_json()["error"]}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


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


def gates_of(settings: Settings, names: Collection[str], clock: Clock) -> Gates:
    """What a guard asks, as the settings say; it answers to this machine's own names and these."""
    return Gates(
        hosts=Hosts(names, settings.mcp_allowed_origins),
        proxies=Proxies(settings.server_trusted_proxies),
        rates=Rates(clock, settings.server_requests_per_minute),
        failures=Failures(clock),
        room=BodyRoom(),
        sessions=Sessions(clock, settings.mcp_sessions_per_principal),
    )


def guarded(
    server: Server[Any],
    authoriser: Authoriser,
    settings: Settings,
    *,
    names: Collection[str] = (),
    clock: Clock | None = None,
) -> Guard:
    """The application to serve: it answers to this machine's own names and those given."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST_BODY,
        # The guard decides who has a session; here those are counted too that are being opened or ended.
        max_sessions=2 * SESSIONS,
        # The guard has looked at Host and Origin before anything else did.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, authoriser, gates_of(settings, names, clock or SystemClock()))


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How the application is served."""
    return serving.configured(app, settings, goodbye_s=GOODBYE_S)


async def serve(app: ASGIApp, settings: Settings, at: socket.socket) -> None:
    """Serve until told to stop (Ctrl-C, SIGTERM)."""
    await uvicorn.Server(configured(app, settings)).serve(sockets=[at])


def address_of(at: socket.socket) -> str:
    """Where clients find it."""
    return serving.address_of(at) + PATH
