"""The guard: checks every request before any route, page or asset sees it.

- The route of a request, and the policy of its act.
- The guard.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.access import Access, Act, Policy
from assay.access.policies import PUBLIC
from assay.errors import AssayError
from assay.gateway.front import Arrival, Credentials, Front
from assay.gateway.headers import SAFE
from assay.gateway.logs import note_caller, note_request_id
from assay.gateway.quotas import BodyReader, replay_body
from assay.gateway.refusal import RequestRefused
from assay.server import errors, idempotency, limits
from assay.server.errors import ErrorPage
from assay.server.idempotency import KeyedWrite, RecordingSend, Repeats
from assay.server.routing import RouteCall, Straight, act_of, find_raw_kinds, find_shown_once, straight_of
from assay.server.security.browsers import (
    CSRF,
    CSRF_HEADER,
    LOGIN,
    Csrf,
    add_security_headers,
    check_fetch_site,
    read_csrf_token,
)
from assay.server.security.callers import Callers, HttpCaller, is_secure, keep_own_cookies, read_credentials
from assay.server.services import GRANT, REQUEST_ID, SIGNED_IN, ServerMetrics, Services
from assay.verbs.verb import ShownOnce

# --- The route of a request, and the policy of its act ---


class FoundRoute(NamedTuple):
    """A route that matches an address."""

    path: str
    """As it was declared, with its parameters."""
    act: Act | None
    """None: the route has no act, so it may not be called."""
    takes_method: bool
    straight: Straight | None = None
    """How it is called without FastAPI, if it can be."""
    shown_once: ShownOnce | None = None
    """The part of its answer that is shown once and never stored."""
    raw_kinds: tuple[str, ...] = ()
    """Content types whose bodies it reads by itself."""

    @property
    def policy(self) -> Policy | None:
        """The policy of its act."""
        return None if self.act is None else self.act.policy


class RouteTable:
    """Every route of the application with its policy. Made from the application's own list, so none is missing."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = list(routes)
        self._exact: Mapping[tuple[str, str], FoundRoute] = {
            (method, route.path): FoundRoute(
                route.path,
                act_of(route.endpoint),
                True,
                straight_of(route.endpoint),
                find_shown_once(route.endpoint),
                find_raw_kinds(route.endpoint),
            )
            for route in self._routes
            if isinstance(route, Route) and "{" not in route.path
            for method in route.methods or ()
        }

    def find(self, scope: Mapping[str, Any]) -> FoundRoute | None:
        """Return the route of a request; else one with the same address but another method; else None."""
        known = self._exact.get((scope["method"], scope["path"]))
        if known is not None:
            return known
        near: FoundRoute | None = None
        for route in self._routes:
            match, _ = route.matches(scope)  # type: ignore[arg-type] # Starlette asks for a mapping it may change
            if match is Match.FULL:
                return describe_route(route, takes_method=True)
            if match is Match.PARTIAL and near is None:
                near = describe_route(route, takes_method=False)
        return near


def describe_route(route: BaseRoute, *, takes_method: bool = True) -> FoundRoute:
    """Return the path, act and shown-once part of a route."""
    if isinstance(route, Mount):
        return FoundRoute(route.path, act_of(route.app), takes_method=takes_method)
    endpoint = getattr(route, "endpoint", None)
    path = getattr(route, "path", "?")
    return FoundRoute(path, act_of(endpoint), takes_method=takes_method, shown_once=find_shown_once(endpoint))


# --- The guard ---
#
# `gateway.front` asks first, as it does before MCP: is it meant for us, from one of our pages, who calls, how often,
#   how
# long is the body. In between and after: is there such a route (404), may they (403), is the body sound (415, 422), is
# a form ours (403), was it done before. A route without a policy is refused whoever asks. What goes wrong here and
# behind is told in the one shape that errors have, or to a browser on a page.

QUICKLY_READ = 65_536
"""Bytes of a body that are checked on the event loop: a millisecond or two."""


_log = logging.getLogger(__name__)


class Gates(NamedTuple):
    """The parts that the guard uses."""

    front: Front
    callers: Callers
    csrf: Csrf
    repeats: Repeats
    metrics: ServerMetrics
    error_page: ErrorPage | None = None
    """Makes pages of errors; None: the server has no pages."""


class _Admitted(NamedTuple):
    """A request that passed all checks."""

    scope: Scope
    receive: Receive
    sent: Any = None
    """The value of its body, if that is JSON."""
    named: KeyedWrite | None = None
    reader: BodyReader | None = None
    """Holds the memory of its body until it is released."""


