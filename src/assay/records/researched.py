"""What comes back from asking: the answer, what it rests on, and every attempt with what was said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.records.panel import CheckpointResult, IterationDecision
from assay.records.research import Checkpoint, Passage, Plan, Synthesis
from assay.records.research_log import ResearchSession, ResearchStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanAttempt:
    """One plan and what was said of it."""

    number: int
    plan: Plan
    result: CheckpointResult
    made_at: datetime
    decision: IterationDecision | None = None
    """What the critic made of it; None: it passed, or could not be evaluated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerAttempt:
    """One answer and what was said of it."""

    number: int
    synthesis: Synthesis
    result: CheckpointResult
    made_at: datetime


class NoticeKind(StrEnum):
    """What a user should know beside the answer."""

    SKIPPED = "evaluation_skipped"
    JUDGE_FAILED = "judge_failed"
    SEVERE = "retrieval_severe"
    NOT_PASSED = "not_passed"
    DISAGREEMENT = "evaluators_disagree"
    WITHHELD = "withheld"
    FALLBACK = "fallback"
    SEARCH = "search_problem"
    NOT_KEPT = "not_kept"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """One thing a user should know."""

    kind: NoticeKind
    message: str
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchAnswer:
    """An answer with citations or an explicit abstention, and what is known about its quality.

    This is what every surface gives; `TracedAnswer` adds how it came about.
    """

    synthesis: Synthesis
    """What the user gets: with the status `withheld`, an abstention that says so."""
    session: ResearchSession
    """The question in one line: its log id, how it ended, and its scores."""
    plan: Plan
    passages: tuple[Passage, ...]
    notices: tuple[Notice, ...]
    kept: bool
    """Whether the record is in the store."""

    @property
    def log_id(self) -> str:
        """The id of the session."""
        return self.session.log_id

    @property
    def status(self) -> ResearchStatus:
        """How it ended."""
        return self.session.status

    @property
    def text(self) -> str:
        """The answer, or why there is none."""
        return self.synthesis.text or self.synthesis.reason

    @property
    def evaluation(self) -> dict[str, Any]:
        """The scores in short, as every surface shows them."""
        return evaluation_of(self.session)


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedAnswer(ResearchAnswer):
    """An answer with every attempt behind it, where it was made; elsewhere `research.show` reads the record."""

    plan_attempts: tuple[PlanAttempt, ...]
    retrieval: CheckpointResult
    answer_attempts: tuple[AnswerAttempt, ...]
    trace: Mapping[str, Any]
    """The full record, as it is kept and exported."""


def evaluation_of(session: ResearchSession) -> dict[str, Any]:
    """A session's scores in short."""
    names = ("plan_score", "retrieval_score", "answer_score", "overall_score", "passed", "iterations", "escalated")
    return {
        **{name: getattr(session, name) for name in names},
        "severe": session.severe,
        "regenerated": session.regenerated,
        "judge_failed": session.judge_failed,
        "evaluation_skipped": session.skipped,
        "skip_reason": session.skip_reason,
        "evaluated_by": session.evaluated_by.value,
    }
