"""How a route is declared: method, path, act, and a function.

- Query parameters.
- Fields that requests share.
- Routes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Path, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.responses import Response

from assay.access import Act, Grant, Policy
from assay.access.policies import PUBLIC
from assay.errors import BadValue
from assay.memory.engine import Engine
from assay.records import Scope
from assay.server.errors import API, SHOWN, document_statuses
from assay.server.services import GRANT, REQUEST_ID, Lane, Services, services_of
from assay.verbs import Caller, Surface
from assay.verbs.fields import NAME, Id, Moment, SessionId, Share, YesNo
from assay.verbs.verb import ShownOnce

if TYPE_CHECKING:
    from assay.evaluation.shelf import Shelf

__all__ = [
    "Id",
    "IdInPath",
    "Moment",
    "SessionId",
    "Share",
    "YesNo",
]


# --- Query parameters ---
#
# If a mistyped filter were ignored, the answer would hold everything, as if the filter matched everything. Addresses
# outside `/api/` are exempt: probes and browsers add parameters of their own.

MOST_NAMED = 5
"""Unknown names that an error lists."""


def refuse_unknown_parameters(request: Request) -> None:
    """Raise `BadValue` when the query string of an API request names a parameter the route does not have."""
    if not request.scope["query_string"] or not request.scope["path"].startswith(API):
        return
    known = parameters_of(request.scope["route"])
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if not unknown:
        return
    named = ", ".join(ascii(name[:SHOWN]) for name in unknown[:MOST_NAMED])
    takes = f"This address takes {', '.join(known)}." if known else "This address takes no query parameters."
    raise BadValue(f"there is no query parameter {named}", remedy=takes)


def parameters_of(route: APIRoute) -> tuple[str, ...]:
    """Return the names of a route's query parameters, those of its dependencies too."""
    return tuple(dict.fromkeys(_names(route.dependant)))


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)


# --- Fields that requests share ---

IdInPath = Annotated[str, Path(min_length=1, max_length=128, pattern=NAME)]


# --- Routes ---
#
# A `Resource` collects the routes of one topic. Every route names an act; the guard refuses a route without one. The
# function takes `asked` (the caller and the services) and the parameters that FastAPI reads from path, query and body;
# it returns a pydantic value, which is serialised in the same thread. A function that takes nothing but a body is
# called without FastAPI when the body is valid (`Straight`), which halves the time on the event loop.

ALWAYS = (400, 401, 403, 413, 415, 421, 422, 429, 500, 503)
"""Statuses of errors that every route may answer with."""
ACT = "__assay_act__"
"""Attribute of an endpoint: its act."""
STRAIGHT = "__assay_straight__"
"""Attribute of an endpoint: how it is called without FastAPI."""

SHOWN_ONCE = "__assay_shown_once__"
"""Attribute of an endpoint: the part of its answer that is shown once."""

RAW_KINDS = "__assay_raw_kinds__"
"""Attribute of an endpoint: content types whose bodies it reads by itself."""

SECURITY_SCHEMES: Mapping[str, dict[str, str]] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `assay token create`. Its scope must reach the route's `x-assay-access`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "assay_session",
        "description": "The cookie of a browser that signed in at `/login`; `__Host-assay_session` over HTTPS.",
    },
}
"""How a caller authenticates; either is enough. A server that is open to its own machine needs none."""

Handler = Callable[..., Any]


class Body(BaseModel):
    """The body of a request: unknown fields and NaN are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Result(BaseModel):
    """The body of a response."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RouteCall(NamedTuple):
    """The caller of a route, and the services to answer with."""

    services: Services
    known: Grant | None
    """The caller's grant; None: the route is public and callers are not authenticated."""
    request_id: str

    @property
    def grant(self) -> Grant:
        """What the caller may do."""
        if self.known is None:
            raise RuntimeError("a public route has no caller")
        return self.known

    @property
    def engine(self) -> Engine:
        """The engine of the memory."""
        return self.services.engine

    @property
    def scope(self) -> Scope:
        """The tenant and principal whose rows are used; set by the server, never by the client."""
        return self.grant.scope

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that the caller may see."""
        return self.services.shelf(self.scope)

    @property
    def caller(self) -> Caller:
        """The caller, as verbs take it."""
        return Caller(
            opened=self.services.engine,
            settings=self.services.settings,
            grant=self.grant,
            surface=Surface.HTTP,
            via="http",
            forget_tokens=self.services.stored_tokens.forget,
        )


async def _asking(request: Request) -> RouteCall:
    refuse_unknown_parameters(request)
    return RouteCall(services_of(request), request.scope[GRANT], str(request.scope[REQUEST_ID]))


Asked = Annotated[RouteCall, Depends(_asking)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One route."""

    method: str
    path: str
    act: Act
    handler: Handler
    status: int = 200
    fails: tuple[int, ...] = ()
    """Statuses of errors besides those of every route (`ALWAYS`)."""
    response: type[BaseModel] | None = None
    """Model of the response; None: the return type of the handler."""
    response_type: Any = None
    """The same for a type that is not a model, such as a record."""
    responses: Mapping[int | str, dict[str, Any]] = field(default_factory=dict)
    """Further responses for the OpenAPI description."""
    shown_once: ShownOnce | None = None
    """The part of the answer that is a secret and only the first receiver may see."""
    raw_kinds: tuple[str, ...] = ()
    """Content types whose bodies the handler reads by itself, such as protobuf; all others are refused."""


