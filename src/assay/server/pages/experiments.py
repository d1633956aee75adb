"""`/evaluation/experiments`: every flag, its step on the ladder, and its test."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError
from assay.evaluation.experiments import Book, count_tries
from assay.flags import percent_of
from assay.presentation import charts
from assay.records import AbTestStatus
from assay.records.flags import VoteKind
from assay.server.pages.page import Page, Pages, PageView, go_to
from assay.storage import Work
from assay.verbs import flags as flag_verbs
from assay.verbs import ladder as ladder_verbs

pages = Pages("experiments")
BOOK = Path("experiments.json")
TRIED = 20
"""Offline experiments that are listed, the newest first."""
SHARES = (0, 5, 25, 50, 100)
"""Percentages that the form offers."""


@pages.get("/evaluation/experiments", acts.FLAG_READ)
def list_experiments(view: PageView) -> Page:
    """List every flag with its last step and its test, and the offline experiments."""
    with view.engine.store.reading(view.scope) as work:
        states = view.engine.flags.describe(work)
        steps = {name: work.ladder_steps.of(name) for name in work.ladder_steps.features()}
        tests = _tests(work)
    order = sorted(states, key=lambda name: (name not in tests, name not in steps, name))
    return Page(
        template="experiments.html",
        context={
            "flags": [states[name] for name in order],
            "last": {name: own[-1] for name, own in steps.items() if own},
            "tests": tests,
            **_read_offline_experiments(),
            "said": view.notice,
        },
    )


def _tests(work: Work) -> dict[str, Any]:
    """Return the newest test of each flag."""
    found = [test for status in AbTestStatus for test in work.ab_tests.in_state(status)]
    return {test.feature_id: test for test in sorted(found, key=lambda test: test.attempt)}


def _read_offline_experiments() -> dict[str, Any]:
    """Return the newest offline experiments, and the number of each among its tries."""
    try:
        known = Book(BOOK).all() if BOOK.is_file() else []
    except AssayError:
        known = []
    return {"tried": list(reversed(known))[:TRIED], "tries": count_tries(known)}


@pages.get("/evaluation/experiments/{flag}", acts.FLAG_READ)
def show_experiment(view: PageView) -> Page:
    """Show one flag: its steps, the evidence of its test, and the open conditions of graduation."""
    page = view.call(ladder_verbs.SHOW, feature_id=view.path["flag"])
    test = page.test
    path = None
    if test is not None and test.path:
        path = charts.evidence_path(test.path, test.log_bound, test.min_samples)
    classes = page.shadow.classes
    return Page(
        template="experiment.html",
        context={
            "page": page,
            "state": page.state,
            "test": test,
            "path": path,
            "classes": charts.bars(classes, what="shadow runs") if classes else None,
            "kinds": list(VoteKind),
            "shares": _shares(page.state.percent),
            "share": _share(page.state.percent),
            "said": view.notice,
        },
    )


def _share(percent: int) -> str:
    """Write a percentage as the form and `assay flag set` do."""
    return {0: "off", 100: "on"}.get(percent, f"{percent}%")


def _shares(current: int) -> list[str]:
    """Return the percentages the form offers: the usual ones and the current one."""
    return [_share(percent) for percent in sorted({*SHARES, current})]


@pages.post("/evaluation/experiments/{flag}/turn", acts.FLAG_CHANGE)
def turn(view: PageView) -> Response:
    """Set a flag. A field that the user did not change stays as it is in the store."""
    view.form_value("value")
    flag, value, shadow = view.path["flag"], _read_change(view, "value"), _read_change(view, "shadow")
    percent = None if value is None else percent_of(value, f"the flag {flag}")
    state = view.call(flag_verbs.SET, name=flag, percent=percent, shadow=None if shadow is None else shadow == "yes")
    said = f"{flag} is on for {state.percent} %" if state.on else f"{flag} is off"
    return _back(flag, said)


def _read_change(view: PageView, name: str) -> str | None:
    """Return the new value of a field; None: it was not changed, or not sent."""
    sent = view.form.get(name)
    return None if sent == view.form.get(f"{name}_shown") else sent


@pages.post("/evaluation/experiments/{flag}/begin", acts.FEATURE_TEST)
def begin(view: PageView) -> Response:
    """Start a sequential test."""
    flag = view.path["flag"]
    test = view.call(ladder_verbs.BEGIN, feature_id=flag, kind=view.form_value("kind"))
    return _back(flag, f"Attempt {test.attempt} began")


@pages.post("/evaluation/experiments/{flag}/pause", acts.FEATURE_TEST)
def pause(view: PageView) -> Response:
    """Pause a test: votes are no longer counted."""
    flag = view.path["flag"]
    view.call(ladder_verbs.PAUSE, feature_id=flag, why="Paused on the page of experiments.")
    return _back(flag, "Paused")


@pages.post("/evaluation/experiments/{flag}/resume", acts.FEATURE_TEST)
def resume(view: PageView) -> Response:
    """Resume a paused test with its votes."""
    flag = view.path["flag"]
    test = view.call(ladder_verbs.RESUME, feature_id=flag)
    return _back(flag, f"Attempt {test.attempt} goes on with {test.votes} votes")


@pages.post("/evaluation/experiments/{flag}/graduate", acts.FEATURE_TEST)
def graduate(view: PageView) -> Response:
    """Turn a flag on for all callers; refused while a condition is not met."""
    flag = view.path["flag"]
    return _back(flag, view.call(ladder_verbs.GRADUATE, feature_id=flag).sentence)


@pages.post("/evaluation/experiments/{flag}/rollback", acts.FEATURE_TEST)
def rollback(view: PageView) -> Response:
    """Roll back a graduated flag."""
    flag = view.path["flag"]
    step = view.call(ladder_verbs.ROLL_BACK, feature_id=flag, why="Taken back on the page of experiments.")
    return _back(flag, step.sentence)


def _back(flag: str, said: str) -> Response:
    return go_to(f"/evaluation/experiments/{flag}?{urlencode({'said': said})}")
