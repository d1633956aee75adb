"""Distinct questions with their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.judging.prompts import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.records.research import QuestionKind
    from assay.records.research_log import ResearchSession


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredQuestion:
    """One distinct question with the mean scores of its sessions."""

    text: str
    """The text of its first session."""
    kind: QuestionKind
    tags: frozenset[str]
    """Of all its sessions."""
    log_ids: tuple[str, ...]
    scores: Mapping[str, float]
    """By dimension; each is the mean over the sessions that have it."""


def distinct_questions(sessions: Iterable[ResearchSession]) -> list[ScoredQuestion]:
    """Return the distinct questions of sessions with any score, in order of first appearance."""
    groups: dict[str, list[ResearchSession]] = {}
    for session in sessions:
        if session.scores:
            groups.setdefault(question_key(session), []).append(session)
    return [_merge(group) for group in groups.values()]


def question_key(session: ResearchSession) -> str:
    """Return a key that is equal for equal questions; without letters and digits, the text itself."""
    return key_of(session.question)


def _merge(group: list[ResearchSession]) -> ScoredQuestion:
    given: dict[str, list[float]] = {}
    for session in group:
        for dimension, score in session.scores.items():
            given.setdefault(dimension, []).append(score)
    return ScoredQuestion(
        text=group[0].question,
        kind=group[0].kind,
        tags=frozenset(tag for session in group for tag in session.tags),
        log_ids=tuple(session.log_id for session in group),
        scores={dimension: sum(found) / len(found) for dimension, found in given.items()},
    )
