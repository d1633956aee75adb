"""`/evaluation/queries`: every question that was answered, by filter and cursor; and one of them, step by step."""

from __future__ import annotations

from assay.access import acts
from assay.presentation import charts
from assay.records.research import Dimension
from assay.server.pages import asking_for
from assay.server.pages.ask import told_of
from assay.server.pages.memory import search_to_explain, steps_of
from assay.server.pages.viewing import Page, Pages, View
from assay.verbs import research as research_verbs

pages = Pages("queries")
LISTED = 50
_MOST_ID = 2**62


@pages.get("/evaluation/queries", acts.ANSWER_READ)
def listed(view: View) -> Page:
    """The newest first."""
    chosen = asking_for.time_range(view.query, view.clock.now(), default="all")
    wanted = asking_for.research_filter(view.query, chosen)
    after = asking_for.whole(view.query, "after", most=_MOST_ID)
    with view.engine.store.reading(view.scope) as work:
        page = work.research.page(wanted, after=after, limit=LISTED)
        ever = bool(page.sessions) or bool(work.research.page(limit=1).sessions)
    return Page(
        template="queries.html",
        context={
            "sessions": page.sessions,
            "next": None if page.after is None else view.with_query(after=page.after),
            "first": view.with_query(after=None) if after is not None else None,
            "chosen": chosen,
            "ranges": asking_for.RANGES,
            "dimensions": [one.value for one in Dimension],
            "given": {name: view.asked(name) for name in _FILTERS},
            "filtered": any(view.asked(name) for name in (*_FILTERS, "range", "from", "to")),
            "ever": ever,
        },
    )


_FILTERS = ("text", "least", "most", "passed", "failure", "dimension", "escalated", "iterations", "severe", "prompt")


@pages.get("/evaluation/queries/search", acts.MEMORY_SEARCH)
def explained(view: View) -> Page:
    """One search, explained: what every step did, and where each score comes from."""
    words = view.asked("q")
    found = search_to_explain(view, words) if words else None
    steps = None if found is None else charts.steps(steps_of(found))
    return Page(template="explain.html", context={"words": words, "found": found, "steps": steps})


@pages.get("/evaluation/queries/{log_id}", acts.ANSWER_READ)
def one_question(view: View) -> Page:
    """One question: plan attempts, passages, answer, and every score with who gave it."""
    found = view.call(research_verbs.SHOW, log_id=view.path["log_id"])
    return Page(template="query.html", context={"session": found.session, **told_of(found)})
