"""What the guard knows of a route before it is called: its path and the policy of the act it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from starlette.routing import BaseRoute, Match, Mount, Route

from assay.access import Act, Policy
from assay.access.policies import PUBLIC
from assay.server.routing import Straight, act_of, shown_once_of, straight_of
from assay.verbs.verb import ShownOnce

__all__ = ["PUBLIC", "Found", "Table", "described"]


class Found(NamedTuple):
    """A route that fits an address."""

    path: str
    """As it was declared, with its parameters."""
    act: Act | None
    """None: the route names none, so nobody may call it."""
    takes_method: bool
    straight: Straight | None = None
    """How it is called without FastAPI, if it can be."""
    shown_once: ShownOnce | None = None
    """What of its answer is shown once and never kept."""

    @property
    def policy(self) -> Policy | None:
        """The policy of its act."""
        return None if self.act is None else self.act.policy


class Table:
    """Every route of the application by what it needs. Made from the application's own list, so none is missing."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._routes = list(routes)
        self._exact: Mapping[tuple[str, str], Found] = {
            (method, one.path): Found(
                one.path, act_of(one.endpoint), True, straight_of(one.endpoint), shown_once_of(one.endpoint)
            )
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
        return Found(route.path, act_of(route.app), takes_method=takes_method)
    endpoint = getattr(route, "endpoint", None)
    path = getattr(route, "path", "?")
    return Found(path, act_of(endpoint), takes_method=takes_method, shown_once=shown_once_of(endpoint))
