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
# A mistyped filter that is passed over answers with everything, which looks like a filter that matched everything.
# Addresses outside `/api/` are exempt: probes and browsers add parameters of their own.

MOST_NAMED = 5
"""Unknown names that one error repeats."""


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
# A `Resource` collects the routes of one subject. There is no way to add one without an act, and the guard refuses
# what has none. The function takes `asked` (who calls, and the services) and whatever FastAPI reads from path, query
# and body; it returns a pydantic value, which is written in the same thread. One that takes nothing but a body is
# called without FastAPI when the body is sound (`Straight`): half the time that the event loop has for a request.

ALWAYS = (400, 401, 403, 413, 415, 421, 422, 429, 500, 503)
"""What any route may answer."""
ACT = "__assay_act__"
"""Where an endpoint says which act of the table it is."""
STRAIGHT = "__assay_straight__"
"""Where it says how it is called without FastAPI."""

SHOWN_ONCE = "__assay_shown_once__"
"""Where it says what of its answer is shown once."""

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
"""How a caller proves who it is; either is enough. A server that is open to its own machine asks for none."""

Handler = Callable[..., Any]


class Body(BaseModel):
    """What a client sends: no unknown fields, no NaN. Numbers and truth values are strict by their own fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Result(BaseModel):
    """What a client is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RouteCall(NamedTuple):
    """Who calls, and what serves them."""

    services: Services
    known: Grant | None
    """None: the route is for everybody, and nobody asked who calls."""
    request_id: str

    @property
    def grant(self) -> Grant:
        """What the caller may do."""
        if self.known is None:
            raise RuntimeError("a route for everybody has no caller")
        return self.known

    @property
    def engine(self) -> Engine:
        """The memory."""
        return self.services.engine

    @property
    def scope(self) -> Scope:
        """Whose rows: the server's word, never the client's."""
        return self.grant.scope

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that the caller may see."""
        return self.services.shelf(self.scope)

    @property
    def caller(self) -> Caller:
        """Who calls, as verbs know them."""
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
    """What it may answer besides what every route may."""
    response: type[BaseModel] | None = None
    """None: what the handler says it returns."""
    response_type: Any = None
    """The same for a type that is no model, such as a record."""
    responses: Mapping[int | str, dict[str, Any]] = field(default_factory=dict)
    """What else the description says of answers."""
    shown_once: ShownOnce | None = None
    """What of the answer is a secret that only its first receiver may see."""


class Resource:
    """The routes of one subject."""

    def __init__(self, prefix: str, tag: str) -> None:
        self.prefix = prefix
        self.tag = tag
        self.routes: list[Route] = []
        self._router: APIRouter | None = None

    def get(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that reads."""
        return self.on("GET", path, act, *fails, **more)

    def post(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that adds or does something."""
        return self.on("POST", path, act, *fails, **more)

    def put(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that sets something."""
        return self.on("PUT", path, act, *fails, **more)

    def delete(self, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that takes something away."""
        return self.on("DELETE", path, act, *fails, **more)

    def on(self, method: str, path: str, act: Act, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Any route; `more` are further fields of `Route`."""

        def register(handler: Handler) -> Handler:
            whole = self.prefix + path
            self.routes.append(Route(method=method, path=whole, act=act, handler=handler, fails=fails, **more))
            self._router = None
            return handler

        return register

    def add_to(self, app: FastAPI) -> None:
        """Let the application answer them. Applications of one process share the routes."""
        if self._router is None:
            self._router = self._make_router()
        # Not `include_router`: the guard looks up the policy of each route in the list of the application.
        app.router.routes.extend(self._router.routes)

    def _make_router(self) -> APIRouter:
        """Let FastAPI read the signature of each handler, which is most of the work of making an application."""
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
    """A route that needs only who calls and a body."""

    route: Route
    body: type[Body]

    def read(self, sent: Any) -> Body | None:
        """The body, of JSON that was read already; None: FastAPI has to say what is wrong with it."""
        try:
            return self.body.model_validate(sent)
        except ValidationError:
            return None

    async def answer(self, asked: RouteCall, body: Body) -> Response:
        """What the route answers; raises what the handler does."""
        return await _off_the_loop(self.route, {"asked": asked, "body": body})


def answering(route: Route) -> Handler:
    """The handler as FastAPI calls it: off the event loop, its result written there too."""
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
    return with_act(route.act)(shown)


async def _off_the_loop(route: Route, given: dict[str, Any]) -> Response:
    asked: RouteCall = given["asked"]
    return await asked.services.run(
        lambda: write_response(route.handler(**given), route.status), Lane.of(route.act.policy)
    )


def with_act(act: Act) -> Callable[[Handler], Handler]:
    """Name the act of an endpoint that is not declared by a `Resource`, such as a page."""

    def add_act(endpoint: Handler) -> Handler:
        setattr(endpoint, ACT, act)
        return endpoint

    return add_act


def act_of(endpoint: object) -> Act | None:
    """The act an endpoint names; None: it names none, so nobody may call it."""
    found: Act | None = getattr(endpoint, ACT, None)
    return found


def policy_of(endpoint: object) -> Policy | None:
    """The policy of the act an endpoint names."""
    act = act_of(endpoint)
    return None if act is None else act.policy


def straight_of(endpoint: object) -> Straight | None:
    """How an endpoint is called without FastAPI, if it can be."""
    found: Straight | None = getattr(endpoint, STRAIGHT, None)
    return found


def find_shown_once(endpoint: object) -> ShownOnce | None:
    """What of an endpoint's answer is shown once."""
    found: ShownOnce | None = getattr(endpoint, SHOWN_ONCE, None)
    return found


def write_response(value: Any, status: int = 200) -> Response:
    """A result as a response."""
    if isinstance(value, Response):
        return value
    return Response(value.model_dump_json(), status_code=status, media_type="application/json")


def _authority(act: Act) -> dict[str, Any]:
    """What the description of the API says of who may call a route."""
    said: dict[str, Any] = {"x-assay-act": act.name}
    if act.policy is PUBLIC:
        return {**said, "security": []}
    schemes: list[dict[str, list[str]]] = [{name: []} for name in SECURITY_SCHEMES]
    return {**said, "x-assay-access": act.policy.access.value, "security": schemes}


def _result_type(handler: Handler) -> Any:
    found = inspect.signature(handler, eval_str=True).return_annotation
    return None if isinstance(found, type) and issubclass(found, Response) else found


def _first_line(handler: Handler) -> str:
    return (inspect.getdoc(handler) or handler.__name__).splitlines()[0].rstrip(".")
