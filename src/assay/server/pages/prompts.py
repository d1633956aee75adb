"""`/evaluation/prompts`: every prompt with its versions, what changed between two, and what they led to."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from assay.access import acts
from assay.analysis.offline import compare_prompts
from assay.analysis.prompt_splits import standing
from assay.analysis.prompts import PromptBook, diff_of
from assay.errors import NothingMeasured
from assay.presentation import charts
from assay.records.research_log import ResearchFilter
from assay.server.pages import asking_for
from assay.server.pages.viewing import Page, Pages, View, go_to

pages = Pages("prompts")
_MOST_VERSIONS = 1_000_000
_SEED = 0


@pages.get("/evaluation/prompts", acts.PROMPT_READ)
def listed(view: View) -> Page:
    """What each prompt says now."""
    book = PromptBook(view.engine.store)
    used = book.in_use(view.scope)
    counts = {name: len(book.versions(view.scope, name)) for name in used}
    models = bool(view.settings.model_url)
    return Page(template="prompts.html", context={"used": used, "counts": counts, "models": models})


@pages.get("/evaluation/prompts/{prompt_id}", acts.PROMPT_READ)
def one_prompt(view: View) -> Page:
    """A prompt: its wording, its history, and two versions side by side."""
    prompt_id = view.path["prompt_id"]
    book = PromptBook(view.engine.store)
    versions = book.versions(view.scope, prompt_id)
    now = book.wording(view.scope, prompt_id)
    first, second = _chosen(view, [one.version for one in versions], now.version)
    context: dict[str, Any] = {
        "prompt_id": prompt_id, "versions": versions, "used": now, "first": first, "second": second,
        "diff": [], "compared": None, "figure": None, "not_compared": "", "asked": _asked(view, versions),
        "said": view.asked("said"), "models": bool(view.settings.model_url), **_split(view, book, prompt_id),
    }  # fmt: skip
    if first != second:
        pair = (book.wording(view.scope, prompt_id, one) for one in (first, second))
        context |= {"diff": diff_of(*pair).splitlines(), **_compared(view, prompt_id, first, second)}
    return Page(template="prompt.html", context=context)


def _split(view: View, book: PromptBook, prompt_id: str) -> dict[str, Any]:
    """How the last split of its questions stands; None: there was none."""
    split = book.last_split(view.scope, prompt_id)
    if split is None:
        return {"split": None, "standing": None}
    with view.engine.store.reading(view.scope) as work:
        return {"split": split, "standing": standing(work, split)}


def _chosen(view: View, numbers: list[int], now: int) -> tuple[int, int]:
    """The two that the address names, else the one before the one in use, and that."""
    first = asking_for.whole(view.query, "first", most=_MOST_VERSIONS)
    second = asking_for.whole(view.query, "second", most=_MOST_VERSIONS)
    earlier = max((one for one in numbers if one < now), default=now)
    return earlier if first is None else first, now if second is None else second


def _asked(view: View, versions: tuple[Any, ...]) -> dict[int, int]:
    """How many questions used each version."""
    with view.engine.store.reading(view.scope) as work:
        return {one.version: work.research.count(ResearchFilter(prompt_version=one.key)) for one in versions}


def _compared(view: View, prompt_id: str, first: int, second: int) -> dict[str, Any]:
    rng = np.random.default_rng(_SEED)
    try:
        found = compare_prompts(view.engine.store, view.scope, prompt_id, first, second, rng=rng)
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
    made = PromptBook(view.engine.store).write(
        view.scope, prompt_id, text, note=view.form.get("note", "").strip(), active=active
    )
    return go_to(f"/evaluation/prompts/{prompt_id}?second={made.version}&said=Version+{made.version}+is+kept")


@pages.post("/evaluation/prompts/{prompt_id}/use", acts.PROMPT_CHANGE)
def use(view: View) -> Response:
    """Switch to a version."""
    prompt_id = view.path["prompt_id"]
    version = asking_for.whole(view.form, "version", most=_MOST_VERSIONS) or 0
    PromptBook(view.engine.store).use(view.scope, prompt_id, version)
    return go_to(f"/evaluation/prompts/{prompt_id}?said=Version+{version}+is+in+use")


@pages.post("/evaluation/prompts/{prompt_id}/split", acts.PROMPT_CHANGE)
def split(view: View) -> Response:
    """Ask half of the questions with another version, or end that."""
    prompt_id = view.path["prompt_id"]
    book = PromptBook(view.engine.store)
    if view.form.get("end") == "yes":
        book.end_split(view.scope, prompt_id)
        return go_to(f"/evaluation/prompts/{prompt_id}?said=The+split+has+ended")
    second = asking_for.whole(view.form, "second", most=_MOST_VERSIONS) or 0
    made = book.split(view.scope, prompt_id, second)
    said = f"Half+of+the+questions+go+to+version+{made.second}+from+now+on"
    return go_to(f"/evaluation/prompts/{prompt_id}?first={made.first}&second={made.second}&said={said}")