class ApiGuard:
    """Checks requests and passes them on with the caller's grant."""

    def __init__(self, app: ASGIApp, table: RouteTable, services: Services, gates: Gates) -> None:
        self.app = app
        self.table = table
        self.services = services
        self.gates = gates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or run the application's start and end."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await _Answering(self, scope, receive, send).answer()
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    async def admit(self, scope: Scope, receive: Receive, found: FoundRoute | None) -> _Admitted:
        """Run all checks of a request; raise `RequestRefused` or an `AssayError` if one fails."""
        front = self.gates.front
        arrival = front.receive(scope)
        scope["headers"] = keep_own_cookies(scope["headers"], arrival.headers)
        public = found is not None and found.policy is PUBLIC
        shown = read_credentials(arrival.headers, secure=is_secure(scope, self.services.settings))
        caller = await front.identify(scope, arrival, shown, self._find_caller, public=public)
        if caller is not None and caller.ambient and not public:
            check_fetch_site(arrival.headers)
        grant = None if caller is None else caller.grant_from(arrival.peer.address)
        if grant is not None:
            note_caller(scope, tenant=grant.scope.tenant, principal=grant.scope.principal)
        signed_in = caller is not None and caller.signed_in
        scope.update({CSRF: partial(self.gates.csrf.token, _caller_secret(caller)), GRANT: grant, SIGNED_IN: signed_in})
        if found is None:
            path = ascii(scope["path"][:200])
            remedy = "Check the address." if errors.wants_page(scope) else "See /api/openapi.json."
            raise RequestRefused(404, "not_found", f"there is nothing at {path}", remedy=remedy)
        if found.takes_method:
            _check_access(caller, found)
        # Probes are not counted: a server whose store is away must still say that it lives.
        if caller is not None and not public:
            await front.spend(arrival, caller)
        return await self._with_body(scope, receive, arrival, caller, found)

    async def _find_caller(self, shown: Credentials) -> HttpCaller | None:
        find = partial(self.gates.callers.find, shown)
        # A token may have to be looked up in the store.
        return find() if shown.token is None else await self.services.run(find)

    async def _with_body(
        self, scope: Scope, receive: Receive, arrival: Arrival, caller: HttpCaller | None, found: FoundRoute
    ) -> _Admitted:
        if scope["method"] in SAFE:
            return _Admitted(scope, receive)
        # Callers of a public address are not authenticated, so their bodies must be small.
        reader = self.gates.front.body_reader(arrival, None if found.policy is PUBLIC else caller)
        try:
            body = await reader.read(arrival.headers, receive)
            admitted = _Admitted(scope, replay_body(body, receive), reader=reader)
            return await self._with_read_body(admitted, body, arrival, caller, found)
        except BaseException:
            reader.release()
            raise

    async def _with_read_body(
        self, admitted: _Admitted, body: bytes, arrival: Arrival, caller: HttpCaller | None, found: FoundRoute
    ) -> _Admitted:
        headers = arrival.headers
        scope, kind = admitted.scope, limits.kind_of(headers)
        if found.raw_kinds:
            # None of these kinds can be sent by a form of another site, so no CSRF token is needed.
            limits.check_raw_kind(kind, found.raw_kinds)
            return admitted
        check = partial(limits.check_body, kind, body, forms=not scope["path"].startswith("/api/"))
        # Checking a long body would block the event loop.
        admitted = admitted._replace(sent=check() if len(body) <= QUICKLY_READ else await self.services.run(check))
        if caller is None:
            return admitted
        if caller.ambient and kind != limits.JSON and not scope["path"].startswith("/api/"):
            self.gates.csrf.check(_caller_secret(caller), read_csrf_token(dict(headers).get(CSRF_HEADER), body))
        key = dict(headers).get(idempotency.HEADER)
        if key is None or found.policy is None or found.policy.reads_only:
            return admitted
        target = f"{scope['method']} {scope['path']}?".encode("utf-8", "surrogatepass") + scope["query_string"]
        write = idempotency.make_keyed_write(caller.grant.scope, key, target, body)
        return admitted._replace(named=write._replace(shown_once=found.shown_once))