class Resource:
    """The routes of one topic."""

    def __init__(self, prefix: str, tag: str) -> None:
        self.prefix = prefix
        self.tag = tag
        self.routes: list[Route] = []
        self._router: APIRouter | None = None

    def get(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Register a route that reads."""
        return self.on("GET", path, act, *fails, **more)

    def post(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Register a route that adds or does something."""
        return self.on("POST", path, act, *fails, **more)

    def put(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Register a route that sets something."""
        return self.on("PUT", path, act, *fails, **more)

    def delete(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Register a route that removes something."""
        return self.on("DELETE", path, act, *fails, **more)

    def on(self, method: str, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Register a route with any method; `more` are further fields of `Route`."""

        def register(handler: Handler) -> Handler:
            whole = self.prefix + path
            self.routes.append(Route(method=method, path=whole, act=act, handler=handler, fails=fails, **more))
            self._router = None
            return handler

        return register

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to the application. Applications of one process share them."""
        if self._router is None:
            self._router = self._make_router()
        # Not `include_router`: the guard looks up the policy of each route in the list of the application.
        app.router.routes.extend(self._router.routes)

    def _make_router(self) -> APIRouter:
        """Let FastAPI read the signature of each handler; this takes most of the time of building an application."""
        router = APIRouter()
        for route in self.routes:
            router.add_api_route(
                route.path,
                answering(route),
                methods=[route.method],
                status_code=route.status,
                response_model=route.response or route.response_type or _result_type(route.handler),
                responses={**document_statuses(*ALWAYS, *route.fails), **route.responses},
                tags=[self.tag],
                operation_id=route.handler.__name__,
                summary=_first_line(route.handler),
                description=inspect.getdoc(route.handler),
                openapi_extra=_authority(route.act),
            )
        return router


class Straight(NamedTuple):
    """A route that needs only the caller and a body, so that it can be called without FastAPI."""

    route: Route
    body: type[Body]

    def read(self, sent: Any) -> Body | None:
        """Return the body from parsed JSON; None if it is invalid, so that FastAPI makes the error."""
        try:
            return self.body.model_validate(sent)
        except ValidationError:
            return None

    async def answer(self, asked: RouteCall, body: Body) -> Response:
        """Call the handler and return its response; errors of the handler are raised."""
        return await _off_the_loop(self.route, {"asked": asked, "body": body})


def answering(route: Route) -> Handler:
    """Return the handler as FastAPI calls it: it runs and serialises its result off the event loop."""
    handler = route.handler
    waits = inspect.iscoroutinefunction(handler)
    signature = inspect.signature(handler, eval_str=True)

    @functools.wraps(handler)
    async def answer(**given: Any) -> Response:
        return write_response(await handler(**given), route.status) if waits else await _off_the_loop(route, given)

    shown = answer
    shown.__signature__ = signature  # type: ignore[attr-defined] # what inspect.signature reads
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    if not waits and shown.__annotations__.keys() == {"asked", "body"}:
        setattr(shown, STRAIGHT, Straight(route, shown.__annotations__["body"]))
    if route.shown_once is not None:
        setattr(shown, SHOWN_ONCE, route.shown_once)
    setattr(shown, RAW_KINDS, route.raw_kinds)
    return with_act(route.act)(shown)


async def _off_the_loop(route: Route, given: dict[str, Any]) -> Response:
    asked: RouteCall = given["asked"]
    return await asked.services.run(
        lambda: write_response(route.handler(**given), route.status), Lane.of(route.act.policy)
    )


def with_act(act: Act) -> Callable[[Handler], Handler]:
    """Set the act of an endpoint that is not declared by a `Resource`, such as a page."""

    def add_act(endpoint: Handler) -> Handler:
        setattr(endpoint, ACT, act)
        return endpoint

    return add_act


def act_of(endpoint: object) -> Act | None:
    """Return the act of an endpoint; None: it has none, so it may not be called."""
    found: Act | None = getattr(endpoint, ACT, None)
    return found


def policy_of(endpoint: object) -> Policy | None:
    """Return the policy of an endpoint's act."""
    act = act_of(endpoint)
    return None if act is None else act.policy


def straight_of(endpoint: object) -> Straight | None:
    """Return how an endpoint is called without FastAPI; None if it cannot be."""
    found: Straight | None = getattr(endpoint, STRAIGHT, None)
    return found


def find_shown_once(endpoint: object) -> ShownOnce | None:
    """Return the part of an endpoint's answer that is shown once, if any."""
    found: ShownOnce | None = getattr(endpoint, SHOWN_ONCE, None)
    return found


def find_raw_kinds(endpoint: object) -> tuple[str, ...]:
    """Return the content types whose bodies an endpoint reads by itself; empty: bodies are checked before."""
    found: tuple[str, ...] = getattr(endpoint, RAW_KINDS, ())
    return found


def write_response(value: Any, status: int = 200) -> Response:
    """Return a result as a response."""
    if isinstance(value, Response):
        return value
    return Response(value.model_dump_json(), status_code=status, media_type="application/json")


def _authority(act: Act) -> dict[str, Any]:
    """Return what the OpenAPI description states about who may call a route."""
    described: dict[str, Any] = {"x-assay-act": act.name}
    if act.policy is PUBLIC:
        return {**described, "security": []}
    schemes: list[dict[str, list[str]]] = [{name: []} for name in SECURITY_SCHEMES]
    return {**described, "x-assay-access": act.policy.access.value, "security": schemes}


def _result_type(handler: Handler) -> Any:
    found = inspect.signature(handler, eval_str=True).return_annotation
    return None if isinstance(found, type) and issubclass(found, Response) else found


def _first_line(handler: Handler) -> str:
    return (inspect.getdoc(handler) or handler.__name__).splitlines()[0].rstrip(".")
