"""Ratings of answers by people: useful or not.

A rating is stored for the memories that the answer cites and the searches that found them, and counts like any other
validation. Validating one of these memories by hand for one of these searches has the same effect.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import InputError
from assay.memory.engine import Engine
from assay.records import EventType, FeedbackEvent, Scope
from assay.records.learning import AnswerRating
from assay.records.research_log import ResearchStatus
from assay.research.attempts import find_chosen_answer
from assay.storage import Work

LONGEST_KEY = 100
"""Characters of an event key."""
DIGEST = 24
_SIDES = {EventType.VALIDATE_USEFUL: 1, EventType.VALIDATE_NOT_USEFUL: -1}


def rate(engine: Engine, scope: Scope, log_id: str, *, useful: bool) -> AnswerRating:
    """Rate an answer as useful or not; equal ratings by one principal count once."""
    with engine.store.reading(scope) as work:
        trace = work.research.get(log_id).trace
    cited = () if trace is None else find_citations(trace)
    if not cited:
        raise InputError(
            f"the session {log_id!r} cites nothing that could be rated", remedy="Rate an answer that has citations."
        )
    queries = _finders(engine, scope, trace or {})
    memories = tuple(
        engine.validate(
            scope,
            memory_id,
            useful,
            query_id=queries.get(memory_id),
            event_key=_event_key(scope, log_id, memory_id, useful=useful),
            note=f"the answer {log_id}",
        )
        for memory_id in cited
    )
    return AnswerRating(log_id=log_id, was_useful=useful, memories=memories)


def _event_key(scope: Scope, log_id: str, memory_id: str, *, useful: bool) -> str:
    """Return the name under which a principal's rating counts once; a long one ends in a digest of all of it."""
    key = f"answer-{'useful' if useful else 'useless'}:{log_id}:{memory_id}:{scope.principal}"
    if len(key) <= LONGEST_KEY:
        return key
    # Cut off, the names of two principals could be the same, and the second would not be counted.
    digest = hashlib.sha256(key.encode()).hexdigest()[:DIGEST]
    return f"{key[: LONGEST_KEY - DIGEST]}{digest}"


def rating_of(work: Work, trace: Mapping[str, Any]) -> bool | None:
    """Return the majority rating of an answer by its citations; None without ratings or with a tie."""
    cited = set(find_citations(trace))
    events = (event for query_id in _searches(trace) for event in work.feedback.of_query(query_id))
    return _majority(event for event in events if event.memory_id in cited)


def find_citations(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the memories that the shown answer of a record cites, each once; none where nothing was shown."""
    shown = None if trace.get("status") == ResearchStatus.WITHHELD.value else find_chosen_answer(trace)
    cited = [] if shown is None else [citation["memory_id"] for citation in shown["synthesis"]["citations"]]
    return tuple(dict.fromkeys(memory_id for memory_id in cited if memory_id))


def _searches(trace: Mapping[str, Any]) -> list[str]:
    return list(trace.get("retrieval_evaluation", {}).get("query_ids", []))


def _finders(engine: Engine, scope: Scope, trace: Mapping[str, Any]) -> dict[str, str]:
    """By memory, the first search that returned it."""
    found: dict[str, str] = {}
    for query_id in _searches(trace):
        engine.store.log.make_sure_of(query_id)
        with engine.store.reading(scope) as work:
            for memory_id in work.queries.get(query_id).result_ids:
                found.setdefault(memory_id, query_id)
    return found


def _majority(events: Iterable[FeedbackEvent]) -> bool | None:
    """Return the majority of principals; each counts once, by the majority of their own events."""
    sums: dict[str, int] = {}
    for event in events:
        who = str(event.metadata.get("principal", ""))
        sums[who] = sums.get(who, 0) + _SIDES.get(event.event_type, 0)
    total = sum((balance > 0) - (balance < 0) for balance in sums.values())
    return None if total == 0 else total > 0