class _Answering:
    """Answers one request."""

    def __init__(self, guard: ApiGuard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._gates = guard.gates
        self._id = secrets.token_hex(8)
        self._scope: Scope = {**scope, REQUEST_ID: self._id}
        note_request_id(scope, self._id)
        self._receive = receive
        self._send = send
        self._status = 0
        self._found = guard.table.find(scope)

    async def answer(self) -> None:
        """Answer the request, also after an unexpected error, and count it in the metrics."""
        metrics, services = self._gates.metrics, self._guard.services
        route = "other" if self._found is None else self._found.path
        began = services.clock.monotonic()
        metrics.under_way.inc()
        services.under_way[self._id] = f"{self._scope['method']} {route}"
        try:
            await self._answer_admitted()
        except asyncio.CancelledError:
            services.cut_off(self._id)
            raise
        except Exception:  # noqa: BLE001 - a bug in one route must not end the server
            await self._answer_failure()
        finally:
            services.under_way.pop(self._id, None)
            metrics.under_way.dec()
            metrics.seconds.labels(route).observe(services.clock.monotonic() - began)
            metrics.requests.labels(self._scope["method"][:10], route, str(self._status)).inc()
            self._log_problem(route)

    def _log_problem(self, route: str) -> None:
        """Log an answer that says the server failed; one that says it is busy or stopping is not worth a warning."""
        if self._status >= 500:
            level = logging.INFO if self._status == 503 else logging.WARNING
            _log.log(
                level, "request %s ended with %d: %s %s", self._id, self._status, self._scope["method"][:10], route
            )

    async def _answer_admitted(self) -> None:
        try:
            admitted = await self._guard.admit(self._scope, self._receive, self._found)
        except (AssayError, RequestRefused) as problem:
            self._gates.metrics.refused.labels(problem.code).inc()
            await self._send_response(self._refusal(problem))
            return
        try:
            if admitted.named is None:
                await self._pass_on(admitted, self.send)
            else:
                await self._once(admitted, admitted.named)
        finally:
            if admitted.reader is not None:
                admitted.reader.release()

    async def _pass_on(self, admitted: _Admitted, send: Send) -> None:
        """Let the application answer, or call the route directly if it can be called without FastAPI."""
        # With a query string FastAPI is needed: it knows which parameters the route has.
        straight = None if self._found is None or admitted.scope["query_string"] else self._found.straight
        body = None if straight is None else straight.read(admitted.sent)
        if straight is None or body is None:
            await self._guard.app(admitted.scope, admitted.receive, send)
            return
        call = RouteCall(self._guard.services, admitted.scope[GRANT], self._id)
        try:
            response = await straight.answer(call, body)
        except (AssayError, RequestRefused) as problem:
            response = errors.to_response(admitted.scope, problem, self._gates.error_page)
        await response(admitted.scope, admitted.receive, send)

    async def _once(self, admitted: _Admitted, named: KeyedWrite) -> None:
        """Answer a write with a key: do it now, or repeat the earlier answer."""
        services, repeats = self._guard.services, self._gates.repeats
        try:
            before = await services.run(partial(repeats.begin, named))
        except (AssayError, RequestRefused) as problem:
            await self._send_response(errors.to_json_response(problem, self._id))
            return
        if before is not None:
            again = Response(before.body, status_code=before.status, media_type="application/json")
            again.raw_headers.append(idempotency.REPLAYED)
            await self._send_response(again)
            return
        recorded = RecordingSend(self.send)
        try:
            await self._pass_on(admitted, recorded)
        finally:
            done = partial(repeats.finish, named, recorded.status, recorded.body) if recorded.complete else None
            await asyncio.shield(services.run(done or partial(repeats.release, named)))

    def _refusal(self, problem: AssayError | RequestRefused) -> Response:
        """Return the response to a refused request; a browser without a token is redirected to the sign-in page."""
        looks = self._scope["method"] == "GET" and errors.wants_page(self._scope)
        if looks and errors.status_of(problem) == 401:
            return RedirectResponse(f"{LOGIN}?next={quote(_address_of(self._scope))}", status_code=303)
        return errors.to_response(self._scope, problem, self._gates.error_page)

    async def _answer_failure(self) -> None:
        _log.exception("request %s failed", self._id)
        if not self._status:
            await self._send_response(errors.to_json_response(errors.internal(), self._id))

    async def _send_response(self, response: Response) -> None:
        await response(self._scope, self._receive, self.send)

    async def send(self, message: Message) -> None:
        """Pass a message of the application on, with the security headers."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = add_security_headers(dict(message), self._id)
            if self._guard.services.draining:
                # The client opens its next connection, which reaches another server.
                message["headers"] = [*message["headers"], (b"connection", b"close")]
        await self._send(message)


def _check_access(caller: HttpCaller | None, found: FoundRoute) -> None:
    """Refuse (403) a caller whose grant does not allow the route, and any call of a route without a policy."""
    if found.policy is None:
        raise RequestRefused(403, "no_policy", f"{found.path} has no policy", remedy="This is a bug; please report it.")
    if found.policy is PUBLIC or (caller is not None and caller.grant.allows(found.policy)):
        return
    needed = found.policy.access
    had = Access.READ if caller is None else caller.grant.access
    raise RequestRefused(
        403, "access_too_low", f"this needs {needed} access, and the token has {had}",
        remedy=f"Use a token made with `assay token create --scope {needed}`.",
    )  # fmt: skip


def _caller_secret(caller: HttpCaller | None) -> str | None:
    """Return the secret that CSRF tokens are made with; None: a user of this machine, or nobody who is known."""
    return None if caller is None else caller.token


def _address_of(scope: Scope) -> str:
    """Return path and query of a request, so that signing in leads to the very page that was asked for."""
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])
