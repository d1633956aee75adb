"""How a route is declared: method, path, policy, and a function; a plain one runs off the event loop.

A `Resource` collects the routes of one subject. There is no way to add one without a policy, and the guard refuses
what has none. The function takes `asked` (who calls, and the services) and whatever FastAPI reads from path, query and
body; it returns a pydantic value, which is written in the same thread.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from assay.access import Grant, Policy
from assay.memory.engine import Engine
from assay.records import Scope
from assay.server.errors import documented
from assay.server.services import GRANT, REQUEST_ID, Lane, Services, services_of

ALWAYS = (400, 401, 403, 413, 415, 421, 422, 429, 500, 503)
"""What any route may answer."""
POLICY = "__assay_policy__"
"""Where an endpoint says what its policy is."""

Handler = Callable[..., Any]


class Body(BaseModel):
    """What a client sends: no unknown fields, no NaN. Numbers and truth values are strict by their own fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Result(BaseModel):
    """What a client is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Asking(NamedTuple):
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


async def _asking(request: Request) -> Asking:
    return Asking(services_of(request), request.scope[GRANT], str(request.scope[REQUEST_ID]))


Asked = Annotated[Asking, Depends(_asking)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One route."""

    method: str
    path: str
    policy: Policy
    handler: Handler
    status: int = 200
    fails: tuple[int, ...] = ()
    """What it may answer besides what every route may."""
    response: type[BaseModel] | None = None
    """None: what the handler says it returns."""
    responses: Mapping[int | str, dict[str, Any]] = field(default_factory=dict)
    """What else the description says of answers."""


class Resource:
    """The routes of one subject."""

    def __init__(self, prefix: str, tag: str) -> None:
        self.prefix = prefix
        self.tag = tag
        self.routes: list[Route] = []

    def get(self, path: str, policy: Policy, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that reads."""
        return self.on("GET", path, policy, *fails, **more)

    def post(self, path: str, policy: Policy, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that adds or does something."""
        return self.on("POST", path, policy, *fails, **more)

    def put(self, path: str, policy: Policy, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that sets something."""
        return self.on("PUT", path, policy, *fails, **more)

    def delete(self, path: str, policy: Policy, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """A route that takes something away."""
        return self.on("DELETE", path, policy, *fails, **more)

    def on(self, method: str, path: str, policy: Policy, *fails: int, **more: Any) -> Callable[[Handler], Handler]:
        """Any route; `more` are further fields of `Route`."""

        def register(handler: Handler) -> Handler:
            whole = self.prefix + path
            self.routes.append(Route(method=method, path=whole, policy=policy, handler=handler, fails=fails, **more))
            return handler

        return register

    def add_to(self, app: FastAPI) -> None:
        """Let the application answer them."""
        for route in self.routes:
            app.add_api_route(
                route.path,
                answering(route),
                methods=[route.method],
                status_code=route.status,
                response_model=route.response or _returned(route.handler),
                responses={**documented(*ALWAYS, *route.fails), **route.responses},
                tags=[self.tag],
                operation_id=route.handler.__name__,
                summary=_first_line(route.handler),
                description=inspect.getdoc(route.handler),
            )


def answering(route: Route) -> Handler:
    """The handler as FastAPI calls it: off the event loop, its result written there too."""
    handler = route.handler
    signature = inspect.signature(handler, eval_str=True)

    def perform(given: dict[str, Any]) -> Response:
        return written(handler(**given), route.status)

    @functools.wraps(handler)
    async def answer(**given: Any) -> Response:
        if inspect.iscoroutinefunction(handler):
            return written(await handler(**given), route.status)
        asked: Asking = given["asked"]
        return await asked.services.run(functools.partial(perform, given), Lane.of(route.policy))

    shown = answer
    shown.__signature__ = signature  # type: ignore[attr-defined] # what inspect.signature reads
    shown.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    return with_policy(route.policy)(shown)


def with_policy(policy: Policy) -> Callable[[Handler], Handler]:
    """Name the policy of an endpoint that is not declared by a `Resource`, such as a page."""

    def named(endpoint: Handler) -> Handler:
        setattr(endpoint, POLICY, policy)
        return endpoint

    return named


def policy_of(endpoint: object) -> Policy | None:
    """The policy an endpoint names."""
    found: Policy | None = getattr(endpoint, POLICY, None)
    return found


def written(value: Any, status: int = 200) -> Response:
    """A result as a response."""
    if isinstance(value, Response):
        return value
    return Response(value.model_dump_json(), status_code=status, media_type="application/json")


def _returned(handler: Handler) -> Any:
    found = inspect.signature(handler, eval_str=True).return_annotation
    return None if isinstance(found, type) and issubclass(found, Response) else found


def _first_line(handler: Handler) -> str:
    return (inspect.getdoc(handler) or handler.__name__).splitlines()[0].rstrip(".")
