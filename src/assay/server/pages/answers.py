"""Pages of questions and their answers: ask, watch, and look at earlier ones.

- `/` and `/answers/ID`: ask a question, and the answer with its scores.
- `/evaluation/queries`: every answered question, and one of them step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from fastapi import FastAPI, Request
from sse_starlette import ServerSentEvent
from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError, NotReady
from assay.presentation import charts
from assay.records import Scope
from assay.records.research import Dimension
from assay.records.research_log import ResearchAnswer, ResearchFilter, ResearchPage, ResearchSession, StoredResearch
from assay.research.attempts import find_chosen_answer, find_chosen_plan
from assay.research.rating import find_citations
from assay.research.record import FORMAT
from assay.server.errors import to_json_response as told
from assay.server.pages import filters
from assay.server.pages.lists import MOST_EXPORTED, ListColumn, ListSort, PageList, read_sort
from assay.server.pages.memory import search_to_explain, steps_of
from assay.server.pages.page import Page, Pages, PageView, go_to, vote_word
from assay.server.pages.question import draw_timeline, find_beside, link_sentences
from assay.server.routing import with_act
from assay.server.services import REQUEST_ID, Lane, scope_of, services_of
from assay.server.streaming import LiveQuestions, as_sent
from assay.storage import Store
from assay.storage.repositories.research import ORDERS
from assay.storage.work import Work
from assay.verbs import Caller
from assay.verbs import research as research_verbs

# --- `/` and `/answers/ID`: ask a question, and the answer with its scores ---
#
# The form starts a question and redirects to `/ask/TICKET`, where server-sent events fill in the stages. When the
# answer is ready, the page shows the content of `/ask/TICKET/answer`, and the address becomes that of the stored
# answer.

ask_pages = Pages("ask")
RECENT = 6
EVENTS = "/ask/{ticket}/events"


def add_events(app: FastAPI) -> None:
    """Add the address that streams the steps of a question to the application."""
    app.add_api_route(EVENTS, _events, methods=["GET"], include_in_schema=False, response_model=None)


def _live(view: PageView) -> LiveQuestions:
    return services_of(view.request).live


@ask_pages.get("/", acts.ANSWER_READ)
def show_front(view: PageView) -> Page:
    """Show the form for a question, and the latest questions."""
    with view.engine.store.reading(view.scope) as work:
        recent = work.research.page(limit=RECENT).sessions
        memories = work.memories.count()
    return Page(
        template="ask.html", context={"recent": recent, "memories": memories, "question": view.query_value("q")}
    )


@ask_pages.post("/ask", acts.ANSWER_ASK)
def ask(view: PageView) -> Response:
    """Start answering a question."""
    question = view.form_value("question").strip()
    request = research_verbs.ASK.make({"question": question})
    return _answer_live(view, question, lambda caller: research_verbs.ASK.call(caller, request))


@ask_pages.post("/answers/{log_id}/retry", acts.ANSWER_ASK)
def retry(view: PageView) -> Response:
    """Answer an earlier question again with a wider search."""
    log_id = view.path["log_id"]
    question = view.call(research_verbs.SHOW, log_id=log_id).session.question
    request = research_verbs.RETRY.make({"log_id": log_id})
    return _answer_live(view, question, lambda caller: research_verbs.RETRY.call(caller, request))


def _answer_live(view: PageView, question: str, answer: Callable[[Caller], ResearchAnswer]) -> Response:
    """Start answering, and redirect to the page that shows every step."""
    caller = view.caller
    live = _live(view).start(view.scope, question, lambda listen: answer(replace(caller, listen=listen)))
    return go_to(f"/ask/{live.ticket}")


@ask_pages.get("/ask/{ticket}", acts.ANSWER_READ)
def watch(view: PageView) -> Page | Response:
    """Show a question that is being answered; redirect to the answer once there is one."""
    live = _live(view).get(view.scope, view.path["ticket"])
    if live.log_id:
        return go_to(f"/answers/{live.log_id}")
    return Page(template="ask_live.html", context={"live": live})


@ask_pages.get("/ask/{ticket}/answer", acts.ANSWER_READ)
def show_new_answer(view: PageView) -> Page:
    """Return the part of the page that shows the answer of a live question."""
    live = _live(view).get(view.scope, view.path["ticket"])
    if not live.ended:
        raise NotReady("the question is still being answered", remedy="Wait for the last event.")
    if not live.log_id:
        return Page(template="ask_problem.html", context={"live": live})
    return Page(template="answer_part.html", context=_answer_context(view, live.log_id))


@ask_pages.get("/answers/{log_id}", acts.ANSWER_READ)
def show_answer(view: PageView) -> Page:
    """Show a stored answer."""
    return Page(template="answer.html", context=_answer_context(view, view.path["log_id"]))


@ask_pages.post("/answers/{log_id}/rating", acts.ANSWER_RATE)
def rate(view: PageView) -> Response:
    """Rate an answer as useful or useless."""
    log_id, useful = view.path["log_id"], view.form_value("was_useful") == "yes"
    votes = view.call(research_verbs.RATE, log_id=log_id, was_useful=useful).memories
    return view.go_to(f"/answers/{log_id}", vote_word(votes, useful=useful))


def _answer_context(view: PageView, log_id: str) -> dict[str, Any]:
    found = view.call(research_verbs.SHOW, log_id=log_id)
    return {"session": found.session, **describe_session(found), "said": view.notice}


def describe_session(found: StoredResearch) -> dict[str, Any]:
    """Return what a page shows of a session: stages with their attempts, the answer, passages and notices.

    A record that was erased, or written by another version, has none of them.
    """
    trace = found.trace
    if trace is None or trace.get("format") != FORMAT:
        return {
            "trace": None,
            "stages": [],
            "answer": None,
            "said": "",
            "rateable": False,
            "passages": [],
            "readings": {},
            "evidence": None,
            "notices": [],
            **link_sentences(None, ()),
        }
    planned, sought, made = (trace[f"{name}_evaluation"] for name in ("plan", "retrieval", "answer"))
    stages: list[dict[str, Any]] = [
        {"name": "plan", "title": "Plan", "attempts": planned["attempts"], "score": found.session.plan_score},
        {
            "name": "search", "title": "Sources", "attempts": [{"number": 1, "result": sought["result"]}],
            "score": found.session.retrieval_score,
        },
        {"name": "answer", "title": "Answer", "attempts": made["attempts"], "score": found.session.answer_score},
    ]  # fmt: skip
    chosen = {"plan": find_chosen_plan(trace), "search": stages[1]["attempts"][0], "answer": find_chosen_answer(trace)}
    shown = chosen["answer"]
    withheld = found.session.status.value == "withheld"
    answer = None if shown is None or withheld else shown["synthesis"]
    return {
        "trace": trace,
        "stages": [{**stage, "chosen": chosen[stage["name"]]} for stage in stages],
        "answer": answer,
        **link_sentences(answer, sought["passages"]),
        "said": "",
        "rateable": bool(find_citations(trace)),
        "passages": sought["passages"],
        "readings": {reading["number"]: reading for reading in sought.get("sources", ())},
        "evidence": trace.get("evidence"),
        "notices": trace["notices"],
        "bars": trace["settings"]["panel"]["bars"],
        "thresholds": trace["settings"]["panel"]["thresholds"],
    }


@with_act(acts.ANSWER_READ)
async def _events(request: Request, ticket: str) -> Response:
    services = services_of(request)
    try:
        live = await services.run(partial(services.live.get, scope_of(request), ticket), Lane.PAGES)
    except AssayError as problem:
        return told(problem, str(request.scope.get(REQUEST_ID, "")))

    def last() -> ServerSentEvent | None:
        # Without this event the browser reconnects by itself: the server was stopped before the answer was ready.
        return as_sent("ended", {"log_id": live.log_id, "problem": live.problem}) if live.ended else None

    given = request.headers.get("last-event-id", "")
    after = int(given) if given.isascii() and given.isdigit() and len(given) < 9 else 0
    return services.streams.respond(live.feed, last, after=after, numbered=True)


# --- `/evaluation/queries`: every answered question, and one of them step by step ---

explorer_pages = Pages("queries")
LISTED = 50
_MOST_ID = 2**62


@explorer_pages.get("/evaluation/queries", acts.ANSWER_READ)
def list_questions(view: PageView) -> Page:
    """List matching questions, newest first."""
    chosen = filters.time_range(view.query, view.clock.now(), default="all")
    wanted = filters.research_filter(view.query, chosen)
    sort = read_sort(view.query, QUESTION_COLUMNS)
    begin = "after" if sort is None else "begin"
    place = filters.whole(view.query, begin, most=_MOST_ID)
    store = view.engine.store
    with store.reading(view.scope) as work:
        if sort is None:
            page = work.research.page(wanted, after=place, limit=LISTED)
        else:
            page = _sorted_page(work, wanted, sort, place or 0)
        ever = bool(page.sessions) or bool(work.research.page(limit=1).sessions)
        total = work.research.count(wanted)
    listed = PageList(
        view=view,
        name="questions",
        what="question",
        columns=QUESTION_COLUMNS,
        rows=page.sessions,
        total=total,
        sort=sort,
        every=lambda: _every_question(store, view.scope, wanted, sort),
    )
    return Page(
        template="queries.html",
        listed=listed,
        context={
            "sessions": page.sessions,
            "next": None if page.after is None else view.with_query(**{begin: page.after}),
            "first": view.with_query(**{begin: None}) if place else None,
            "any_time": view.with_query(**{"from": None, "to": None, "after": None, "begin": None}),
            "chosen": chosen,
            "ranges": filters.RANGES,
            "dimensions": [dimension.value for dimension in Dimension],
            "given": {name: view.query_value(name) for name in _FILTERS},
            "filtered": any(view.query_value(name) for name in (*_FILTERS, "range", "from", "to")),
            "ever": ever,
        },
    )


def _sorted_page(work: Work, wanted: ResearchFilter, sort: ListSort, begin: int) -> ResearchPage:
    """Return a page of questions in another order than that of time; it begins behind so many."""
    rows = work.research.ordered(wanted, sort.name, descending=sort.descending, begin=begin, limit=LISTED + 1)
    return ResearchPage(tuple(rows[:LISTED]), begin + LISTED if len(rows) > LISTED else None)


def _every_question(
    store: Store, scope: Scope, wanted: ResearchFilter, sort: ListSort | None
) -> Sequence[ResearchSession]:
    """Return all matching questions, for an export."""
    order = sort or ListSort("created_at", descending=True)
    with store.reading(scope) as work:
        return work.research.ordered(wanted, order.name, descending=order.descending, limit=MOST_EXPORTED)


def _column(name: str, title: str, *, numeric: bool = True, shown: bool = True) -> ListColumn[ResearchSession]:
    return ListColumn(
        name=name, title=title, value=attrgetter(name), numeric=numeric, shown=shown, sorts=name in ORDERS
    )


QUESTION_COLUMNS: tuple[ListColumn[ResearchSession], ...] = (
    _column("question", "question", numeric=False),
    _column("overall_score", "overall"),
    _column("plan_score", "plan"),
    _column("retrieval_score", "sources"),
    _column("answer_score", "answer"),
    _column("iterations", "plans"),
    ListColumn(name="outcome", value=lambda one: one.outcome.value if one.outcome else None, sorts=False),
    ListColumn(name="created_at", title="asked", value=attrgetter("created_at"), numeric=True),
    _column("passed", "passed", shown=False),
    _column("failure_type", "failure", numeric=False, shown=False),
    _column("latency_ms", "time", shown=False),
    _column("tokens", "tokens", shown=False),
    _column("log_id", "id", numeric=False, shown=False),
)
"""What the list of questions shows and exports."""
_FILTERS = (
    "text",
    "least",
    "most",
    "outcome",
    "passed",
    "failure",
    "dimension",
    "escalated",
    "iterations",
    "severe",
    "prompt",
)


@explorer_pages.get("/evaluation/queries/search", acts.MEMORY_SEARCH)
def explain_search(view: PageView) -> Page:
    """Explain one search: the result of every step, and how each score is made up."""
    words = view.query_value("q")
    found = search_to_explain(view, words) if words else None
    steps = None if found is None else charts.steps(steps_of(found))
    return Page(template="explain.html", context={"words": words, "found": found, "steps": steps})


@explorer_pages.get("/evaluation/queries/{log_id}", acts.ANSWER_READ)
def show_question(view: PageView) -> Page:
    """Show one question: plan attempts, passages, answer, and every score with its judge."""
    found = view.call(research_verbs.SHOW, log_id=view.path["log_id"])
    return Page(
        template="query.html",
        context={
            "session": found.session,
            **describe_session(found),
            "timeline": draw_timeline(view, found),
            "beside": find_beside(view, found),
        },
    )
