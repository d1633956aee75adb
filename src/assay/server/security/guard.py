"""The one way in: every request is looked at here before any route, page or asset sees it.

In turn: is it meant for us (421), from one of our pages (403), is there such a route (404), who calls (401), may they
(403), how often (429), is the body sound (413, 415, 422), is a form ours (403), was it done before. A route without a
policy is refused whoever asks. What goes wrong here and behind is told in the one shape that errors have, or to a
browser on a page.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.access import Access
from assay.errors import AssayError
from assay.server import errors, idempotency, limits
from assay.server.errors import ErrorPage, Refused
from assay.server.idempotency import Listening, Named, Repeats
from assay.server.metrics import ServerMetrics
from assay.server.routing import Asking
from assay.server.security import csrf, headers
from assay.server.security.callers import Caller, Callers, shown_by
from assay.server.security.csrf import CSRF, Csrf
from assay.server.security.hosts import SAFE, Headers, Hosts
from assay.server.security.policies import PUBLIC, Found, Table
from assay.server.security.rates import Rates
from assay.server.services import GRANT, REQUEST_ID, Services

LOGIN = "/login"
LONGEST_QUERY = 16_384
"""Bytes after the question mark."""


_log = logging.getLogger(__name__)


class Gates(NamedTuple):
    """What the guard asks."""

    hosts: Hosts
    callers: Callers
    rates: Rates
    failures: Rates
    """Of tokens that open nothing, by address."""
    csrf: Csrf
    repeats: Repeats
    metrics: ServerMetrics
    error_page: ErrorPage | None = None
    """What shows a browser why it was refused; None: the server has no pages."""


class _Way(NamedTuple):
    """Where an admitted request goes."""

    scope: Scope
    receive: Receive
    sent: Any = None
    """What its body says, if that is JSON."""
    named: Named | None = None


class Guard:
    """Lets through what may come in, with the caller's grant."""

    def __init__(self, app: ASGIApp, table: Table, services: Services, gates: Gates) -> None:
        self._app = app
        self._table = table
        self._services = services
        self._gates = gates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the application's own beginning and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await _Answering(self, scope, receive, send).answer()
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})

    async def admit(self, scope: Scope, receive: Receive, found: Found | None) -> _Way:
        """Where a request goes; raises what it is refused with."""
        given = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        self._gates.hosts.check(scope["method"], given)
        if len(scope["query_string"]) > LONGEST_QUERY:
            raise Refused(400, "too_long", "the address is too long", remedy="Send long values in a body.")
        caller = await self._caller(scope, given, found)
        grant = None if caller is None else caller.grant
        scope.update({CSRF: partial(self._gates.csrf.token, _name(caller)), GRANT: grant})
        if found is None:
            path = ascii(scope["path"][:200])
            remedy = "Check the address." if errors.wants_page(scope) else "See /api/openapi.json."
            raise Refused(404, "not_found", f"there is nothing at {path}", remedy=remedy)
        if found.takes_method:
            _may(caller, found)
        if caller is not None:
            self._gates.rates.spend(caller.token or _address(scope))
        return await self._with_body(scope, receive, given, caller, found)

    async def _caller(self, scope: Scope, given: Headers, found: Found | None) -> Caller | None:
        public = found is not None and found.policy is PUBLIC
        address = _address(scope)
        shown = shown_by(given)
        if shown.token is not None and self._gates.failures.is_empty(address):
            self._gates.failures.spend(address)
        find = partial(self._gates.callers.find, shown)
        caller = find() if shown.token is None else await self._services.run(find)
        if caller is None and shown.token is not None and not public:
            self._gates.failures.spend(address)
        if caller is None and not public:
            raise _unknown()
        return caller

    async def _with_body(
        self, scope: Scope, receive: Receive, given: Headers, caller: Caller | None, found: Found
    ) -> _Way:
        method = scope["method"]
        if method in SAFE:
            return _Way(scope, receive)
        body = await limits.read_body(given, receive)
        kind = limits.kind_of(given)
        sent = limits.check_body(kind, body, forms=not scope["path"].startswith("/api/"))
        again = limits.replayed(body, receive)
        if caller is None:
            return _Way(scope, again, sent)
        if caller.ambient and kind != limits.JSON and not scope["path"].startswith("/api/"):
            self._gates.csrf.check(_name(caller), csrf.shown_in(dict(given).get(csrf.HEADER), body))
        key = dict(given).get(idempotency.HEADER)
        if key is None or found.policy is None or found.policy.reads_only:
            return _Way(scope, again, sent)
        asked = f"{method} {scope['path']}?".encode("utf-8", "surrogatepass") + scope["query_string"]
        return _Way(scope, again, sent, idempotency.named(caller.grant.scope, key, asked, body))


