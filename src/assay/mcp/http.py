"""The protocol over streamable HTTP, with a guard that checks every request.

Host, Origin, token, size and rate are checked by `gateway.front`, as for the API. Rules of this transport: refusals are
JSON-RPC errors, a session can only be used by the principal that opened it, and each principal may hold a limited
number of sessions. It is served by itself (`assay mcp --http`) or within the server of the API (`assay serve --mcp`),
with the API's front.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
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

from assay.access import Authoriser, Grant
from assay.clock import Clock, SystemClock
from assay.gateway import serving
from assay.gateway.front import Arrival, Credentials, Front, bearer_token, decode_headers
from assay.gateway.headers import Headers, is_loopback
from assay.gateway.logs import note_caller
from assay.gateway.quotas import LONGEST_BODY, SharedCounts, replay_body
from assay.gateway.refusal import RequestRefused
from assay.gateway.serving import listen, need_token
from assay.mcp.server import GRANT
from assay.mcp.sessions import SESSIONS, McpSessions, Session
from assay.settings import Settings
from assay.storage import Store

__all__ = [
    "LONGEST_BODY",
    "PATH",
    "McpGuard",
    "address_of",
    "build_guard",
    "is_loopback",
    "listen",
    "need_token",
    "serve",
]

PATH = "/mcp"
GOODBYE_S = 5
"""Seconds that open calls may take after the server is stopped."""
LOOKING_UP = 4
"""Tokens looked up in the store at the same time."""
SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
OPENING = b'"initialize"'
"""Bytes that occur in the request that opens a session."""


class _Caller(NamedTuple):
    """An authenticated caller."""

    grant: Grant
    token: str | None


class McpGuard:
    """Checks requests and passes them on with the caller's grant."""

    path = PATH

    def __init__(
        self,
        app: ASGIApp,
        authoriser: Authoriser,
        front: Front,
        sessions: McpSessions,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
    ) -> None:
        self._app = app
        self._authoriser = authoriser
        self._front = front
        self._sessions = sessions
        self._looking_up: CapacityLimiter | None = None
        self.lifespan = lifespan
        """Context to enter while requests are served, where another server runs the application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or run the application's start and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            scope = dict(scope)
            try:
                arrival, caller = await self._admit(scope)
                await self._pass_on(scope, arrival, caller, receive, send)
            except RequestRefused as problem:
                await _refuse(problem, send)

    async def _admit(self, scope: Scope) -> tuple[Arrival, _Caller]:
        """Return the caller, and put the grant into the scope; raise `RequestRefused` if a check fails."""
        arrival = self._front.receive(scope)
        shown = bearer_token(arrival.headers) or Credentials(None)
        caller = await self._front.identify(scope, arrival, shown, self._find_caller)
        assert caller is not None, "only public addresses have callers that are not known"  # noqa: S101
        await self._front.spend(arrival, caller)
        grant = caller.grant._replace(scope=replace(caller.grant.scope, via=f"mcp {arrival.peer.address}"))
        note_caller(scope, tenant=grant.scope.tenant, principal=grant.scope.principal)
        scope.update({GRANT: grant, "user": _user(_owner(grant))})
        return arrival, caller

    async def _find_caller(self, shown: Credentials) -> _Caller | None:
        if self._looking_up is None:
            self._looking_up = CapacityLimiter(LOOKING_UP)
        if shown.token is None:
            grant = self._authoriser.grant(None)
        else:
            # It may have to be looked up in the store.
            grant = await to_thread.run_sync(self._authoriser.grant, shown.token, limiter=self._looking_up)
        return None if grant is None else _Caller(grant, shown.token)

    async def _pass_on(self, scope: Scope, arrival: Arrival, caller: _Caller, receive: Receive, send: Send) -> None:
        """Read the body and let the application answer."""
        headers = arrival.headers
        if scope["method"] != "POST":
            await self._in_session(scope, headers, receive, send)
            return
        reader = self._front.body_reader(arrival, caller)
        try:
            body = await reader.read(headers, receive)
            again = replay_body(body, receive)
            if _first(headers, SESSION) is None and _keeps_sessions(headers) and OPENING in body:
                await self._open_session(scope, again, send)
            else:
                await self._in_session(scope, headers, again, send)
        finally:
            reader.release()

    async def _in_session(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer a request of an open session, or one without a session."""
        session_id = _first(headers, SESSION)
        session = None if session_id is None else self._sessions.find(session_id, _owner(scope[GRANT]))
        if session is None:
            await self._app(scope, receive, send)
            return
        watched = _Watched(send)
        self._sessions.begin(session)
        try:
            await self._app(scope, receive, watched.send)
        finally:
            self._sessions.finish(session)
            if watched.status == 404 or (scope["method"] == "DELETE" and watched.status < 400):
                self._sessions.forget(session)

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that opens a session."""

        async def end(session: Session) -> None:
            await self._end_session(session, scope)

        session = await self._sessions.open(_owner(scope[GRANT]), end)
        watched = _Watched(send, session)
        try:
            await self._app(scope, receive, watched.send)
        finally:
            self._sessions.finish(session)
            if session.session_id is None:
                self._sessions.forget(session)

    async def _end_session(self, session: Session, scope: Scope) -> None:
        """End a session as its own client would: with DELETE."""
        headers = [(name, value) for name, value in scope["headers"] if name.lower() == b"host"]
        headers.append((SESSION.encode(), (session.session_id or "").encode()))
        request = {**scope, "method": "DELETE", "headers": headers, "user": _user(session.owner)}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            """Drop the answer."""

        await self._app(request, receive, send)


class _Watched:
    """Passes the application's answer on, and notes its status and session id."""

    def __init__(self, send: Send, opening: Session | None = None) -> None:
        self._send = send
        self._opening = opening
        """The session that the answer opens, if it opens one."""
        self.status = 0

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._opening is not None and self.status < 400:
                self._opening.session_id = _first(decode_headers(message["headers"]), SESSION)
        await self._send(message)


