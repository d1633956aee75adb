"""How a page is declared and answered: an address, its act, and a plain function from a `View` to a `Page`.

The function runs off the event loop, and so does its template. What is wrong in an address or a form is told on a page
with the same frame as every other, never as a traceback and never as JSON.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response

from assay.access import Act, Grant
from assay.clock import Clock
from assay.errors import AssayError, BadValue
from assay.memory.engine import Engine
from assay.records import Scope
from assay.records.learning import Validated
from assay.server.errors import status_of
from assay.server.pages.rendering import render
from assay.server.pages.wrong import said_of
from assay.server.routing import with_act
from assay.server.services import REQUEST_ID, Lane, Services, grant_of, scope_of, services_of
from assay.settings import Settings
from assay.verbs import Caller, Surface, Verb

if TYPE_CHECKING:
    from assay.evaluation.shelf import Shelf

SEE_OTHER = 303
_log = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class View:
    """One look at a page: who looks, at what, and what the address or form says."""

    request: Request
    services: Services
    scope: Scope
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """The memory."""
        return self.services.engine

    @property
    def settings(self) -> Settings:
        """What the server was started with."""
        return self.services.settings

    @property
    def grant(self) -> Grant:
        """What the caller may do."""
        return grant_of(self.request)

    @property
    def clock(self) -> Clock:
        """What time it is."""
        return self.services.clock

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that whoever looks may see."""
        return self.services.shelf(self.scope)

    @property
    def caller(self) -> Caller:
        """Whoever looks, as verbs know them."""
        return Caller(
            opened=self.engine, settings=self.settings, grant=self.grant, surface=Surface.HTTP, via="dashboard"
        )

    def call(self, verb: Verb[Any, R], **given: Any) -> R:
        """Call a verb for whoever looks: pages show the results that every surface gives."""
        return verb.call(self.caller, verb.make(given))

    def asked(self, name: str) -> str:
        """A value of the address; empty: not given."""
        return self.query.get(name, "").strip()

    def filled(self, name: str) -> str:
        """A value of the form that must be there."""
        value = self.form.get(name, "")
        if not value.strip():
            raise BadValue(f"{name} is empty", remedy="Go back and fill it in.")
        return value

    def with_query(self, **changed: Any) -> str:
        """This page's address with some values changed; None takes one out."""
        merged = {**self.query, **{name: value for name, value in changed.items() if value is not None}}
        kept = {name: value for name, value in merged.items() if changed.get(name, "") is not None and value != ""}
        return self.request.url.path + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What a page shows."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


Viewer = Callable[[View], Page | Response]


class Pages:
    """The addresses of one entry of the navigation."""

    def __init__(self, here: str) -> None:
        self.here = here
        self._routes: list[tuple[str, str, Act, Viewer]] = []

    def get(self, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        """An address that shows something."""
        return self._on("GET", path, act)

    def post(self, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        """An address that a form is sent to."""
        return self._on("POST", path, act)

    def _on(self, method: str, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        def register(viewer: Viewer) -> Viewer:
            self._routes.append((method, path, act, viewer))
            return viewer

        return register

    def add_to(self, app: FastAPI) -> None:
        """Let the application answer them."""
        for method, path, act, viewer in self._routes:
            endpoint = with_act(act)(_answering(viewer, self.here))
            app.add_api_route(path, endpoint, methods=[method], include_in_schema=False, response_model=None)


def _answering(viewer: Viewer, here: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        form = {} if request.method == "GET" else await _form(request)
        return await services_of(request).run(functools.partial(_answer, viewer, here, request, form), Lane.PAGES)

    answer.__name__ = f"page_{viewer.__module__.rpartition('.')[2]}_{viewer.__name__}"
    return answer


async def _form(request: Request) -> dict[str, str]:
    filled = await request.form()
    return {name: value for name, value in filled.items() if not isinstance(value, UploadFile)}


def _answer(viewer: Viewer, here: str, request: Request, form: Mapping[str, str]) -> Response:
    try:
        shown = viewer(
            View(
                request=request,
                services=services_of(request),
                scope=scope_of(request),
                path=request.path_params,
                query=dict(request.query_params),
                form=form,
            )
        )
        return (
            shown
            if isinstance(shown, Response)
            else render(request, shown.template, shown.context, here=here, status=shown.status)
        )
    except AssayError as problem:
        return _told(request, here, problem)


def _told(request: Request, here: str, problem: AssayError) -> Response:
    status, path = status_of(problem), request.url.path
    if status >= 500:
        _log.warning("page %s (%s): %s", path, request.scope.get(REQUEST_ID, ""), problem.message)
    way = (path, "Without filters") if request.query_params else (path.rpartition("/")[0] or "/", "Back")
    return render(request, "error.html", said_of(problem, *way), here=here, status=status)


def vote_word(votes: Iterable[Validated], *, useful: bool) -> str:
    """Return what a page says of a person's vote: `useful` or `useless`, or `uncounted` where it changed nothing."""
    if not any(vote.counted for vote in votes):
        return "uncounted"
    return "useful" if useful else "useless"


def go_to(address: str) -> Response:
    """After a form: the browser asks for this page, and reloading it sends nothing twice."""
    return RedirectResponse(address, status_code=SEE_OTHER)
