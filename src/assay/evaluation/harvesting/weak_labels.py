"""What use says of results, as grades with their provenance: weak, and marked as such.

Validated useful 3, validated not useful 0 (the last word counts), selected 2: read or referred to after the search.
What was shown and left alone has no grade, since nobody looked at it; `unjudged` gives it one all the same, for numbers
that are to be compared with those of pooled grades. Grades that people or a judge gave stay what they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from assay.records import EventType, FeedbackEvent, Judgment, JudgmentSource
from assay.records.datasets import Grade

VALIDATED_CONFIDENCE = 0.9
"""Somebody said so, in so many words."""
SELECTED_CONFIDENCE = 0.5
"""It was opened; whether it helped is not known."""
UNJUDGED_CONFIDENCE = 0.1
"""Nobody looked at it."""

_VALIDATED = {EventType.VALIDATE_USEFUL: 3, EventType.VALIDATE_NOT_USEFUL: 0}
_SELECTED = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE})
SELECTED_GRADE = 2


def weak_grades(
    events: Sequence[FeedbackEvent],
    judgments: Iterable[Judgment],
    *,
    pool: Mapping[str, Collection[str]],
    unjudged: int | None = None,
) -> tuple[Grade, ...]:
    """The grades of one question's results. `pool` has the channels that found each result."""
    found = {(one.document_id, one.source, one.annotator): one for one in _of_judgments(judgments, pool)}
    for one in _of_events(events, pool):
        found.setdefault((one.document_id, one.source, one.annotator), one)
    known = {document for document, _, _ in found}
    rest = [] if unjudged is None else [_unjudged(one, pool, unjudged) for one in pool if one not in known]
    return (*found.values(), *rest)


def _of_judgments(judgments: Iterable[Judgment], pool: Mapping[str, Collection[str]]) -> Iterable[Grade]:
    # A newer grade of the same judge, for the question asked again, comes later and stands.
    for one in sorted(judgments, key=lambda one: one.created_at):
        yield Grade(
            document_id=one.memory_id,
            grade=one.relevance,
            source=one.source,
            annotator=one.annotator,
            confidence=one.confidence,
            channels=_channels(one.memory_id, pool),
        )


def _of_events(events: Sequence[FeedbackEvent], pool: Mapping[str, Collection[str]]) -> Iterable[Grade]:
    ordered = sorted((one for one in events if one.memory_id), key=lambda one: one.created_at)
    validated = {one.memory_id: _VALIDATED[one.event_type] for one in ordered if one.event_type in _VALIDATED}
    selected = {one.memory_id for one in ordered if one.event_type in _SELECTED}
    for memory, grade in validated.items():
        yield _grade(memory, grade, JudgmentSource.VALIDATED, VALIDATED_CONFIDENCE, pool)
    for memory in sorted(selected - validated.keys(), key=str):
        yield _grade(memory, SELECTED_GRADE, JudgmentSource.IMPLICIT, SELECTED_CONFIDENCE, pool)


def _unjudged(memory: str, pool: Mapping[str, Collection[str]], grade: int) -> Grade:
    return _grade(memory, grade, JudgmentSource.BOOTSTRAPPED, UNJUDGED_CONFIDENCE, pool)


def _grade(
    memory: str | None, grade: int, source: JudgmentSource, confidence: float, pool: Mapping[str, Collection[str]]
) -> Grade:
    return Grade(
        document_id=str(memory),
        grade=grade,
        source=source,
        confidence=confidence,
        channels=_channels(str(memory), pool),
    )


def _channels(memory: str, pool: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    return tuple(sorted(pool.get(memory, ())))
