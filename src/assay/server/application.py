"""The application: routes, pages, errors, and the guard in front of them; its start and end.

- Start and end of the server.
- Building the application.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Protocol

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.access import Access, Grant, acts
from assay.errors import AssayError
from assay.extras import DISTRIBUTION
from assay.gateway.front import Front
from assay.gateway.logs import RequestLog
from assay.server import errors, health, otlp, verb_routes
from assay.server.alerting import watch_alerts
from assay.server.idempotency import Repeats
from assay.server.routing import SECURITY_SCHEMES, Resource, refuse_unknown_parameters, with_act
from assay.server.security.browsers import LOGIN, Csrf, add_login
from assay.server.security.callers import Callers
from assay.server.security.guard import ApiGuard, Gates, RouteTable
from assay.server.services import Services

# --- Start and end of the server ---

_log = logging.getLogger(__name__)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run what accompanies the application while it serves, and finish open work at the end."""
    services: Services = app.state.services
    async with AsyncExitStack() as held:
        if services.live.peers is not None:
            await held.enter_async_context(services.live.peers.answering(partial(services.live.tell, services.streams)))
        await held.enter_async_context(watch_alerts(services))
        for enter in services.alongside:
            await held.enter_async_context(enter())
        yield
        # Other processes follow live questions, so they are finished before this one stops answering its peers.
        await asyncio.to_thread(services.live.finish, services.finish_s)
    left = await services.finish(services.finish_s)
    services.interrupted += [("", "streamed work")] * left
    if services.interrupted:
        await services.run(partial(record_interrupted, services))


def record_interrupted(services: Services) -> None:
    """Write each request that was cut off to the audit log of the server's own tenant."""
    try:
        with services.engine.store.writing(services.own_scope) as work:
            for request_id, what in services.interrupted:
                work.audit.append("server.interrupted", request_id, {"request": what})
    except AssayError:
        _log.exception("%d interrupted requests could not be recorded", len(services.interrupted))


# --- Building the application ---
#
# `build` returns what a server serves. The guard wraps the whole application, so it checks every request; a route that
# is added without a policy is refused.

RESOURCES: tuple[Resource, ...] = (health.RESOURCE, *verb_routes.RESOURCES, otlp.RESOURCE)
"""The API by resource, in the order in which its description shows them."""
PUBLIC_PATHS = frozenset({"/healthz", "/readyz", LOGIN})
"""All addresses that need no token."""
DESCRIPTION = (
    "Measure, explain and safely improve what an agent remembers and what a RAG system retrieves. Every error has one "
    "shape; every write takes an `Idempotency-Key`; long lists come in pages, each with the cursor of the next."
)


class Mounted(Protocol):
    """Another protocol, served at an address of its own by the same process."""

    @property
    def path(self) -> str:
        """Its address."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; no check has been made before."""
        ...

    @property
    def lifespan(self) -> Callable[[], AbstractAsyncContextManager[Any]]:
        """The context to enter while the server runs."""
        ...


Mount = Callable[[Services, Front, Grant | None], Mounted]
"""Makes a `Mounted` behind the checks of a `Front`; the grant is for callers on this machine without a token."""


def application(services: Services, *, pages: bool = True) -> FastAPI:
    """Return routes and pages without the guard: for the description of the API, and for `build`."""
    app = FastAPI(
        title="Assay",
        version=version(DISTRIBUTION),
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # FastAPI can export telemetry by itself if environment variables are set. Spans are exported only by the
        # setting otel.exporter.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.services = services
    app.openapi = partial(_describe, app, app.openapi)  # type: ignore[method-assign] # FastAPI's own way to extend it
    errors.add_handlers(app)
    for resource in RESOURCES:
        resource.add_to(app)
    app.add_api_route("/api/openapi.json", _description, methods=["GET"], include_in_schema=False)
    add_login(app)
    if pages:
        from assay.server.pages import add_pages  # noqa: PLC0415 - needs a template engine that the API does not

        add_pages(app)
    return app


def build(
    services: Services,
    *,
    open_to_this_machine: bool,
    names: Collection[str] = (),
    pages: bool = True,
    secret: bytes | None = None,
    mount: Mount | None = None,
) -> ASGIApp:
    """Return the application to serve, behind the guard.

    `open_to_this_machine`: callers without a token are accepted, since only users of this machine reach the server.
    `secret` is shared by processes that serve together, so that each accepts forms of the others. `mount` makes another
    protocol that is served at its own address behind the same checks.
    """
    app = application(services, pages=pages)
    local = Grant(services.own_scope, Access.OPERATOR) if open_to_this_machine else None
    clock = services.clock
    front = Front.of(services.settings, names, clock, failures=services.failures, counts=services.counts)
    gates = Gates(
        front=front,
        callers=Callers(services.stored_tokens, services.sign_ins, local),
        csrf=Csrf(secret),
        repeats=Repeats(services.engine.store, clock),
        metrics=services.metrics,
        error_page=errors.page_of(app),
    )
    served: ASGIApp = ApiGuard(app, RouteTable(app.routes), services, gates)
    if mount is not None:
        mounted = mount(services, front, local)
        services.alongside.append(mounted.lifespan)
        served = _Beside(served, mounted)
    return RequestLog(served, clock) if services.settings.server_access_log == "yes" else served


class _Beside:
    """Sends requests for the address of a mounted protocol there, and all others to the guard of the API."""

    def __init__(self, guard: ASGIApp, mounted: Mounted) -> None:
        self._guard = guard
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or run start and end of both; those of the API include the other's."""
        if scope["type"] == "http" and scope["path"] == self._mounted.path:
            await self._mounted(scope, receive, send)
        else:
            await self._guard(scope, receive, send)


def _describe(app: FastAPI, generate: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenAPI description, with the security schemes and the shape of errors."""
    if app.openapi_schema is None:
        found = generate()
        found["components"]["securitySchemes"] = dict(SECURITY_SCHEMES)
        found["components"]["schemas"].update(errors.describe_body())
    return generate()


@with_act(acts.SERVER_DESCRIBE)
async def _description(request: Request) -> Response:
    refuse_unknown_parameters(request)
    return JSONResponse(request.app.openapi())
