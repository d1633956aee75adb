"""The policies that routes have, and what the guard knows of a route before it is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from starlette.routing import BaseRoute, Match, Mount, Route

from assay.access import Access, Policy
from assay.server.routing import Straight, policy_of, straight_of

PUBLIC = Policy(name="public", access=Access.READ, idempotent=True)
"""For everybody, also without a token. There are three such addresses: see `application.PUBLIC_PATHS`."""
READ = Policy(name="read", access=Access.READ, idempotent=True)
ADD = Policy(name="add", access=Access.WRITE)
ADD_ONCE = Policy(name="add once", access=Access.WRITE, idempotent=True)
SET = Policy(name="set", access=Access.WRITE, destructive=True, idempotent=True)
CHANGE = Policy(name="change", access=Access.WRITE, destructive=True)
MEASURE = Policy(name="measure", access=Access.WRITE, takes_long=True)
"""Costs time and leaves something behind: a run, a researched answer, an analysis."""
GOVERN = Policy(name="govern", access=Access.ADMIN, destructive=True, idempotent=True)
"""Switches what everybody in the tenant sees, or says who may come in."""


class Found(NamedTuple):
    """A route that fits an address."""

    path: str
    """As it was declared, with its parameters."""
    policy: Policy | None
    """None: the route named none, so nobody may call it."""
    takes_method: bool
    straight: Straight | None = None
    """How it is called without FastAPI, if it can be."""


class Table:
    """Every route of the application by what it needs. Made from the application's own list, so none is missing."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = list(routes)
        self._exact: Mapping[tuple[str, str], Found] = {
            (method, one.path): Found(one.path, policy_of(one.endpoint), True, straight_of(one.endpoint))
            for one in self._routes
            if isinstance(one, Route) and "{" not in one.path
            for method in one.methods or ()
        }

    def find(self, scope: Mapping[str, Any]) -> Found | None:
        """The route a request is for; one that knows the address but not the method, if there is no better."""
        known = self._exact.get((scope["method"], scope["path"]))
        if known is not None:
            return known
        near: Found | None = None
        for route in self._routes:
            match, _ = route.matches(scope)  # type: ignore[arg-type] # Starlette asks for a mapping it may change
            if match is Match.FULL:
                return described(route, takes_method=True)
            if match is Match.PARTIAL and near is None:
                near = described(route, takes_method=False)
        return near


def described(route: BaseRoute, *, takes_method: bool = True) -> Found:
    """What is known of a route."""
    if isinstance(route, Mount):
        return Found(route.path, policy_of(route.app), takes_method=takes_method)
    endpoint = getattr(route, "endpoint", None)
    return Found(getattr(route, "path", "?"), policy_of(endpoint), takes_method=takes_method)
