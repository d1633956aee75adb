"""The timeline of one change: every step from the audit log, with who did it and why, each leading to its line.

The steps of a flag are entries about the flag itself, and about runs that were made with it switched. Callers who may
not read the audit log see the steps of the ladder alone, without names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from assay.access.auditing import AuditFilter
from assay.records import Scope
from assay.records.flags import LadderStep
from assay.records.maintenance import AuditLine
from assay.storage import Store, Work

SHOWN = 60
"""Steps of a flag that are shown, the newest."""
RUNS = 20
"""Runs of a change whose steps are shown, the newest."""
_TONES = {
    "test.passed": "is-pass",
    "test.failed": "is-fail",
    "test.paused": "is-warn",
    "test.inconclusive": "is-warn",
    "ladder.graduated": "is-pass",
    "ladder.rolled_back": "is-fail",
    "ladder.rejected": "is-fail",
    "ladder.recommended": "is-info",
    "run.finish": "is-pass",
    "run.fail": "is-fail",
    "run.stop": "is-warn",
    "baseline.bless": "is-info",
    "flag.held_off": "is-warn",
}


class TimelineStep(NamedTuple):
    """One step of a change."""

    at: datetime
    action: str
    what: str
    why: str
    """The reason that was given; empty: none."""
    who: str
    """Empty where the caller may not see it."""
    via: str
    tone: str
    audit: str
    """The address of the line of the audit log; empty where the caller may not see it."""
    run_id: str = ""


def read_timeline(store: Store, scope: Scope, flag: str, run_ids: Sequence[str]) -> list[TimelineStep]:
    """Return the steps of a flag and of the runs made with it, newest first."""
    with store.reading(scope) as work:
        found = _entries(work, flag, limit=SHOWN)
        for run_id in run_ids[:RUNS]:
            found += _entries(work, run_id, limit=10, is_run=True)
    return sorted(found, key=lambda step: step.at, reverse=True)


def list_steps(steps: Sequence[LadderStep]) -> list[TimelineStep]:
    """Return the steps of the ladder as a timeline without names, newest first."""
    return [
        TimelineStep(
            at=step.created_at,
            action=f"{step.step} {step.outcome}",
            what=step.sentence,
            why="",
            who="",
            via="",
            tone=_TONES.get(f"ladder.{step.outcome}", _TONES.get(f"test.{step.outcome}", "")),
            audit="",
        )
        for step in reversed(steps)
    ]


def _entries(work: Work, target: str, *, limit: int, is_run: bool = False) -> list[TimelineStep]:
    rows = work.audit.find(AuditFilter(target=target), limit=limit)
    return [_step(row.row_id, row.entry, target if is_run else "") for row in rows]


def _step(row_id: int, entry: AuditLine, run_id: str) -> TimelineStep:
    # The page of the audit log lists what comes before a number, so the line itself is its first.
    address = f"/evaluation/audit?{urlencode({'target': entry.target, 'before': row_id + 1})}"
    return TimelineStep(
        at=entry.at,
        action=entry.action,
        what=describe_entry(entry.action, entry.detail),
        why=str(entry.detail.get("why") or entry.detail.get("despite") or ""),
        who=entry.actor,
        via=entry.via,
        tone=_TONES.get(entry.action, ""),
        audit=address,
        run_id=run_id,
    )


def describe_entry(action: str, detail: Mapping[str, Any]) -> str:
    """Return what an entry of the audit log says, in a sentence."""
    if action == "flag.turn":
        return _describe_turn(detail)
    if action == "run.start":
        return f"A run of {detail.get('system')} over {detail.get('dataset')} began."
    if action == "run.finish":
        return _describe_finish(detail)
    if action == "run.fail":
        return f"The run failed: {detail.get('problem')}"
    if action == "baseline.bless":
        return f"The run became the baseline of {detail.get('dataset')}."
    known = {
        "run.stop": "The run was asked to stop.",
        "run.resume": f"The run went on; {detail.get('cases_kept')} cases had ended.",
        "flag.activate": "It was used for the first time.",
        "flag.review": "Somebody looked at what it did.",
        "flag.held_off": f"It is on and has no effect: {detail.get('because')}",
        "variant.define": f"It was defined as {detail.get('spec')}.",
        "variant.remove": "It was removed.",
    }
    return known.get(action) or str(detail.get("sentence", action))


def _describe_turn(detail: Mapping[str, Any]) -> str:
    before, after = detail.get("before"), detail.get("after")
    shadow = "shadow runs on" if detail.get("shadow") else "shadow runs off"
    if before == after:
        return f"Still {_share(after)}; {shadow}."
    return f"From {_share(before)} to {_share(after)}; {shadow}."


def _describe_finish(detail: Mapping[str, Any]) -> str:
    value, verdict = detail.get("value"), detail.get("verdict")
    number = "no value" if value is None else f"{value:.3f}"
    return f"The run finished: {detail.get('metric')} {number}{f', verdict {verdict}' if verdict else ''}."


def _share(percent: Any) -> str:
    return {0: "off", 100: "on for all"}.get(percent, f"{percent} %")
