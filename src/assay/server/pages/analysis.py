"""Pages of the analysis: overview, patterns, and prompts.

- `/evaluation`: totals, distribution, failures and trend.
- `/evaluation/patterns`: kinds of questions that score lower.
- `/evaluation/prompts`: prompts, their versions, and comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from assay.access import acts
from assay.analysis.aggregates import aggregate, summarize
from assay.analysis.offline import analyze
from assay.errors import NothingMeasured
from assay.presentation import charts
from assay.presentation.wording import GOOD_SCORE
from assay.records.analysis import Aggregates, Analysis, ScoreSummary
from assay.records.research import DIMENSIONS
from assay.records.research_log import DayOfResearch, PromptVersion, ResearchFilter
from assay.server.pages import filters
from assay.server.pages.page import LastFew, Page, Pages, View, go_to
from assay.verbs import prompts as prompt_verbs

# --- `/evaluation`: totals, distribution, failures and trend ---

overview_pages = Pages("overview")


@overview_pages.get("/evaluation", acts.ANSWER_READ)
def overview(view: View) -> Page:
    """Everything that was asked in a range of time."""
    chosen = filters.time_range(view.query, view.clock.now())
    with view.engine.store.reading(view.scope) as work:
        wanted = filters.research_filter(view.query, chosen)
        totals, asked_again = work.research.totals(wanted), work.research.asked_again(wanted)
        ever = bool(totals.sessions) or bool(work.research.page(limit=1).sessions)
    found = aggregate(totals, asked_again)
    return Page(
        template="overview.html",
        context={
            "found": found,
            "ever": ever,
            "chosen": chosen,
            "ranges": filters.RANGES,
            "histogram": charts.histogram(found.histogram, bar=GOOD_SCORE) if found.sessions else None,
            "failures": _failures(found),
            "trend": charts.trend(_points(found, totals.days)) if found.sessions else None,
            "dimensions": [(one.value, [name.value for name in own]) for one, own in DIMENSIONS.items()],
            "questions": view.with_query(range=chosen.name or None).replace("/evaluation", "/evaluation/queries", 1),
        },
    )


def _points(found: Aggregates, days: tuple[DayOfResearch, ...]) -> list[charts.Point]:
    """Week by week; a single week day by day."""
    weeks = found.trend.weeks
    if len(weeks) > 1:
        return [_point(week.begins.isoformat(), week.score) for week in weeks]
    worth = found.asked_again.independent
    return [_point(day.day.isoformat(), summarize(day.score, worth)) for day in days]


def _point(at: str, score: ScoreSummary | None) -> charts.Point:
    if score is None:
        return charts.Point(at, None, None, None, 0)
    return charts.Point(at, score.mean.estimate, score.mean.low, score.mean.high, score.mean.n)


def _failures(found: Aggregates) -> charts.Figure | None:
    """The share of questions in which each dimension was below its bar."""
    shares = {one.dimension.replace("_", " "): one.share for one in found.failures if one.share is not None}
    return charts.bars(shares, what="share of questions", share=True) if shares else None


# --- `/evaluation/patterns`: kinds of questions that score lower ---

pattern_pages = Pages("patterns")
SHOWN = 12
"""Questions listed under a pattern."""
AT_ONCE = 5_000
"""Sessions that are looked through without being asked twice; more take seconds."""


@pattern_pages.get("/evaluation/patterns", acts.PATTERN_READ)
def found(view: View) -> Page:
    """What analysis finds in the questions of a time."""
    chosen = filters.time_range(view.query, view.clock.now(), default="90d")
    wanted = filters.research_filter(view.query, chosen)
    if wanted.since is not None:
        # To the hour, so that looking again a minute later is looking at the same.
        wanted = replace(wanted, since=wanted.since.replace(minute=0, second=0, microsecond=0))
    with view.engine.store.reading(view.scope) as work:
        sessions = work.research.totals(wanted).sessions
    key = (view.scope.tenant, wanted, sessions)
    analyses: LastFew[Analysis] = view.request.app.state.analyses
    analysis = analyses.find(key)
    if analysis is None and sessions and (sessions <= AT_ONCE or filters.yes(view.query, "look")):
        analysis = analyses.of(key, partial(analyze, view.engine.store, view.scope, wanted))
    context = {"analysis": analysis, "chosen": chosen, "ranges": filters.RANGES, "shown": SHOWN}
    return Page(
        template="patterns.html", context={**context, "sessions": sessions, "look": view.with_query(look="yes")}
    )


@pattern_pages.post("/evaluation/patterns/apply", acts.PROMPT_CHANGE)
def apply(view: View) -> Response:
    """Make a suggestion a new version of its prompt, in use from now on."""
    prompt_id = view.filled("prompt_id")
    made = view.call(prompt_verbs.WRITE, prompt_id=prompt_id, sentence=view.filled("sentence"), note="from a pattern")
    return go_to(f"/evaluation/prompts/{prompt_id}?first={max(made.version - 1, 0)}&second={made.version}")


# --- `/evaluation/prompts`: prompts, their versions, and comparisons ---

prompt_pages = Pages("prompts")
_MOST_VERSIONS = 1_000_000


@prompt_pages.get("/evaluation/prompts", acts.PROMPT_READ)
def listed(view: View) -> Page:
    """What each prompt says now."""
    used = {prompt.prompt_id: prompt for prompt in view.call(prompt_verbs.LIST).prompts}
    counts = {name: len(_versions(view, name)) for name in used}
    models = bool(view.settings.model_url)
    return Page(template="prompts.html", context={"used": used, "counts": counts, "models": models})


@prompt_pages.get("/evaluation/prompts/{prompt_id}", acts.PROMPT_READ)
def one_prompt(view: View) -> Page:
    """A prompt: its wording, its history, and two versions side by side."""
    prompt_id = view.path["prompt_id"]
    versions = _versions(view, prompt_id)
    now = next(version for version in versions if version.active)
    first, second = _chosen(view, [version.version for version in versions], now.version)
    context: dict[str, Any] = {
        "prompt_id": prompt_id, "versions": versions, "used": now, "first": first, "second": second,
        "diff": [], "compared": None, "figure": None, "not_compared": "", "asked": _asked(view, versions),
        "said": view.asked("said"), "models": bool(view.settings.model_url), **_split(view, prompt_id),
    }  # fmt: skip
    if first != second:
        pair = {"prompt_id": prompt_id, "first": first, "second": second}
        context |= {"diff": view.call(prompt_verbs.DIFF, **pair).diff.splitlines(), **_compared(view, pair)}
    return Page(template="prompt.html", context=context)


def _versions(view: View, prompt_id: str) -> tuple[PromptVersion, ...]:
    return view.call(prompt_verbs.VERSIONS, prompt_id=prompt_id).versions


def _split(view: View, prompt_id: str) -> dict[str, Any]:
    """How the last split of its questions stands; None: there was none."""
    try:
        standing = view.call(prompt_verbs.SHOW_SPLIT, prompt_id=prompt_id)
    except NothingMeasured:
        return {"split": None, "standing": None}
    return {"split": standing.split, "standing": standing}


def _chosen(view: View, numbers: list[int], now: int) -> tuple[int, int]:
    """The two that the address names, else the one before the one in use, and that."""
    first = filters.whole(view.query, "first", most=_MOST_VERSIONS)
    second = filters.whole(view.query, "second", most=_MOST_VERSIONS)
    earlier = max((one for one in numbers if one < now), default=now)
    return earlier if first is None else first, now if second is None else second


def _asked(view: View, versions: tuple[PromptVersion, ...]) -> dict[int, int]:
    """How many questions used each version."""
    with view.engine.store.reading(view.scope) as work:
        return {one.version: work.research.count(ResearchFilter(prompt_version=one.key)) for one in versions}


def _compared(view: View, pair: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = view.call(prompt_verbs.COMPARE, **pair)
    except NothingMeasured as problem:
        return {"not_compared": f"{problem.message[:1].upper()}{problem.message[1:]}."}
    shown = [
        charts.ChartChange(one.metric, one.delta, one.low, one.high, one.verdict.value)
        for one in found.metrics
        if one.delta is not None
    ]
    return {"compared": found, "figure": charts.changes(shown) if shown else None}


@prompt_pages.post("/evaluation/prompts/{prompt_id}", acts.PROMPT_CHANGE)
def write(view: View) -> Response:
    """A new version."""
    prompt_id = view.path["prompt_id"]
    text = view.filled("text").replace("\r\n", "\n")
    active = view.form.get("active") == "yes"
    note = view.form.get("note", "").strip()
    made = view.call(prompt_verbs.WRITE, prompt_id=prompt_id, text=text, note=note, active=active)
    return go_to(f"/evaluation/prompts/{prompt_id}?second={made.version}&said=Version+{made.version}+is+kept")


@prompt_pages.post("/evaluation/prompts/{prompt_id}/use", acts.PROMPT_CHANGE)
def use(view: View) -> Response:
    """Switch to a version."""
    prompt_id = view.path["prompt_id"]
    version = filters.whole(view.form, "version", most=_MOST_VERSIONS) or 0
    view.call(prompt_verbs.USE, prompt_id=prompt_id, version=version)
    return go_to(f"/evaluation/prompts/{prompt_id}?said=Version+{version}+is+in+use")


@prompt_pages.post("/evaluation/prompts/{prompt_id}/split", acts.PROMPT_CHANGE)
def split(view: View) -> Response:
    """Ask half of the questions with another version, or end that."""
    prompt_id = view.path["prompt_id"]
    if view.form.get("end") == "yes":
        view.call(prompt_verbs.END_SPLIT, prompt_id=prompt_id)
        return go_to(f"/evaluation/prompts/{prompt_id}?said=The+split+has+ended")
    second = filters.whole(view.form, "second", most=_MOST_VERSIONS) or 0
    made = view.call(prompt_verbs.SPLIT, prompt_id=prompt_id, version=second).split
    said = f"Half+of+the+questions+go+to+version+{made.second}+from+now+on"
    return go_to(f"/evaluation/prompts/{prompt_id}?first={made.first}&second={made.second}&said={said}")
