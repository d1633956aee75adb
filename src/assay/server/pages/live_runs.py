"""`/evaluation/runs/start` and `/evaluation/runs/{run_id}/live`: start a run, watch it, stop it, go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from assay.access import acts
from assay.errors import BadValue
from assay.evaluation.running.live import LiveLook, LivePhase, LiveRun, find_current
from assay.evaluation.running.progress import read_progress
from assay.presentation.wording import count_of
from assay.records import Mode
from assay.server.pages import filters
from assay.server.pages.page import Page, Pages, PageView, go_to
from assay.verbs import Verb
from assay.verbs import runs as run_verbs
from assay.verbs.runs import MOST_CASES, StartRunRequest, check_system

pages = Pages("runs")
ADDRESS = "/evaluation/runs"
PLAIN = ""
"""The choice of a system without a change."""
DEFAULT_CASES = 200
MOST_RESULTS = 1_000
WIDTH, HEIGHT = 600.0, 160.0
"""Of the drawing of the running mean, in its own units."""


@pages.get(f"{ADDRESS}/start", acts.RUN_START)
def show_form(view: PageView) -> Page | Response:
    """Ask what to run; while a run is in progress, show that one."""
    current = find_current(view.shelf.runs_folder)
    if current:
        return go_to(f"{ADDRESS}/{current}/live")
    return Page(
        template="run_start.html",
        context={
            "datasets": view.shelf.dataset_names(),
            "dataset": view.query_value("dataset"),
            "modes": [mode.value for mode in Mode],
            "changes": list_changes(view),
            "change": view.query_value("change"),
            "cases": DEFAULT_CASES,
            "most": MOST_CASES,
            "most_results": MOST_RESULTS,
        },
    )


def list_changes(view: PageView) -> list[tuple[str, str]]:
    """Return the changes that a run can be made with: flags on and off, and variants that the server may run."""
    states = view.engine.flag_states(view.scope)
    flags = [state.flag.name for state in states.values() if not state.flag.spec]
    switched = [(f"{name}={value}", f"{name} {value}") for name in flags for value in ("on", "off")]
    return [*((name, f"variant {name}") for name in _runnable_variants(view)), *switched]


def _runnable_variants(view: PageView) -> list[str]:
    found = []
    for state in view.engine.flag_states(view.scope).variants:
        try:
            check_system(state.flag.spec)
        except BadValue:
            continue
        found.append(state.flag.name)
    return found


@pages.post(f"{ADDRESS}/start", acts.RUN_START)
def start(view: PageView) -> Response:
    """Begin the run, and show it live."""
    request = _call_request(view, run_verbs.START)
    run_id = view.services.live_runs.start(view.caller, request)
    return go_to(f"{ADDRESS}/{run_id}/live")


def _call_request(view: PageView, verb: Verb[StartRunRequest, Any]) -> StartRunRequest:
    """Return the request of the form, checked as the API checks it."""
    change, _, value = view.form.get("change", PLAIN).partition("=")
    return verb.make(
        {
            "dataset": view.form_value("dataset"),
            "mode": view.form.get("mode") or Mode.AUTO.value,
            "name": view.form.get("name", "").strip(),
            "k": filters.whole(view.form, "k", most=MOST_RESULTS),
            "max_cases": filters.whole(view.form, "cases", most=MOST_CASES) or DEFAULT_CASES,
            "flags": {change: value == "on"} if value else {},
            "variant": change if change and not value else "",
        }
    )


@pages.get(f"{ADDRESS}/{{run_id}}/live", acts.RUN_READ)
def show_live(view: PageView) -> Page | Response:
    """Show a run while it goes on, and after it was stopped."""
    state = view.shelf.read_live(view.path["run_id"])
    return Page(template="run_live.html", context=_describe(view, state))


@pages.get(f"{ADDRESS}/{{run_id}}/live/part", acts.RUN_READ)
def show_part(view: PageView) -> Page:
    """Show what of the page changes while the run goes on; a script puts it in place."""
    return Page(template="run_live_part.html", context=_describe(view, view.shelf.read_live(view.path["run_id"])))


@pages.post(f"{ADDRESS}/{{run_id}}/stop", acts.RUN_START)
def stop(view: PageView) -> Response:
    """Stop after the case at hand."""
    run_id = view.path["run_id"]
    view.services.live_runs.stop(view.caller, run_id)
    notice = "It stops after the case at hand. Cases that ended are kept."
    return view.go_to(f"{ADDRESS}/{run_id}/live", notice)


@pages.post(f"{ADDRESS}/{{run_id}}/resume", acts.RUN_START)
def resume(view: PageView) -> Response:
    """Go on with the cases that have not ended."""
    run_id = view.path["run_id"]
    view.services.live_runs.resume(view.caller, run_id)
    return view.go_to(f"{ADDRESS}/{run_id}/live", "It goes on with the cases that have not ended.")


class LiveCell(NamedTuple):
    """One square of the grid of cases."""

    kind: str
    says: str


def _describe(view: PageView, state: LiveRun) -> dict[str, Any]:
    look = state.looks[-1] if state.looks else None
    may_start = view.grant.allows(acts.RUN_START.policy)
    progress = read_progress(view.shelf.find_live(state.run_id).path)
    left = state.seconds_left(view.clock.now())
    resumable = not state.phase.goes_on and state.phase is not LivePhase.FINISHED and state.total > 0
    return {
        "run": state,
        "phase": state.phase.value,
        "goes_on": state.phase.goes_on,
        "finished": state.phase is LivePhase.FINISHED,
        "sentence": describe_phase(state),
        "cells": [_cell(case.status, case.value, case.case_id) for case in state.cases],
        "left": max(state.total - len(state.cases), 0),
        "look": look,
        "seconds_left": left if left is not None or progress is None else progress.seconds_left,
        "workers": () if progress is None else progress.workers,
        "drawing": draw_looks(state.looks, state.total),
        "may_stop": may_start and state.phase.goes_on and bool(state.who),
        "may_resume": may_start and resumable,
        "said": view.notice,
    }


def describe_phase(state: LiveRun) -> str:
    """Return where a run stands, in a sentence."""
    done = f"{len(state.cases):,} of {state.total:,} cases have ended"
    documents = "" if state.documents is None else f" {state.documents[0]:,} of {state.documents[1]:,} are in."
    return {
        LivePhase.WAITING: "Another run is measured first: two at once would distort each other's times.",
        LivePhase.PREPARING: f"Taking in the documents of {state.dataset}.{documents}",
        LivePhase.RUNNING: f"Asking: {done}.",
        LivePhase.FINISHED: f"Finished: {count_of(state.total, 'case')}. {state.problem}".strip(),
        LivePhase.STOPPED: f"Stopped: {done}. They are kept.",
        LivePhase.FAILED: f"Failed: {state.problem}",
        LivePhase.INTERRUPTED: f"The server ended in the middle: {done}. They are kept.",
    }[state.phase]


def _cell(status: str, value: float | None, case_id: str) -> LiveCell:
    if status != "ok":
        return LiveCell("is-broken", f"{case_id}: {status}")
    if value is None:
        return LiveCell("is-open", f"{case_id}: ended, no value")
    fifths = min(int(value * 5), 4) if 0.0 <= value <= 1.0 else 4
    return LiveCell(f"is-{fifths}", f"{case_id}: {value:.3f}")


class LookDrawing(NamedTuple):
    """The running mean and its interval as points of a drawing of `WIDTH` by `HEIGHT`."""

    line: str
    band: str
    end: tuple[float, float]


def draw_looks(looks: Sequence[LiveLook], total: int) -> LookDrawing | None:
    """Return the running mean from the first case to the last, 0 at the foot and 1 on top; None: nothing to draw."""
    if not looks or not total:
        return None
    line = [_point(look.cases, look.mean, total) for look in looks]
    known = [look for look in looks if look.low is not None and look.high is not None]
    upper = [_point(look.cases, look.high or 0.0, total) for look in known]
    lower = [_point(look.cases, look.low or 0.0, total) for look in reversed(known)]
    return LookDrawing(_join(line), _join([*upper, *lower]), line[-1])


def _point(cases: int, value: float, total: int) -> tuple[float, float]:
    return WIDTH * cases / total, HEIGHT * (1.0 - min(max(value, 0.0), 1.0))


def _join(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
