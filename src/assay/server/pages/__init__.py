"""The dashboard: pages that the server renders, with small scripts; nothing is loaded from other servers.

Charts, style sheet and the wording of numbers are those of `assay.presentation`.

- `page`: how a page is declared, rendered from `templates` and answered; its files; the page of an error.
- `filters`: filters of an address, read into values.
- `lists`: lists with a count, an order, and exports as CSV and JSON.
- `answers`: ask a question, its answer, and all answered questions.
- `question_list`: the list of answered questions.
- `question`: the timeline of one question, the support of its sentences, and its retry.
- `find`: pages, memories, questions, runs and flags by a few words.
- `memory`: list, sort, export and search memories.
- `memory_one`: one memory, its timeline and versions, and the forms that change it.
- `memory_adding`: new memories from a folder, a sample, or written on the page.
- `memory_inbox`: memories that wait for a person.
- `overview`: what answered questions add up to, over time.
- `analysis`: patterns and prompts.
- `live_runs`: start a run, watch it, stop it and go on with it.
- `debugger`: why a query got these results: searches made now, and recorded ones.
- `search_form`: the controls of the debugger, as a search, a spec and a command.
- `debugged_search`: a search taken apart.
- `debugged_run`: one query of a run taken apart.
- `ranked_lists`: lists side by side, the lines between them, and their difference.
- `runs`: finished runs, comparisons and reports.
- `timeline`: the steps of a change, from the audit log.
- `run_history`: the chart of a metric over runs.
- `notices`: a sentence that the page after a form shows once.
- `experiments`: changes that can be switched, and their tests.
- `labelling`: label candidates one by one.
- `traces`: traces of other systems, and one of them as a waterfall.
- `administration`: audit log, tokens, sign-ins and settings.
"""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError
from assay.evaluation.run_catalogue import RunCatalogue
from assay.server.errors import PAGE, to_json_response
from assay.server.pages import (
    administration,
    analysis,
    answers,
    debugger,
    experiments,
    find,
    labelling,
    live_runs,
    memory,
    memory_adding,
    memory_inbox,
    memory_one,
    overview,
    page,
    runs,
    traces,
)
from assay.server.pages.page import LastFew
from assay.server.routing import with_act
from assay.server.services import REQUEST_ID

__all__ = ["add_pages"]

PAGES = (
    answers.ask_pages,
    find.pages,
    memory_inbox.pages,
    memory_adding.pages,
    memory_one.pages,
    memory.pages,
    overview.pages,
    debugger.pages,  # before the explorer, whose address of one question would take the old one of searches
    answers.explorer_pages,
    analysis.pattern_pages,
    analysis.prompt_pages,
    live_runs.pages,
    runs.pages,
    experiments.pages,
    labelling.pages,
    traces.pages,
    administration.audit_pages,
    administration.token_pages,
    administration.sign_in_pages,
    administration.settings_pages,
)


def add_pages(app: FastAPI) -> None:
    """Add every page, and the files that pages need, to the application."""
    for pages in PAGES:
        pages.add_to(app)
    answers.add_events(app)
    app.state.reports = LastFew()
    app.state.comparisons = LastFew()
    app.state.shortcomings = LastFew()
    app.state.run_catalogue = RunCatalogue()
    app.state.analyses = LastFew()
    app.state.alerts = LastFew()
    app.state.summed_questions = LastFew()
    app.state.memory_counts = LastFew()
    app.state.memory_copies = LastFew()
    app.state.debugged_runs = LastFew()
    setattr(app.state, PAGE, partial(page.show_error, app))
    app.add_api_route(
        page.ASSETS_PATH + "/{name}", _asset, methods=["GET"], include_in_schema=False, response_model=None
    )


@with_act(acts.PAGE_ASSET)
async def _asset(request: Request, name: str) -> Response:
    try:
        found = page.read_asset(name)
    except AssayError as problem:
        return to_json_response(problem, str(request.scope.get(REQUEST_ID, "")))
    headers = {"Cache-Control": page.KEEP_FOR_EVER, "ETag": f'"{found.version}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)
