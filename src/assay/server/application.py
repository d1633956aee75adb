"""The application put together: routes, pages, errors, and the guard in front of all of them.

`build` gives what a server serves. Nothing is reachable that the guard has not let through: it wraps the whole
application, and whatever is added later without a policy is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from assay.access import Access, Grant, acts
from assay.gateway.bodies import BodyRoom
from assay.gateway.hosts import Hosts
from assay.gateway.proxies import Proxies
from assay.gateway.rates import Rates
from assay.server import errors
from assay.server.idempotency import Repeats
from assay.server.lifespan import lifespan
from assay.server.parameters import refuse_unknown_parameters
from assay.server.routers import RESOURCES
from assay.server.routing import SECURITY_SCHEMES, with_act
from assay.server.security.callers import Callers
from assay.server.security.csrf import Csrf
from assay.server.security.guard import LOGIN, Gates, Guard
from assay.server.security.login import add_login
from assay.server.security.policies import Table
from assay.server.services import Services

PUBLIC_PATHS = frozenset({"/healthz", "/readyz", LOGIN})
"""The addresses that need no token, all of them."""
DESCRIPTION = (
    "Measure, explain and safely improve what an agent remembers and what a RAG system retrieves. Every error has one "
    "shape; every write takes an `Idempotency-Key`; long lists come in pages, each with the cursor of the next."
)


def application(services: Services, *, pages: bool = True) -> FastAPI:
    """Routes and pages, not yet guarded: for the description of the API, and for `build`."""
    app = FastAPI(
        title="Assay",
        version=version("assay"),
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # FastAPI can export requests by itself when variables of the environment ask for it. Spans leave by
        # otel.exporter alone.
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
) -> ASGIApp:
    """What is served. `open_to_this_machine`: who reaches it needs no token, since only this machine's users do.

    `secret` is for processes that serve together: a form of one is taken by the others.
    """
    app = application(services, pages=pages)
    local = Grant(services.own_scope, Access.OPERATOR) if open_to_this_machine else None
    clock = services.clock
    gates = Gates(
        hosts=Hosts(names),
        callers=Callers(services.stored_tokens, services.sign_ins, local),
        rates=Rates(clock, services.settings.server_requests_per_minute),
        failures=services.failures,
        proxies=Proxies(services.settings.server_trusted_proxies),
        room=BodyRoom(),
        csrf=Csrf(secret),
        repeats=Repeats(services.engine.store, clock),
        metrics=services.metrics,
        error_page=errors.page_of(app),
    )
    return Guard(app, Table(app.routes), services, gates)


def _describe(app: FastAPI, generate: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The description of the API, with the ways a caller can prove who it is."""
    if app.openapi_schema is None:
        found = generate()
        found["components"]["securitySchemes"] = dict(SECURITY_SCHEMES)
        found["components"]["schemas"].update(errors.describe_body())
    return generate()


@with_act(acts.SERVER_DESCRIBE)
async def _description(request: Request) -> Response:
    refuse_unknown_parameters(request)
    return JSONResponse(request.app.openapi())
