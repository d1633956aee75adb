"""The record of a question as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.records.fields import plain
from assay.records.research import Plan, PlannedQuery
from assay.records.research_log import AnswerAttempt, Notice, PlanAttempt, evaluation_of
from assay.research.attempts import CHOSEN, find_chosen_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.records.judging import CheckpointResult
    from assay.records.research import SourceReading
    from assay.records.research_log import ResearchSession
    from assay.research.search import FoundPassages

FORMAT = 1
"""Raised when the shape changes."""


def trace_of(
    session: ResearchSession,
    *,
    plan_attempts: Sequence[PlanAttempt],
    found: FoundPassages,
    retrieval: CheckpointResult,
    answer_attempts: Sequence[AnswerAttempt],
    chosen_plan: int | None,
    chosen_answer: int | None,
    notices: Sequence[Notice],
    weights: Mapping[str, Any],
    evidence: float | None = None,
) -> dict[str, Any]:
    """Return everything that happened; the two chosen ones are numbers of attempts.

    `evidence` is the chance that the passages answer the question; None: nobody says.
    """
    last = plan_attempts[-1] if plan_attempts else None
    written: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "log_id": session.log_id,
            "retry_of": session.retry_of,
            "session_id": session.session_id,
            "tags": session.tags,
            "timestamp": session.created_at,
            "user_query": session.question,
            "status": session.status,
            "outcome": session.outcome,
            "evidence": evidence,
            "plan_evaluation": {
                "attempts": plan_attempts,
                CHOSEN: chosen_plan,
                "total_iterations": session.iterations,
                "passed": None if last is None else any(attempt.result.passed for attempt in plan_attempts),
                "exhausted": session.exhausted,
            },
            "retrieval_evaluation": {
                "result": retrieval,
                "flagged_severe": session.severe,
                "passages": found.passages,
                "sources": _read_sources(retrieval),
                "query_ids": found.query_ids,
                "problems": found.problems,
            },
            "answer_evaluation": {
                "attempts": answer_attempts,
                CHOSEN: chosen_answer,
                "regenerated": session.regenerated,
            },
            "evaluation": evaluation_of(session),
            "overall_score": session.overall_score,
            "evaluation_skipped": session.skipped,
            "skip_reason": session.skip_reason,
            "notices": notices,
            "prompt_versions": session.prompt_versions,
            "latency_ms": session.latency_ms,
            "evaluation_ms": session.evaluation_ms,
            "settings": weights,
        }
    )
    return written


def _read_sources(retrieval: CheckpointResult) -> tuple[SourceReading, ...]:
    """Return what the evaluators found of each passage: the reading of the first role that looked at them."""
    roles = () if retrieval.verdict is None else retrieval.verdict.results
    return next((role.sources for role in roles if role.sources), ())


def plan_in(trace: Mapping[str, Any]) -> Plan | None:
    """Return the plan of a record that was searched with; None where there is none."""
    chosen = find_chosen_plan(trace)
    if chosen is None:
        return None
    written = chosen["plan"]
    queries = tuple(PlannedQuery(**query) for query in written["queries"])
    listed = {name: tuple(written[name]) for name in ("aspects", "time", "excluded")}
    return Plan(**{**written, **listed, "queries": queries})
