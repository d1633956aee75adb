"""Why a running test gets no votes: what each kind of vote needs, and which of it is missing now."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from assay.online.judged import deltas, read_judged
from assay.records import AbTest, AbTestStatus, LoggedQuery, ShadowRun
from assay.records.evidence import JudgmentReader
from assay.records.flags import FlagState, VoteKind

if TYPE_CHECKING:
    from assay.storage import Work

LOOKED_AT = 500
"""Newest shadow runs and searches that are looked at."""
TIME_TO_USE = timedelta(minutes=30)
"""How long a list has before its vote is cast."""
GRADE = "Grade the memories of logged searches: `assay judgments add`, `POST /api/judgments`, or the labelling page."


def explain_no_votes(work: Work, test: AbTest, state: FlagState | None, now: datetime) -> str:
    """Return why no vote can come as things are, and the remedy; empty when votes can come or the test has ended."""
    if test.status is not AbTestStatus.RUNNING or test.decision is not None:
        return ""
    if state is None:
        return f"The variant {test.feature_id} was removed. Define it again, or pause the test."
    if VoteKind(test.kind) is VoteKind.PAIRED:
        return _explain_paired(work, test, state)
    searches = work.queries.since(_begin(test), limit=LOOKED_AT)
    if not searches:
        return "No search of use came since the test began. Votes come from searches by agents and programs."
    if VoteKind(test.kind) is VoteKind.SPLIT:
        return _explain_split(test, searches, now)
    return _explain_interleaved(work, test, now)


def _begin(test: AbTest) -> datetime:
    resumed = test.state_json.get("resumed_at")
    return test.started_at if resumed is None else datetime.fromisoformat(resumed)


def _explain_paired(work: Work, test: AbTest, state: FlagState) -> str:
    name = test.feature_id
    runs = [
        run
        for run in work.shadow_runs.of(name, limit=LOOKED_AT)
        if run.created_at >= _begin(test) and run.problem is None
    ]
    if not runs:
        how = f"Replay past searches: `assay shadow replay {name}`"
        if state.flag.is_outside:
            return f"No search was compared since the test began, and another system runs only then. {how}."
        if not state.shadow:
            return f"The shadow of {name} is off, so no search runs both ways. {how}, or switch the shadow on."
        return f"No search was compared since the test began; only `assay serve` and `assay mcp` compare. {how}."
    judged = read_judged(work, JudgmentReader.SHADOW)
    if not judged.by_question:
        return f"No question is graded by a person or an admitted model. {GRADE}"
    return _explain_unjudged(work, runs)


def _explain_unjudged(work: Work, runs: list[ShadowRun]) -> str:
    if any(run.mrr_delta is not None for run in runs):
        return ""
    judged = read_judged(work, JudgmentReader.SHADOW)
    texts = work.queries.texts_of([run.query_id for run in runs])
    graded = [run for run in runs if judged.grades(texts.get(run.query_id, ""))]
    if not graded:
        return f"None of the questions of {len(runs)} comparisons is graded. {GRADE}"
    told = [
        deltas(run.control_result_ids, run.treatment_result_ids, judged.grades(texts[run.query_id])) for run in graded
    ]
    if any(delta.mrr is not None for delta in told):
        return ""
    return (
        f"{len(graded)} compared questions are graded, but results without a grade could turn each of them."
        f" Grade what the treatment finds as well: `assay shadow replay` names it. {GRADE}"
    )


def _explain_split(test: AbTest, searches: list[LoggedQuery], now: datetime) -> str:
    named = [search for search in searches if search.session_id]
    if not named:
        return (
            f"{len(searches)} searches came since the test began, none of them in a session. A split gives each session"
            " one side: name a session_id with each search."
        )
    return _explain_waiting(test, [search.created_at for search in named], now)


def _explain_interleaved(work: Work, test: AbTest, now: datetime) -> str:
    waiting = work.interleavings.waiting(test.feature_id, test.attempt, until=now)
    if not waiting and not test.sample_count:
        return (
            "No merged list was shown since the test began. Searches of `assay serve`, `assay mcp`, `Memory` and the"
            " command line merge lists; the treatment may have failed: see `assay health`."
        )
    return _explain_waiting(test, [shown.created_at for shown in waiting], now)


def _explain_waiting(test: AbTest, moments: list[datetime], now: datetime) -> str:
    if test.sample_count or not moments or any(moment <= now - TIME_TO_USE for moment in moments):
        return ""
    minutes = int(TIME_TO_USE.total_seconds() // 60)
    count = "1 search waits" if len(moments) == 1 else f"{len(moments)} searches wait"
    return f"{count}: each has {minutes} minutes to be used before its vote is cast."
