"""Tasks from preflight to postflight, and what their session came to, on both back ends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.errors import InputError, RecordNotFound
from assay.memory.engine import Engine
from assay.memory.sessions import verdict_key
from assay.records import (
    Draft,
    EventType,
    FeedbackEvent,
    Judgment,
    JudgmentSource,
    Origin,
    Scope,
    SearchRequest,
    SearchResult,
    TaskOutcome,
    TaskReport,
)
from assay.testing import FixedClock


def report(**given: Any) -> TaskReport:
    filled: dict[str, Any] = {"task_id": "t1", "knowledge": 0.2, "uncertainty": 0.8, "context": 0.5}
    return TaskReport(**{**filled, **given})


def fill(engine: Engine, scope: Scope) -> list[str]:
    notes = {
        "Tea": "The tea is kept in the left cupboard of the small kitchen.",
        "Coffee": "The coffee machine in the small kitchen is cleaned on Fridays.",
        "Rain": "Umbrellas stand behind the door of the archive room.",
    }
    ids = [engine.saver.save(scope, Draft(title=title, body=body)).memory_id for title, body in notes.items()]
    return [one for one in ids if one is not None]


def ask(engine: Engine, scope: Scope, query: str, session: str = "s", **more: Any) -> SearchResult:
    return engine.searcher.search(scope, SearchRequest(query=query, session_id=session, k=2, **more))


def seen(engine: Engine, scope: Scope, kind: EventType, query_id: str | None, memory_id: str | None) -> None:
    event = FeedbackEvent(
        event_key=f"{kind}-{memory_id}",
        event_type=kind,
        session_id="s",
        created_at=engine.clock.now(),
        query_id=query_id,
        memory_id=memory_id,
    )
    engine.store.record_feedback(scope, [event])


def test_a_task_is_begun_changed_and_ended(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        engine.preflight(scope, report(goal="make tea", session_id="s"))
        clock.advance(hours=1)
        begun = engine.preflight(scope, report(goal="make good tea", knowledge=0.3, session_id="s"))
        clock.advance(hours=1)
        ended = engine.postflight(scope, report(knowledge=0.9, uncertainty=0.1, context=0.8, result="drunk"))

        assert begun.goal == "make good tea"
        assert ended.change.knowledge_delta == pytest.approx(0.6)
        assert ended.change.duration_minutes == 120
        assert ended.task.session_id == "s"
        with pytest.raises(InputError, match="ended already"):
            engine.preflight(scope, report())


def test_how_a_task_ended_is_kept_until_something_else_is_said(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.preflight(scope, report(session_id="s"))
        with pytest.raises(InputError, match="how the task ended"):
            engine.preflight(scope, report(outcome=TaskOutcome.DONE))
        assert engine.postflight(scope, report()).task.outcome is None
        assert engine.postflight(scope, report(outcome=TaskOutcome.FAILED)).task.outcome is TaskOutcome.FAILED
        assert engine.postflight(scope, report()).task.outcome is TaskOutcome.FAILED
        assert engine.postflight(scope, report(outcome=TaskOutcome.DONE)).task.outcome is TaskOutcome.DONE
        [task] = engine.session_summary(scope, "s").tasks
        assert task.outcome is TaskOutcome.DONE


def test_what_cannot_be_said_then_is_refused(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        with pytest.raises(RecordNotFound, match="no task 't1'"):
            engine.postflight(scope, report())
        with pytest.raises(InputError, match="how the task ended"):
            engine.preflight(scope, report(useful=("m_1",)))
        engine.preflight(scope, report())
        with pytest.raises(RecordNotFound, match="m_gone"):
            engine.postflight(scope, report(useful=("m_gone",)))
        with engine.store.reading(scope) as work:
            assert work.tasks.get("t1").ended_at is None
        with pytest.raises(RecordNotFound):
            engine.postflight(Scope(tenant="rival"), report())


def test_verdicts_of_a_postflight_count_once_and_the_rest_is_given_back(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        fill(engine, scope)
        engine.preflight(scope, report(session_id="s"))
        first, second = ask(engine, scope, "where is the tea in the small kitchen").ids
        engine.load(scope, first, session_id="s")
        engine.load(scope, second, session_id="s")

        asked = engine.postflight(scope, report())
        assert {one.memory_id for one in asked.to_validate} == {first, second}

        done = engine.postflight(scope, report(useful=(first,), not_useful=(second,)))
        again = engine.postflight(scope, report(useful=(first,), not_useful=(second,)))

        assert done.validated == 2
        assert done.to_validate == again.to_validate == ()
        assert engine.show(scope, first).memory.validation_count == 1
        assert engine.show(scope, first).memory.confidence > 0.5 > engine.show(scope, second).memory.confidence


def test_a_key_of_a_verdict_tells_tasks_and_memories_apart() -> None:
    assert len({verdict_key("a", "bc"), verdict_key("ab", "c"), verdict_key("a", "b"), verdict_key("b", "a")}) == 4


def test_a_session_is_summed_up(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        fill(engine, scope)
        engine.preflight(scope, report(session_id="s"))
        one = ask(engine, scope, "where is the tea in the small kitchen")
        clock.advance(seconds=90)
        two = ask(engine, scope, "tea in the kitchen, where?")
        ask(engine, scope, "umbrellas", session="other")
        ask(engine, scope, "umbrellas", origin=Origin.CANARY)
        seen(engine, scope, EventType.READ_AFTER_SEARCH, one.query_id, one.ids[1])
        seen(engine, scope, EventType.REFERENCE, one.query_id, one.ids[1])
        seen(engine, scope, EventType.RE_SEARCH, one.query_id, None)
        seen(engine, scope, EventType.VALIDATE_NOT_USEFUL, one.query_id, one.ids[0])
        seen(engine, scope, EventType.VALIDATE_USEFUL, one.query_id, one.ids[0])
        clock.advance(seconds=30)
        engine.postflight(scope, report())
        judgments = [
            Judgment(
                query_id=one.query_id,
                memory_id=memory_id,
                relevance=grade,
                source=JudgmentSource.MANUAL,
                created_at=clock.now(),
            )
            for memory_id, grade in ((one.ids[0], 1), (one.ids[1], 2))
        ]
        with engine.store.writing(scope) as work:
            work.judgments.put_many(judgments)

        found = engine.session_summary(scope, "s")

        assert [query.query_id for query in found.queries] == [one.query_id, two.query_id]
        assert found.queries[0].selected_ids == (one.ids[1],)
        assert found.queries[0].validated == ((one.ids[0], True),)
        assert [query.searched_again for query in found.queries] == [True, False]
        totals = found.totals
        assert (totals.total_searches, totals.total_memories_accessed, totals.re_search_rate) == (2, 1, 0.5)
        assert totals.avg_mrr == 0.5
        assert totals.session_duration_minutes == 2
        assert totals.held_back == len(two.held_back) > 0
        assert totals.tokens_saved == one.tokens_saved + two.tokens_saved > 0
        assert found.memories[0].memory_id == one.ids[1]
        assert found.memories[0].read
        assert [task.task_id for task in found.tasks] == ["t1"]


def test_missing_numbers_are_missing_and_not_zero(home: Home, scope: Scope) -> None:
    with engine_at(home) as engine:
        engine.preflight(scope, report(session_id="s"))
        totals = engine.session_summary(scope, "s").totals
        assert totals.avg_mrr is None
        assert totals.re_search_rate is None
        with pytest.raises(RecordNotFound, match="nothing is known"):
            engine.session_summary(scope, "nowhere")
        with pytest.raises(RecordNotFound):
            engine.session_summary(Scope(tenant="rival"), "s")


def test_sessions_are_listed_newest_first(home: Home, scope: Scope, clock: FixedClock) -> None:
    with engine_at(home) as engine:
        fill(engine, scope)
        for session in ("a", "b", "a"):
            ask(engine, scope, "tea", session=session)
            clock.advance(hours=1)
        assert [(one.session_id, one.searches) for one in engine.recent_sessions(scope)] == [("a", 2), ("b", 1)]
        assert len(engine.recent_sessions(scope, limit=1)) == 1
        assert engine.recent_sessions(Scope(tenant="rival")) == []
