"""Query parameters of the API: a name that a route does not take is refused, as an unknown field of a body is.

A mistyped filter that is passed over answers with everything, which looks like a filter that matched everything.
Addresses outside `/api/` are exempt: probes and browsers add parameters of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from assay.errors import BadValue
from assay.server.errors import API, SHOWN

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
