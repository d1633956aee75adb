"""How a page is declared, rendered and answered, the files it needs, and the page of an error.

- Style sheets and scripts.
- The last few values that took long to compute.
- From a template and values to a page.
- The page of an error.
- Declaring pages.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import shlex
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.datastructures import UploadFile
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope as HttpScope

from assay.access import ACTS, Act, Grant
from assay.clock import Clock
from assay.errors import AssayError, BadValue, RecordNotFound
from assay.gateway.headers import SAFE, authority
from assay.memory.engine import Engine
from assay.presentation import outcomes, templates
from assay.presentation.explanations import format_sum
from assay.presentation.templates import SHARED, STYLE, read_shared
from assay.records import Scope
from assay.records.learning import Validated
from assay.regular_files import read_packaged_text
from assay.server.errors import RequestRefused, status_of
from assay.server.pages import lists, notices
from assay.server.pages.lists import PageList
from assay.server.routing import act_of, with_act
from assay.server.security.browsers import LOGIN, csrf_token_of, keep_inside
from assay.server.services import GRANT, REQUEST_ID, SIGNED_IN, Lane, Services, grant_of, scope_of, services_of
from assay.settings import Settings, fit_to_show
from assay.verbs import Caller, Surface, Verb

if TYPE_CHECKING:
    from assay.evaluation.shelf import Shelf


# --- Style sheets and scripts ---
#
# Files come from the installed packages: those of the pages and the shared ones. An address contains the hash
# of the file, so browsers may cache it for ever and a new version has a new address.

ASSETS_PATH = "/assets"
MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
KEEP_FOR_EVER = "public, max-age=31536000, immutable"


class Asset(NamedTuple):
    """One file to send."""

    content: bytes
    kind: str
    """Its media type."""
    version: str


@cache
def read_asset(name: str) -> Asset:
    """Return the file with this name; names outside the known list never reach the file system."""
    if name in SHARED:
        content = read_shared(name).encode()
    elif name in list_own_assets():
        content = read_packaged_text("server", "pages", "assets", name).encode()
    else:
        raise RecordNotFound(f"there is no asset {name!r}", remedy="Load the page again.")
    return Asset(content, MEDIA_TYPES[name.rpartition(".")[2]], hashlib.sha256(content).hexdigest()[:12])


@cache
def list_own_assets() -> frozenset[str]:
    """Return the names of the files that belong to the pages."""
    found = (file.name.removesuffix(".gz") for file in files(__package__).joinpath("assets").iterdir())
    return frozenset(name for name in found if name[0] != ".")


def asset_address(name: str) -> str:
    """Return the address of a file, with its version."""
    return f"{ASSETS_PATH}/{name}?v={read_asset(name).version}"


# --- The last few values that took long to compute ---

KEPT = 16
"""Values that a cache of one page holds."""

T = TypeVar("T")


class LastFew(Generic[T]):
    """A small cache. One value is computed at a time, so concurrent requests for the same value compute it once."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, T] = {}
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """Return a cached value, or None."""
        with self._lock:
            return self._kept.get(key)

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value, computing it if needed."""
        with self._making:
            known = self.find(key)
            if known is not None:
                return known
            made = make()
            with self._lock:
                self._kept[key] = made
                while len(self._kept) > self._most:
                    del self._kept[next(iter(self._kept))]
            return made


# --- From a template and values to a page ---
#
# `render` makes a response with the Jinja environment of `assay.presentation`. The navigation shows the pages in `MENU`
# that the application has and the caller may see. In templates, `asset` returns the address of a file.

_TEMPLATES = Path(__file__).with_name("templates")


class MenuEntry(NamedTuple):
    """One line of the navigation."""

    name: str
    """Its name in templates."""
    address: str
    title: str
    group: str = ""


MENU: tuple[MenuEntry, ...] = (
    MenuEntry("ask", "/", "Ask"),
    MenuEntry("memory", "/memory", "Memory"),
    MenuEntry("overview", "/evaluation", "Overview", "Answers"),
    MenuEntry("queries", "/evaluation/queries", "Questions", "Answers"),
    MenuEntry("patterns", "/evaluation/patterns", "Patterns", "Answers"),
    MenuEntry("prompts", "/evaluation/prompts", "Prompts", "Answers"),
    MenuEntry("debugger", "/evaluation/debugger", "Debugger", "Retrieval"),
    MenuEntry("runs", "/evaluation/runs", "Runs", "Retrieval"),
    MenuEntry("experiments", "/evaluation/experiments", "Experiments", "Retrieval"),
    MenuEntry("label", "/evaluation/label", "Label", "Retrieval"),
    MenuEntry("traces", "/traces", "Traces", "Retrieval"),
    MenuEntry("audit", "/evaluation/audit", "Audit log", "Setup"),
    MenuEntry("tokens", "/evaluation/tokens", "Tokens", "Setup"),
    MenuEntry("sign-ins", "/evaluation/sign-ins", "Sign-ins", "Setup"),
    MenuEntry("settings", "/evaluation/settings", "Settings", "Setup"),
)
"""Every page of the navigation, in order."""


@cache
def environment() -> Environment:
    """Return the Jinja environment of the pages."""
    return templates.environment(_TEMPLATES, asset=asset_address, results=outcomes, sum_of=format_sum)


def render(
    request: Request, template: str, context: Mapping[str, Any] | None = None, *, here: str = "", status: int = 200
) -> HTMLResponse:
    """Render a page. `here` names the entry of the navigation to highlight."""
    frame = {
        "request": request,
        "here": here,
        "menu": list_menu(request),
        "csrf_token": csrf_token_of(request),
        "signed_in": request.scope.get(SIGNED_IN, False),
        "now": request.app.state.services.clock.now(),
        "place": request.app.state.services.settings.tenant,
        "who": describe_caller(request),
        "may": partial(_may, request),
        "here_address": _here(request),
        "store_option": _store_option(request),
    }
    text = environment().get_template(template).render(**frame, **(context or {}))
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store"})


class WhoIsHere(NamedTuple):
    """The caller, as the frame of a page shows them."""

    name: str
    access: str
    tenant: str
    person: bool
    """Whether they have shown that they are a person; otherwise they count as a program."""


def describe_caller(request: Request) -> WhoIsHere | None:
    """Return who looks at the page and how far they may go; None for somebody unknown."""
    grant: Grant | None = request.scope.get(GRANT)
    if grant is None:
        return None
    return WhoIsHere(grant.scope.principal, grant.access.value, grant.scope.tenant, grant.person)


def _may(request: Request, act: str) -> bool:
    """Whether the caller may do an act, by its name in the table of acts; pages show forms accordingly."""
    grant: Grant | None = request.scope.get(GRANT)
    return grant is not None and grant.allows(ACTS[act].policy)


def _store_option(request: Request) -> str:
    """Return the option that makes a command use the store of this server, for operators: others see no paths."""
    grant: Grant | None = request.scope.get(GRANT)
    settings: Settings = request.app.state.services.settings
    if grant is None or not grant.allows(ACTS["settings.read_all"].policy):
        return ""
    return f" --db {shlex.quote(fit_to_show(settings.db))}" if settings.db else ""


def list_menu(request: Request) -> list[MenuEntry]:
    """Return the menu entries whose page the application has and the caller may see."""
    grant: Grant | None = request.scope.get(GRANT)
    paths = {route.path for route in request.app.routes if isinstance(route, Route) and _is_for(grant, route)}
    return [entry for entry in MENU if entry.address in paths]


def _is_for(grant: Grant | None, route: Route) -> bool:
    act = act_of(route.endpoint)
    return "GET" in (route.methods or ()) and (grant is None or (act is not None and grant.allows(act.policy)))


# --- The page of an error ---
#
# An authenticated caller within the rate limit gets the error in the usual page with its navigation. All others get a
# page without it, which needs no further request and reveals nothing about the server.

TITLES = {
    400: "That cannot be read",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Not in this way",
    409: "Not now",
    413: "Too large",
    415: "That cannot be read",
    421: "Another server",
    422: "That cannot be read",
    429: "Too fast",
    500: "That did not work",
    501: "Not installed",
    503: "Not now",
}
STALE = "stale_form"
TOO_FAST = 429


def show_error(app: FastAPI, scope: HttpScope, problem: AssayError | RequestRefused) -> Response:
    """Return the page of an error that occurred outside a page, such as in the guard."""
    request = Request({**scope, "app": app})
    status = status_of(problem)
    context = error_context(problem, *_way_back(request, problem, status))
    if scope.get(GRANT) is not None and status != TOO_FAST:
        return render(request, "error.html", context, status=status)
    text = environment().get_template("error_alone.html").render(**context, style=read_shared(STYLE))
    return HTMLResponse(text, status_code=status)


def error_context(problem: AssayError | RequestRefused, back: str, back_says: str) -> dict[str, Any]:
    """Return the values for the template of errors."""
    status = status_of(problem)
    message = problem.message[:1].upper() + problem.message[1:]
    return {
        "title": "The form is too old" if problem.code == STALE else TITLES.get(status, "That did not work"),
        "message": message if message.endswith(".") else f"{message}.",
        "remedy": problem.remedy,
        "back": back,
        "back_says": back_says,
    }


def _way_back(request: Request, problem: AssayError | RequestRefused, status: int) -> tuple[str, str]:
    """Return a link from the error: the same page if a retry may help, else the previous page, else the start."""
    came_from = _came_from(request)
    if status == 401:
        return f"{LOGIN}?next={quote(came_from or '/')}", "Sign in"
    if problem.code == STALE and came_from:
        return came_from, "Load the page again"
    if status in (TOO_FAST, 503) and request.method in SAFE:
        return keep_inside(_here(request)), "Try again"
    if came_from and came_from != _here(request):
        return came_from, "Back"
    return "/", "To the first page"


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _came_from(request: Request) -> str:
    """Return the path of the page that linked here; empty if it belongs to another server or is not known."""
    referer, host = request.headers.get("referer", ""), request.headers.get("host", "")
    if not referer or authority(referer) != authority(f"//{host}"):
        return ""
    parts = urlsplit(referer)
    return keep_inside(parts.path + (f"?{parts.query}" if parts.query else ""))


# --- Declaring pages ---
#
# The function and its template run off the event loop. An error in an address or a form is shown on a page with the
# usual navigation, never as a traceback or as JSON.

SEE_OTHER = 303
_log = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class PageView:
    """One request for a page: the caller, the address and the form."""

    request: Request
    services: Services
    scope: Scope
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """The engine of the memory."""
        return self.services.engine

    @property
    def settings(self) -> Settings:
        """The settings the server was started with."""
        return self.services.settings

    @property
    def grant(self) -> Grant:
        """What the caller may do."""
        return grant_of(self.request)

    @property
    def clock(self) -> Clock:
        """The clock of the server."""
        return self.services.clock

    @property
    def shelf(self) -> Shelf:
        """The runs, datasets and labels that the caller may see."""
        return self.services.shelf(self.scope)

    @property
    def caller(self) -> Caller:
        """The caller, as verbs take it."""
        return Caller(
            opened=self.engine,
            settings=self.settings,
            grant=self.grant,
            surface=Surface.HTTP,
            via="dashboard",
            forget_tokens=self.services.stored_tokens.forget,
        )

    def call(self, verb: Verb[Any, R], **given: Any) -> R:
        """Call a verb as the caller, so that pages show the same results as every other surface."""
        return verb.call(self.caller, verb.make(given))

    @property
    def notice(self) -> str:
        """The notice that the form before this page left for it; empty: none."""
        return notices.read_notice(self.request)

    def go_to(self, address: str, notice: str = "") -> Response:
        """Redirect after a form; the next page shows `notice` once."""
        response = go_to(address)
        if notice:
            notices.set_notice(self.request, response, address, notice)
        return response

    def query_value(self, name: str) -> str:
        """Return a query parameter of the address; empty if it was not given."""
        return self.query.get(name, "").strip()

    def form_value(self, name: str) -> str:
        """Return a field of the form; refuse an empty one."""
        value = self.form.get(name, "")
        if not value.strip():
            raise BadValue(f"{name} is empty", remedy="Go back and fill it in.")
        return value

    def with_query(self, **changed: Any) -> str:
        """Return this page's address with some query parameters changed; None removes one."""
        merged = {**self.query, **{name: value for name, value in changed.items() if value is not None}}
        kept = {name: value for name, value in merged.items() if changed.get(name, "") is not None and value != ""}
        return self.request.url.path + (f"?{urlencode(kept)}" if kept else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A template and its values."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    listed: PageList[Any] | None = None
    """The list that the page shows, if it shows one: it can be exported, and templates know it as `listed`."""


Viewer = Callable[[PageView], Page | Response]


class Pages:
    """The addresses of one entry of the navigation."""

    def __init__(self, here: str) -> None:
        self.here = here
        self._routes: list[tuple[str, str, Act, Viewer]] = []

    def get(self, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        """Register a page at an address."""
        return self._on("GET", path, act)

    def post(self, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        """Register an address that takes a form."""
        return self._on("POST", path, act)

    def _on(self, method: str, path: str, act: Act) -> Callable[[Viewer], Viewer]:
        def register(viewer: Viewer) -> Viewer:
            self._routes.append((method, path, act, viewer))
            return viewer

        return register

    def add_to(self, app: FastAPI) -> None:
        """Add these addresses to the application."""
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
        page = viewer(
            PageView(
                request=request,
                services=services_of(request),
                scope=scope_of(request),
                path=request.path_params,
                query=dict(request.query_params),
                form=form,
            )
        )
        return page if isinstance(page, Response) else _respond(request, page, here)
    except AssayError as problem:
        return _render_problem(request, here, problem)


def _respond(request: Request, page: Page, here: str) -> Response:
    """Render a page, or export its list if the address asks for that."""
    kind = lists.read_export(request.query_params)
    if kind is None:
        context = {**page.context, "listed": page.listed}
        response = render(request, page.template, context, here=here, status=page.status)
        if notices.read_notice(request):
            notices.drop_notice(request, response)
        return response
    if page.listed is None:
        raise BadValue("this page has no list to export", remedy=f"Take {lists.EXPORT} out of the address.")
    return page.listed.download(kind, services_of(request).clock.now())


def _render_problem(request: Request, here: str, problem: AssayError) -> Response:
    status, path = status_of(problem), request.url.path
    if status >= 500:
        _log.warning("page %s (%s): %s", path, request.scope.get(REQUEST_ID, ""), problem.message)
    way = (path, "Without filters") if request.query_params else (path.rpartition("/")[0] or "/", "Back")
    return render(request, "error.html", error_context(problem, *way), here=here, status=status)


def vote_word(votes: Iterable[Validated], *, useful: bool) -> str:
    """Return how a page shows a vote: `useful`, `useless`, or `uncounted` if it changed nothing."""
    if not any(vote.counted for vote in votes):
        return "uncounted"
    return "useful" if useful else "useless"


def go_to(address: str) -> Response:
    """Redirect after a form, so that reloading the next page does not send the form again."""
    return RedirectResponse(address, status_code=SEE_OTHER)
