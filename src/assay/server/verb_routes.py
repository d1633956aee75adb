"""Routes made from the table of verbs: path, query and body are the fields of the request, the answer is the result.

A field whose name stands in braces in the path is read from there. The other fields are the query of a GET or DELETE,
and the JSON body of everything else.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any, get_type_hints

from fastapi import Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from assay.server.routing import Asked, Asking, Handler, Resource, Route
from assay.verbs import FAMILIES, Family, HttpRoute, Verb
from assay.verbs.verb import leave_out

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def resource_of(family: Family) -> Resource:
    """Return the routes of a family of verbs; addresses without parameters come before those that they fit."""
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
        handler=_handler(verb, http),
        fails=http.errors,
        response_type=verb.result,
    )


def _handler(verb: Verb[Any, Any], http: HttpRoute) -> Handler:
    """Return a function with the signature that FastAPI reads: who calls, the path, and the query or the body."""
    body = _body_type(verb, http)

    def answer(asked: Asking, body: BaseModel | None = None, **given: Any) -> Response:
        if type(body) is verb.request:
            request = body
        else:
            sent = {} if body is None else {name: getattr(body, name) for name in body.model_fields_set}
            request = verb.request.model_validate({**sent, **given})
        return Response(verb.write(verb.call(asked.caller, request)), media_type="application/json")

    parameters = [inspect.Parameter("asked", POSITIONAL, annotation=Asked), *_parameters(verb, http)]
    if body is not None:
        parameters.append(inspect.Parameter("body", POSITIONAL, annotation=body))
    answer.__name__ = verb.name.replace(".", "_")
    answer.__doc__ = verb.summary
    answer.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what inspect.signature reads
    return answer


def _body_type(verb: Verb[Any, Any], http: HttpRoute) -> type[BaseModel] | None:
    """Return what a body is checked against: the request itself, or what is left of it without the path."""
    if not http.has_body:
        return None
    if not http.path_fields:
        return verb.request
    return leave_out(verb.request, http.path_fields, verb.request.__name__.removesuffix("Request") + "Body")


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
    # Python wants parameters with a default behind those without.
    return sorted(made, key=lambda parameter: parameter.default is not inspect.Parameter.empty)


RESOURCES: tuple[Resource, ...] = tuple(resource_of(family) for family in FAMILIES)
