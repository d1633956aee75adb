"""`/evaluation/experiments`: every flag, its step on the ladder, its test, and the timeline of the change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response

from assay.access import acts
from assay.errors import AssayError
from assay.evaluation.experiments import Book, count_tries
from assay.evaluation.run_catalogue import RunEntry
from assay.flags import percent_of
from assay.presentation import charts
from assay.records import AbTestStatus
from assay.records.flags import LadderPage, VoteKind
from assay.server.pages.page import Page, Pages, PageView
from assay.server.pages.runs import list_entries
from assay.server.pages.timeline import list_steps, read_timeline
from assay.storage import Work
from assay.verbs import flags as flag_verbs
from assay.verbs import ladder as ladder_verbs

pages = Pages("experiments")
ADDRESS = "/evaluation/experiments"
BOOK = Path("experiments.json")
TRIED = 20
"""Offline experiments that are listed, the newest first."""
SHARES = (0, 5, 25, 50, 100)
"""Percentages that the form offers."""
RUNS = 5
"""Runs of a change that its page lists, the newest."""


@pages.get(ADDRESS, acts.FLAG_READ)
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


@pages.get(f"{ADDRESS}/{{flag}}", acts.FLAG_READ)
def show_experiment(view: PageView) -> Page:
    """Show one flag: what can be done next, the evidence of its test, its runs, and its timeline."""
    page = view.call(ladder_verbs.SHOW, feature_id=view.path["flag"])
    test = page.test
    path = None
    if test is not None and test.path:
        path = charts.evidence_path(test.path, test.log_bound, test.min_samples)
    classes = page.shadow.classes
    runs = find_runs(view, page.state.flag.name, page.state.flag.spec)
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
            "unmet": _unmet(page),
            "runs": runs[:RUNS],
            "timeline": _timeline(view, page, runs),
            "may_switch": view.grant.allows(acts.FLAG_CHANGE.policy),
            "may_test": view.grant.allows(acts.FEATURE_TEST.policy),
            "may_run": view.grant.allows(acts.RUN_START.policy),
            "said": view.notice,
        },
    )


def find_runs(view: PageView, flag: str, spec: str) -> list[RunEntry]:
    """Return the runs that were made with a flag switched or as a variant, newest first."""
    entries = list_entries(view)
    return [entry for entry in entries if _is_with(entry.system, flag, spec)]


def _is_with(system: str, flag: str, spec: str) -> bool:
    if spec:
        return system == spec
    return any(part.startswith(f"flags.{flag}=") for part in system.partition(":")[2].split(","))


def _timeline(view: PageView, page: LadderPage, runs: list[RunEntry]) -> Any:
    if not view.grant.allows(acts.AUDIT_READ.policy):
        return list_steps(page.steps)
    run_ids = [entry.run_id for entry in runs]
    return read_timeline(view.engine.store, view.scope, page.state.flag.name, run_ids)


def _unmet(page: LadderPage) -> list[str]:
    """Return the conditions of graduation that do not hold, or are not known to."""
    return [condition.sentence for condition in page.conditions if condition.holds is not True]


def _share(percent: int) -> str:
    """Write a percentage as the form and `assay flag set` do."""
    return {0: "off", 100: "on"}.get(percent, f"{percent}%")


def _shares(current: int) -> list[str]:
    """Return the percentages the form offers: the usual ones and the current one."""
    return [_share(percent) for percent in sorted({*SHARES, current})]


@pages.post(f"{ADDRESS}/{{flag}}/turn", acts.FLAG_CHANGE)
def turn(view: PageView) -> Page | Response:
    """Set a flag, with a reason. A field that the user did not change stays as it is in the store.

    A larger share is confirmed first while conditions of graduation are not met.
    """
    view.form_value("value")
    flag, value, shadow = view.path["flag"], _read_change(view, "value"), _read_change(view, "shadow")
    why = view.form_value("why").strip()
    percent = None if value is None else percent_of(value, f"the flag {flag}")
    if percent is None and shadow is None:
        return view.go_to(f"{ADDRESS}/{flag}", "Nothing was changed.")
    page = view.call(ladder_verbs.SHOW, feature_id=flag)
    if percent is not None and percent > page.state.percent and _unmet(page) and view.form.get("confirmed") != "yes":
        return Page(
            template="switch_confirm.html",
            context={"state": page.state, "percent": percent, "unmet": _unmet(page), "form": view.form, "why": why},
        )
    wanted = None if shadow is None else shadow == "yes"
    state = view.call(flag_verbs.SET, name=flag, percent=percent, shadow=wanted, why=why)
    said = f"{flag} is on for {state.percent} %" if state.on else f"{flag} is off"
    return view.go_to(f"{ADDRESS}/{flag}", f"{said}; shadow runs are {'on' if state.shadow else 'off'}.")


def _read_change(view: PageView, name: str) -> str | None:
    """Return the new value of a field; None: it was not changed, or not sent."""
    sent = view.form.get(name)
    return None if sent == view.form.get(f"{name}_shown") else sent


@pages.post(f"{ADDRESS}/{{flag}}/begin", acts.FEATURE_TEST)
def begin(view: PageView) -> Response:
    """Start a sequential test; with shadow runs where the user asks for them."""
    flag, why = view.path["flag"], view.form_value("why").strip()
    if view.form.get("with_shadow") == "yes":
        view.call(flag_verbs.SET, name=flag, shadow=True, why=why)
    test = view.call(ladder_verbs.BEGIN, feature_id=flag, kind=view.form_value("kind"), why=why)
    because = f" No vote can come yet. {test.no_votes_because}" if test.no_votes_because else ""
    return view.go_to(f"{ADDRESS}/{flag}", f"Attempt {test.attempt} began.{because}")


@pages.post(f"{ADDRESS}/{{flag}}/pause", acts.FEATURE_TEST)
def pause(view: PageView) -> Response:
    """Pause a test: votes are no longer counted."""
    flag = view.path["flag"]
    test = view.call(ladder_verbs.PAUSE, feature_id=flag, why=view.form_value("why").strip())
    return view.go_to(f"{ADDRESS}/{flag}", f"Attempt {test.attempt} is paused. It keeps its {test.votes} votes.")


@pages.post(f"{ADDRESS}/{{flag}}/resume", acts.FEATURE_TEST)
def resume(view: PageView) -> Response:
    """Resume a paused test with its votes."""
    flag = view.path["flag"]
    test = view.call(ladder_verbs.RESUME, feature_id=flag, why=view.form_value("why").strip())
    return view.go_to(f"{ADDRESS}/{flag}", f"Attempt {test.attempt} goes on with {test.votes} votes.")


@pages.post(f"{ADDRESS}/{{flag}}/graduate", acts.FEATURE_TEST)
def graduate(view: PageView) -> Response:
    """Turn a flag on for all callers; refused while a condition is not met."""
    flag = view.path["flag"]
    step = view.call(ladder_verbs.GRADUATE, feature_id=flag, why=view.form_value("why").strip())
    return view.go_to(f"{ADDRESS}/{flag}", step.sentence)


@pages.post(f"{ADDRESS}/{{flag}}/rollback", acts.FEATURE_TEST)
def rollback(view: PageView) -> Response:
    """Roll back a graduated flag."""
    flag = view.path["flag"]
    step = view.call(ladder_verbs.ROLL_BACK, feature_id=flag, why=view.form_value("why").strip())
    return view.go_to(f"{ADDRESS}/{flag}", step.sentence)
