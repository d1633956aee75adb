"""Pages of the analysis: patterns and prompts.

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
from assay.analysis.offline import analyze
from assay.errors import NothingMeasured
from assay.presentation import charts
from assay.records.analysis import Analysis
from assay.records.research_log import PromptVersion, ResearchFilter
from assay.server.pages import filters
from assay.server.pages.page import LastFew, Page, Pages, PageView, go_to
from assay.verbs import prompts as prompt_verbs

# --- `/evaluation/patterns`: kinds of questions that score lower ---

pattern_pages = Pages("patterns")
SHOWN = 12
"""Questions listed with each pattern."""
AT_ONCE = 5_000
"""Sessions that are analysed at once; more take seconds, so the page offers a button first."""


@pattern_pages.get("/evaluation/patterns", acts.PATTERN_READ)
def list_patterns(view: PageView) -> Page:
    """Show the patterns that the analysis finds in the questions of a time range."""
    chosen = filters.time_range(view.query, view.clock.now(), default="90d")
    wanted = filters.research_filter(view.query, chosen)
    if wanted.since is not None:
        # Rounded to the hour, so that the same page a minute later finds the analysis in the cache.
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
def apply(view: PageView) -> Response:
    """Add a suggestion to its prompt as a new version, and use that version."""
    prompt_id = view.form_value("prompt_id")
    made = view.call(
        prompt_verbs.WRITE, prompt_id=prompt_id, sentence=view.form_value("sentence"), note="from a pattern"
    )
    return go_to(f"/evaluation/prompts/{prompt_id}?first={max(made.version - 1, 0)}&second={made.version}")


# --- `/evaluation/prompts`: prompts, their versions, and comparisons ---

prompt_pages = Pages("prompts")
_MOST_VERSIONS = 1_000_000


@prompt_pages.get("/evaluation/prompts", acts.PROMPT_READ)
def list_prompts(view: PageView) -> Page:
    """List the prompts with their wording in use."""
    used = {prompt.prompt_id: prompt for prompt in view.call(prompt_verbs.LIST).prompts}
    counts = {name: len(_versions(view, name)) for name in used}
    models = bool(view.settings.model_url)
    return Page(template="prompts.html", context={"used": used, "counts": counts, "models": models})


@prompt_pages.get("/evaluation/prompts/{prompt_id}", acts.PROMPT_READ)
def show_prompt(view: PageView) -> Page:
    """Show a prompt: its wording, its history, and two versions side by side."""
    prompt_id = view.path["prompt_id"]
    versions = _versions(view, prompt_id)
    now = next(version for version in versions if version.active)
    first, second = _choose_pair(view, [version.version for version in versions], now.version)
    context: dict[str, Any] = {
        "prompt_id": prompt_id, "versions": versions, "used": now, "first": first, "second": second,
        "diff": [], "compared": None, "figure": None, "not_compared": "", "asked": _count_questions(view, versions),
        "said": view.notice, "models": bool(view.settings.model_url), **_split(view, prompt_id),
    }  # fmt: skip
    if first != second:
        pair = {"prompt_id": prompt_id, "first": first, "second": second}
        context |= {"diff": view.call(prompt_verbs.DIFF, **pair).diff.splitlines(), **_compare_pair(view, pair)}
    return Page(template="prompt.html", context=context)


def _versions(view: PageView, prompt_id: str) -> tuple[PromptVersion, ...]:
    return view.call(prompt_verbs.VERSIONS, prompt_id=prompt_id).versions


def _split(view: PageView, prompt_id: str) -> dict[str, Any]:
    """Return the state of the last split between two versions, or None if there was none."""
    try:
        standing = view.call(prompt_verbs.SHOW_SPLIT, prompt_id=prompt_id)
    except NothingMeasured:
        return {"split": None, "standing": None}
    return {"split": standing.split, "standing": standing}


def _choose_pair(view: PageView, numbers: list[int], now: int) -> tuple[int, int]:
    """Return the two versions that the address names; by default the version in use and the one before it."""
    first = filters.whole(view.query, "first", most=_MOST_VERSIONS)
    second = filters.whole(view.query, "second", most=_MOST_VERSIONS)
    earlier = max((number for number in numbers if number < now), default=now)
    return earlier if first is None else first, now if second is None else second


def _count_questions(view: PageView, versions: tuple[PromptVersion, ...]) -> dict[int, int]:
    """Return how many questions used each version."""
    with view.engine.store.reading(view.scope) as work:
        return {
            version.version: work.research.count(ResearchFilter(prompt_version=version.key)) for version in versions
        }


def _compare_pair(view: PageView, pair: Mapping[str, Any]) -> dict[str, Any]:
    try:
        comparison = view.call(prompt_verbs.COMPARE, **pair)
    except NothingMeasured as problem:
        return {"not_compared": f"{problem.message[:1].upper()}{problem.message[1:]}."}
    shown = [
        charts.ChartChange(metric.metric, metric.delta, metric.low, metric.high, metric.verdict.value)
        for metric in comparison.metrics
        if metric.delta is not None
    ]
    return {"compared": comparison, "figure": charts.changes(shown) if shown else None}


@prompt_pages.post("/evaluation/prompts/{prompt_id}", acts.PROMPT_CHANGE)
def write(view: PageView) -> Response:
    """Add a new version of a prompt."""
    prompt_id = view.path["prompt_id"]
    text = view.form_value("text").replace("\r\n", "\n")
    active = view.form.get("active") == "yes"
    note = view.form.get("note", "").strip()
    made = view.call(prompt_verbs.WRITE, prompt_id=prompt_id, text=text, note=note, active=active)
    return view.go_to(f"/evaluation/prompts/{prompt_id}?second={made.version}", f"Version {made.version} is kept")


@prompt_pages.post("/evaluation/prompts/{prompt_id}/use", acts.PROMPT_CHANGE)
def use(view: PageView) -> Response:
    """Use another version of a prompt."""
    prompt_id = view.path["prompt_id"]
    version = filters.whole(view.form, "version", most=_MOST_VERSIONS) or 0
    view.call(prompt_verbs.USE, prompt_id=prompt_id, version=version)
    return view.go_to(f"/evaluation/prompts/{prompt_id}", f"Version {version} is in use")


@prompt_pages.post("/evaluation/prompts/{prompt_id}/split", acts.PROMPT_CHANGE)
def split(view: PageView) -> Response:
    """Use another version for half of the questions, or end such a split."""
    prompt_id = view.path["prompt_id"]
    if view.form.get("end") == "yes":
        view.call(prompt_verbs.END_SPLIT, prompt_id=prompt_id)
        return view.go_to(f"/evaluation/prompts/{prompt_id}", "The split has ended")
    second = filters.whole(view.form, "second", most=_MOST_VERSIONS) or 0
    made = view.call(prompt_verbs.SPLIT, prompt_id=prompt_id, version=second).split
    said = f"Half of the questions go to version {made.second} from now on"
    return view.go_to(f"/evaluation/prompts/{prompt_id}?first={made.first}&second={made.second}", said)
