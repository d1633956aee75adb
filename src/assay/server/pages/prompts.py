"""`/evaluation/prompts`: every prompt with its versions, what changed between two, and what they led to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from assay.access import acts
from assay.errors import NothingMeasured
from assay.presentation import charts
from assay.records.research_log import PromptVersion, ResearchFilter
from assay.server.pages import asking_for
from assay.server.pages.viewing import Page, Pages, View, go_to
from assay.verbs import prompts as prompt_verbs

pages = Pages("prompts")
_MOST_VERSIONS = 1_000_000


@pages.get("/evaluation/prompts", acts.PROMPT_READ)
def listed(view: View) -> Page:
    """What each prompt says now."""
    used = {prompt.prompt_id: prompt for prompt in view.call(prompt_verbs.LIST).prompts}
    counts = {name: len(_versions(view, name)) for name in used}
    models = bool(view.settings.model_url)
    return Page(template="prompts.html", context={"used": used, "counts": counts, "models": models})


@pages.get("/evaluation/prompts/{prompt_id}", acts.PROMPT_READ)
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
    first = asking_for.whole(view.query, "first", most=_MOST_VERSIONS)
    second = asking_for.whole(view.query, "second", most=_MOST_VERSIONS)
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
        charts.Change(one.metric, one.delta, one.low, one.high, one.verdict.value)
        for one in found.metrics
        if one.delta is not None
    ]
    return {"compared": found, "figure": charts.changes(shown) if shown else None}


@pages.post("/evaluation/prompts/{prompt_id}", acts.PROMPT_CHANGE)
def write(view: View) -> Response:
    """A new version."""
    prompt_id = view.path["prompt_id"]
    text = view.filled("text").replace("\r\n", "\n")
    active = view.form.get("active") == "yes"
    note = view.form.get("note", "").strip()
    made = view.call(prompt_verbs.WRITE, prompt_id=prompt_id, text=text, note=note, active=active)
    return go_to(f"/evaluation/prompts/{prompt_id}?second={made.version}&said=Version+{made.version}+is+kept")


@pages.post("/evaluation/prompts/{prompt_id}/use", acts.PROMPT_CHANGE)
def use(view: View) -> Response:
    """Switch to a version."""
    prompt_id = view.path["prompt_id"]
    version = asking_for.whole(view.form, "version", most=_MOST_VERSIONS) or 0
    view.call(prompt_verbs.USE, prompt_id=prompt_id, version=version)
    return go_to(f"/evaluation/prompts/{prompt_id}?said=Version+{version}+is+in+use")


@pages.post("/evaluation/prompts/{prompt_id}/split", acts.PROMPT_CHANGE)
def split(view: View) -> Response:
    """Ask half of the questions with another version, or end that."""
    prompt_id = view.path["prompt_id"]
    if view.form.get("end") == "yes":
        view.call(prompt_verbs.END_SPLIT, prompt_id=prompt_id)
        return go_to(f"/evaluation/prompts/{prompt_id}?said=The+split+has+ended")
    second = asking_for.whole(view.form, "second", most=_MOST_VERSIONS) or 0
    made = view.call(prompt_verbs.SPLIT, prompt_id=prompt_id, version=second).split
    said = f"Half+of+the+questions+go+to+version+{made.second}+from+now+on"
    return go_to(f"/evaluation/prompts/{prompt_id}?first={made.first}&second={made.second}&said={said}")