def _first(headers: Headers, wanted: str) -> str | None:
    return next((value for name, value in headers if name == wanted), None)


def _keeps_sessions(headers: Headers) -> bool:
    """Whether this version of the protocol uses sessions; newer ones have none."""
    version = _first(headers, VERSION)
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _owner(grant: Grant) -> str:
    """Return the name of the principal that holds a session."""
    return f"{grant.scope.tenant}/{grant.scope.identity}/{grant.access.value}"


def _user(owner: str) -> AuthenticatedUser:
    """Return the user that the SDK compares, so that a session is used only by the principal that opened it."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))


async def _refuse(problem: RequestRefused, send: Send) -> None:
    message = f"{problem.message}. {problem.remedy}"
    error = {"code": types.INVALID_REQUEST, "message": message, "data": problem.as_json()["error"]}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def front_of(settings: Settings, names: Collection[str], clock: Clock, counts: SharedCounts | None = None) -> Front:
    """Return the checks of a server that serves MCP alone, under this machine's own names and these."""
    return Front.of(settings, names, clock, origins=settings.mcp_allowed_origins, counts=counts)


def counts_of(store: Store) -> SharedCounts | None:
    """Return where all servers of a store count requests together; None: each counts by itself."""
    return SharedCounts(store.take_from_limit, to_thread.run_sync) if store.is_shared else None


def build_guard(
    server: Server[Any],
    authoriser: Authoriser,
    settings: Settings,
    *,
    names: Collection[str] = (),
    clock: Clock | None = None,
    front: Front | None = None,
    counts: SharedCounts | None = None,
) -> McpGuard:
    """Build the application to serve, under this machine's own names and those given.

    `front`: the checks of the server it is mounted in; None: checks of its own, with requests counted in `counts`.
    """
    clock = clock or SystemClock()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST_BODY,
        # The guard limits sessions; the SDK also counts those being opened or ended, so its limit is higher.
        max_sessions=2 * SESSIONS,
        # The guard has checked Host and Origin before.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    if front is None:
        front = front_of(settings, names, clock, counts)
    else:
        front = front.for_origins(names, settings.mcp_allowed_origins)
    sessions = McpSessions(clock, settings.mcp_sessions_per_principal)
    return McpGuard(app, authoriser, front, sessions, partial(app.router.lifespan_context, app))


def make_server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's configuration for the application."""
    return serving.make_config(app, settings, goodbye_s=GOODBYE_S)


async def serve(app: ASGIApp, settings: Settings, at: socket.socket) -> None:
    """Serve until stopped (Ctrl-C, SIGTERM)."""
    await uvicorn.Server(make_server_config(app, settings)).serve(sockets=[at])


def address_of(at: socket.socket) -> str:
    """Return the URL of the protocol at a socket."""
    return serving.address_of(at) + PATH