class _Answering:
    """One request on its way to its answer."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._gates = guard._gates  # noqa: SLF001 - one thing in two parts
        self._id = secrets.token_hex(8)
        self._scope: Scope = {**scope, REQUEST_ID: self._id}
        self._receive = receive
        self._send = send
        self._status = 0
        self._found = guard._table.find(scope)  # noqa: SLF001 - the same

    async def answer(self) -> None:
        """Answer it, whatever happens, and count it."""
        metrics, services = self._gates.metrics, self._guard._services  # noqa: SLF001 - the same
        route = "other" if self._found is None else self._found.path
        began = services.clock.monotonic()
        metrics.under_way.inc()
        services.under_way[self._id] = f"{self._scope['method']} {route}"
        try:
            await self._answered()
        except asyncio.CancelledError:
            services.cut_off(self._id)
            raise
        except Exception:  # noqa: BLE001 - a bug in one route must not end the server
            await self._failed()
        finally:
            services.under_way.pop(self._id, None)
            metrics.under_way.dec()
            metrics.seconds.labels(route).observe(services.clock.monotonic() - began)
            metrics.requests.labels(self._scope["method"][:10], route, str(self._status)).inc()

    async def _answered(self) -> None:
        try:
            way = await self._guard.admit(self._scope, self._receive, self._found)
        except (AssayError, Refused) as problem:
            self._gates.metrics.refused.labels(problem.code).inc()
            await self._tell(self._refusal(problem))
            return
        if way.named is None:
            await self._pass_on(way, self.send)
        else:
            await self._once(way, way.named)

    async def _pass_on(self, way: _Way, send: Send) -> None:
        """Let the application answer, or the route itself when it needs nothing of it."""
        # A query string goes the long way: only there it is known which parameters the route has.
        straight = None if self._found is None or way.scope["query_string"] else self._found.straight
        body = None if straight is None else straight.read(way.sent)
        if straight is None or body is None:
            await self._guard._app(way.scope, way.receive, send)  # noqa: SLF001 - the same
            return
        asked = Asking(self._guard._services, way.scope[GRANT], self._id)  # noqa: SLF001 - the same
        try:
            response = await straight.answer(asked, body)
        except (AssayError, Refused) as problem:
            response = errors.told(way.scope, problem, self._gates.error_page)
        await response(way.scope, way.receive, send)

    async def _once(self, way: _Way, named: Named) -> None:
        """A write with a key: done now, or answered as it was before."""
        services, repeats = self._guard._services, self._gates.repeats  # noqa: SLF001 - the same
        try:
            before = await services.run(partial(repeats.begin, named))
        except (AssayError, Refused) as problem:
            await self._tell(errors.answer(problem, self._id))
            return
        if before is not None:
            again = Response(before.body, status_code=before.status, media_type="application/json")
            again.raw_headers.append(idempotency.REPLAYED)
            await self._tell(again)
            return
        heard = Listening(self.send)
        try:
            await self._pass_on(way, heard)
        finally:
            done = partial(repeats.finish, named, heard.status, heard.body) if heard.complete else None
            await asyncio.shield(services.run(done or partial(repeats.release, named)))

    def _refusal(self, problem: AssayError | Refused) -> Response:
        """What a refused caller is told; a browser without a token is shown where to give one."""
        looks = self._scope["method"] == "GET" and errors.wants_page(self._scope)
        if looks and errors.status_of(problem) == 401:
            return RedirectResponse(f"{LOGIN}?next={quote(self._scope['path'])}", status_code=303)
        return errors.told(self._scope, problem, self._gates.error_page)

    async def _failed(self) -> None:
        _log.exception("request %s failed", self._id)
        if not self._status:
            await self._tell(errors.answer(errors.internal(), self._id))

    async def _tell(self, response: Response) -> None:
        await response(self._scope, self._receive, self.send)

    async def send(self, message: Message) -> None:
        """Pass on a message of the application, with what browsers are always told."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = headers.added(dict(message), self._id)
        await self._send(message)


def _may(caller: Caller | None, found: Found) -> None:
    """Refuse a caller whose grant does not reach; a route without a policy is nobody's."""
    if found.policy is None:
        raise Refused(403, "no_policy", f"{found.path} has no policy", remedy="This is a bug; please report it.")
    if found.policy is PUBLIC or (caller is not None and caller.grant.allows(found.policy)):
        return
    needed = found.policy.access
    had = Access.READ if caller is None else caller.grant.access
    raise Refused(
        403, "access_too_low", f"this needs {needed} access, and the token has {had}",
        remedy=f"Use a token made with `assay token create --scope {needed}`.",
    )  # fmt: skip


def _name(caller: Caller | None) -> str:
    """What stands for the caller in forms and keys; public routes have no caller, and read no key."""
    return "" if caller is None else caller.token or "local"


def _unknown() -> Refused:
    return Refused(
        401,
        "unknown_caller",
        "no token of this server was shown",
        remedy="Send Authorization: Bearer TOKEN; `assay token create` makes one.",
        headers={"WWW-Authenticate": 'Bearer realm="assay"'},
    )


def _address(scope: Any) -> str:
    client = scope.get("client")
    return f"address {client[0]}" if client else "address unknown"
