"""What a session came to: its searches, what was read and validated after each, its tasks, and the numbers over all.

Only what is written down counts: searches of origin `use`, feedback events, judgments, tasks. A read is an event
`read_after_search` or `reference`; a search counts as asked again when a `re_search` event names it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.errors import RecordNotFound
from assay.records import (
    EventType,
    FeedbackEvent,
    Judgment,
    LoggedQuery,
    SessionMemory,
    SessionSummary,
    SessionTotals,
    SummarisedQuery,
    TaskRecord,
)
from assay.storage import Work

RELEVANT_FROM = 2
"""The grade from which a judged result counts as relevant."""

READS = frozenset({EventType.READ_AFTER_SEARCH, EventType.REFERENCE})
VERDICTS = {EventType.VALIDATE_USEFUL: True, EventType.VALIDATE_NOT_USEFUL: False}


class _Seen(NamedTuple):
    """Everything that is written down of a session."""

    searches: Sequence[LoggedQuery]
    events: Sequence[FeedbackEvent]
    judgments: Sequence[Judgment]
    tasks: Sequence[TaskRecord]


def summary(work: Work, session_id: str) -> SessionSummary:
    """The summary of one session; a session nothing is known of is refused."""
    searches = work.sessions.searches(session_id)
    seen = _Seen(
        searches=searches,
        events=work.sessions.events(session_id),
        judgments=work.sessions.judgments([one.query_id for one in searches]),
        tasks=work.tasks.of_session(session_id),
    )
    moments = [
        *(one.created_at for one in seen.searches),
        *(one.created_at for one in seen.events),
        *(moment for one in seen.tasks for moment in (one.begun_at, one.ended_at) if moment is not None),
    ]
    if not moments:
        raise RecordNotFound(
            f"nothing is known of a session {session_id!r} in this scope",
            remedy="See `assay session list`, and check the tenant.",
        )
    minutes = (max(moments) - min(moments)).total_seconds() / 60
    return SessionSummary(
        session_id=session_id,
        began_at=min(moments),
        queries=tuple(_query(one, seen.events) for one in searches),
        memories=_memories(work, seen),
        tasks=tuple(seen.tasks),
        totals=_totals(seen, minutes),
    )


def memories_of(work: Work, session_id: str) -> tuple[SessionMemory, ...]:
    """The memories a session met, without the rest of its summary; none when it met none."""
    return _memories(work, _Seen(work.sessions.searches(session_id), work.sessions.events(session_id), (), ()))


def _query(search: LoggedQuery, events: Sequence[FeedbackEvent]) -> SummarisedQuery:
    own = [event for event in events if event.query_id == search.query_id]
    return SummarisedQuery(
        query_id=search.query_id,
        query=search.query,
        asked_at=search.created_at,
        intent=search.intent,
        result_ids=search.result_ids,
        selected_ids=tuple(dict.fromkeys(_ids(own, READS))),
        validated=tuple(_verdicts(own).items()),
        searched_again=any(event.event_type is EventType.RE_SEARCH for event in own),
        tokens_saved=search.tokens_saved,
    )


def _ids(events: Iterable[FeedbackEvent], kinds: frozenset[EventType]) -> Iterable[str]:
    return (event.memory_id for event in events if event.memory_id is not None and event.event_type in kinds)


def _verdicts(events: Iterable[FeedbackEvent]) -> dict[str, bool]:
    """The last verdict on each memory."""
    return {
        event.memory_id: VERDICTS[event.event_type]
        for event in events
        if event.memory_id is not None and event.event_type in VERDICTS
    }


def _memories(work: Work, seen: _Seen) -> tuple[SessionMemory, ...]:
    shown = Counter(memory_id for search in seen.searches for memory_id in search.result_ids)
    read = frozenset(_ids(seen.events, READS))
    verdicts = _verdicts(seen.events)
    met = dict.fromkeys([*shown, *read, *verdicts])
    titles = work.sessions.titles(met)
    found = [
        SessionMemory(
            memory_id=one, title=titles.get(one), shown=shown[one], read=one in read, useful=verdicts.get(one)
        )
        for one in met
    ]
    return tuple(sorted(found, key=lambda one: (not one.read, -one.shown, one.memory_id)))


def _totals(seen: _Seen, minutes: float) -> SessionTotals:
    searches = len(seen.searches)
    asked = {search.query_id for search in seen.searches}
    again = {event.query_id for event in seen.events if event.event_type is EventType.RE_SEARCH} & asked
    return SessionTotals(
        total_searches=searches,
        total_memories_accessed=len(frozenset(_ids(seen.events, READS))),
        avg_mrr=_mean_reciprocal_rank(seen),
        re_search_rate=len(again) / searches if searches else None,
        session_duration_minutes=minutes,
        memories_given=len({one for search in seen.searches for one in search.result_ids}),
        tokens_saved=sum(search.tokens_saved or 0 for search in seen.searches),
        held_back=sum(search.held_back or 0 for search in seen.searches),
    )


def _mean_reciprocal_rank(seen: _Seen) -> float | None:
    """Over the searches somebody judged; a judged search without a relevant result counts as 0."""
    grades: dict[str, dict[str, int]] = {}
    for one in seen.judgments:
        grades.setdefault(one.query_id, {})[one.memory_id] = max(
            one.relevance, grades.get(one.query_id, {}).get(one.memory_id, 0)
        )
    ranks = [
        next(
            (1 / rank for rank, one in enumerate(search.result_ids, 1) if graded.get(one, 0) >= RELEVANT_FROM),
            0.0,
        )
        for search in seen.searches
        if (graded := grades.get(search.query_id))
    ]
    return math.fsum(ranks) / len(ranks) if ranks else None
