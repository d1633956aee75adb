"""The dashboard: pages that the server renders, with small scripts of their own, alive without any other machine.

`viewing` says how a page is declared, `rendering` how it is made from `templates`, `assets` serves the files beside
it, `asking_for` reads filters from an address, `kept` is the last few values that took long, `wrong` the page of what
was refused before any page saw it. Charts, style sheet and the wording of numbers are those of `assay.presentation`.
Every other module is one page: what it asks the use-cases, and what its template shows.
"""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError
from assay.server.errors import PAGE, answer
from assay.server.pages import (
    ask,
    assets,
    audit,
    experiments,
    explorer,
    labelling,
    memory,
    overview,
    patterns,
    prompts,
    runs,
    settings_page,
    sign_ins,
    wrong,
)
from assay.server.pages.kept import LastFew
from assay.server.routing import with_act
from assay.server.services import REQUEST_ID

__all__ = ["add_pages"]

PAGES = (
    ask,
    memory,
    overview,
    explorer,
    patterns,
    prompts,
    runs,
    experiments,
    labelling,
    audit,
    sign_ins,
    settings_page,
)


def add_pages(app: FastAPI) -> None:
    """Let the application show every page, and the files that pages need."""
    for module in PAGES:
        module.pages.add_to(app)
    ask.add_events(app)
    app.state.reports = LastFew()
    app.state.analyses = LastFew()
    setattr(app.state, PAGE, partial(wrong.shown, app))
    app.add_api_route(assets.FOLDER + "/{name}", _asset, methods=["GET"], include_in_schema=False, response_model=None)


@with_act(acts.PAGE_ASSET)
async def _asset(request: Request, name: str) -> Response:
    try:
        found = assets.read(name)
    except AssayError as problem:
        return answer(problem, str(request.scope.get(REQUEST_ID, "")))
    headers = {"Cache-Control": assets.KEEP, "ETag": f'"{found.version}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)
