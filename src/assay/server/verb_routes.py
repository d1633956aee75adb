"""Routes made from the table of verbs: path, query and body are the fields of the request, the answer is the result.

A field whose name is in braces in the path is read from there. The other fields are query parameters of a GET or
DELETE, and the JSON body of other methods.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from fastapi import Path, Query
from pydantic import BaseModel, Field, ValidationError, create_model
from starlette.responses import Response

from assay.server.routing import Asked, Handler, Resource, Route, RouteCall
from assay.server.services import Lane
from assay.server.streaming import STREAMED, Tell, stream_work
from assay.verbs import Family, HttpRoute, Verb
from assay.verbs.faults import refuse
from assay.verbs.fields import YesNo
from assay.verbs.table import FAMILIES
from assay.verbs.verb import leave_out

if TYPE_CHECKING:
    from assay.research.events import StageEvent

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
STREAM = "stream"
"""The field of a body that requests every step as an event. It exists in HTTP alone: no verb has it."""
STREAMING = """

With `stream` every step is an event `stage`, then comes one event `answer` (as without `stream`) or `error`."""


def resource_of(family: Family) -> Resource:
    """Return the routes of a family of verbs; fixed addresses come before those with parameters that they match."""
    resource = Resource("", family.name)
    routes = [route_of(verb, verb.http) for verb in family.verbs if verb.http is not None]
    resource.routes += sorted(routes, key=lambda route: [part.startswith("{") for part in route.path.split("/")])
    return resource


def route_of(verb: Verb[Any, Any], http: HttpRoute) -> Route:
    """Return the route of one verb."""
    return Route(
        method=http.method,
        path=http.path,
        act=verb.act,
        handler=_streaming_handler(verb, http) if http.streams else _handler(verb, http),
        fails=http.errors,
        response_type=verb.result,
        responses=STREAMED if http.streams else {},
        shown_once=http.shown_once,
    )


def _handler(verb: Verb[Any, Any], http: HttpRoute) -> Handler:
    """Return a function with the signature that FastAPI reads: who calls, the path, and the query or the body."""

    def answer(asked: RouteCall, body: BaseModel | None = None, **given: Any) -> Response:
        request = body if type(body) is verb.request else _request(verb, body, given)
        return Response(verb.write(verb.call(asked.caller, request)), media_type="application/json")

    return _describe(answer, verb, http, verb.summary)


def _streaming_handler(verb: Verb[Any, Any], http: HttpRoute) -> Handler:
    """Return a function that answers at the end, or streams every step of the work as it happens."""

    async def answer(asked: RouteCall, body: BaseModel | None = None, **given: Any) -> Response:
        request = _request(verb, body, given)
        if not getattr(body, STREAM, False):
            result = await asked.services.run(lambda: verb.write(verb.call(asked.caller, request)), Lane.LONG)
            return Response(result, media_type="application/json")

        def work(tell: Tell) -> None:
            def listen(event: StageEvent) -> None:
                tell("stage", event.as_json())

            tell("answer", verb.to_json(verb.call(replace(asked.caller, listen=listen), request)))

        return stream_work(asked.services, asked.request_id, work)

    return _describe(answer, verb, http, verb.summary + STREAMING)


def _request(verb: Verb[Any, Any], body: BaseModel | None, given: dict[str, Any]) -> Any:
    """Return the request made of the body, the path and the query.

    Each field was validated before; here the combination of fields is validated.
    """
    sent = {} if body is None else {name: getattr(body, name) for name in body.model_fields_set if name != STREAM}
    try:
        return verb.request.model_validate({**sent, **given})
    except ValidationError as problem:
        raise refuse(problem, verb.name, verb.request) from problem


def _describe(answer: Handler, verb: Verb[Any, Any], http: HttpRoute, description: str) -> Handler:
    """Give a handler the name, the description and the parameters that FastAPI reads."""
    body = _body_type(verb, http)
    parameters = [inspect.Parameter("asked", POSITIONAL, annotation=Asked), *_parameters(verb, http)]
    if body is not None:
        parameters.append(_body_parameter(body, http))
        parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    answer.__name__ = verb.name.replace(".", "_")
    answer.__doc__ = description
    answer.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what inspect.signature reads
    return answer


def _body_parameter(body: type[BaseModel], http: HttpRoute) -> inspect.Parameter:
    """Return the parameter of the body; it is optional if the path holds all required fields."""
    if http.path_fields and not any(info.is_required() for info in body.model_fields.values()):
        return inspect.Parameter("body", POSITIONAL, default=None, annotation=body | None)
    return inspect.Parameter("body", POSITIONAL, annotation=body)


def _body_type(verb: Verb[Any, Any], http: HttpRoute) -> type[BaseModel] | None:
    """Return what a body is checked against: the request itself, or what is left of it without the path."""
    if not http.has_body:
        return None
    if not http.path_fields and not http.streams:
        return verb.request
    title = verb.request.__name__.removesuffix("Request") + "Body"
    body = leave_out(verb.request, http.path_fields, title)
    if not http.streams:
        return body
    stream = (Annotated[YesNo, Field(description="Tell every step as a server-sent event, the answer last.")], False)
    return create_model(title, __base__=body, __doc__=body.__doc__, **{STREAM: stream})  # type: ignore[call-overload,no-any-return] # a field by name


def _parameters(verb: Verb[Any, Any], http: HttpRoute) -> list[inspect.Parameter]:
    hints = get_type_hints(verb.request, include_extras=True)
    made = []
    for name, info in verb.request.model_fields.items():
        in_path = name in http.path_fields
        if not in_path and http.has_body:
            continue
        described = (Path if in_path else Query)(description=info.description)
        default = inspect.Parameter.empty if info.is_required() else info.get_default(call_default_factory=True)
        made.append(inspect.Parameter(name, POSITIONAL, default=default, annotation=Annotated[hints[name], described]))
    # Python requires parameters with a default to come after those without.
    return sorted(made, key=lambda parameter: parameter.default is not inspect.Parameter.empty)


RESOURCES: tuple[Resource, ...] = tuple(resource_of(family) for family in FAMILIES)
