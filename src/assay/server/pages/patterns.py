"""`/evaluation/patterns`: kinds of questions that score lower, what they have in common, and what could be changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from starlette.responses import Response

from assay.access import acts
from assay.analysis.offline import analyze
from assay.records.analysis import Analysis
from assay.server.pages import asking_for
from assay.server.pages.kept import LastFew
from assay.server.pages.viewing import Page, Pages, View, go_to
from assay.verbs import prompts as prompt_verbs

pages = Pages("patterns")
SHOWN = 12
"""Questions listed under a pattern."""
AT_ONCE = 5_000
"""Sessions that are looked through without being asked twice; more take seconds."""


@pages.get("/evaluation/patterns", acts.PATTERN_READ)
def found(view: View) -> Page:
    """What analysis finds in the questions of a time."""
    chosen = asking_for.time_range(view.query, view.clock.now(), default="90d")
    wanted = asking_for.research_filter(view.query, chosen)
    if wanted.since is not None:
        # To the hour, so that looking again a minute later is looking at the same.
        wanted = replace(wanted, since=wanted.since.replace(minute=0, second=0, microsecond=0))
    with view.engine.store.reading(view.scope) as work:
        sessions = work.research.totals(wanted).sessions
    key = (view.scope.tenant, wanted, sessions)
    analyses: LastFew[Analysis] = view.request.app.state.analyses
    analysis = analyses.find(key)
    if analysis is None and sessions and (sessions <= AT_ONCE or asking_for.yes(view.query, "look")):
        analysis = analyses.of(key, partial(analyze, view.engine.store, view.scope, wanted))
    context = {"analysis": analysis, "chosen": chosen, "ranges": asking_for.RANGES, "shown": SHOWN}
    return Page(
        template="patterns.html", context={**context, "sessions": sessions, "look": view.with_query(look="yes")}
    )


@pages.post("/evaluation/patterns/apply", acts.PROMPT_CHANGE)
def apply(view: View) -> Response:
    """Make a suggestion a new version of its prompt, in use from now on."""
    prompt_id = view.filled("prompt_id")
    made = view.call(prompt_verbs.WRITE, prompt_id=prompt_id, sentence=view.filled("sentence"), note="from a pattern")
    return go_to(f"/evaluation/prompts/{prompt_id}?first={max(made.version - 1, 0)}&second={made.version}")
