"""What pipelines take from earlier questions, on both sides of each flag."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.analysis.made import AT, scored, session

from assay.memory.engine import Engine
from assay.records import Draft, EventType, FeedbackEvent, Scope
from assay.records.judging import CheckpointResult
from assay.records.research_log import EvaluatedBy, TracedAnswer
from assay.research.checkpoints import TAKEN_OVER
from assay.settings import Settings
from assay.testing import FixedClock
from assay.wiring import open_engine, open_research
from assay.wiring.research import GOOD_FOR, PATTERNS, SIMILAR, THRESHOLDS, lessons_of

SCOPE = Scope()
NEWEST = "What is the latest rule to rotate tokens for Anna?"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(db=str(tmp_path / "notes.db"), embedder="none", index_folder=tmp_path / "indexes")


@pytest.fixture
def ticking() -> FixedClock:
    return FixedClock(datetime(2026, 11, 15, tzinfo=UTC))


@pytest.fixture
def engine(settings: Settings, ticking: FixedClock) -> Iterator[Engine]:
    with open_engine(settings, run_once=True, clock=ticking) as engine:
        engine.saver.save(SCOPE, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
        yield engine


def asked(settings: Settings, engine: Engine, question: str, scope: Scope = SCOPE) -> TracedAnswer:
    """As the server asks: a pipeline for each question."""
    return open_research(settings, engine, scope).ask(scope, question)


def turn(engine: Engine, flag: str, on: bool) -> None:
    engine.flags.turn(engine.store, SCOPE, flag, on)


def results(answer: TracedAnswer) -> list[CheckpointResult]:
    """Of plan, retrieval and answer."""
    return [answer.plan_attempts[0].result, answer.retrieval, answer.answer_attempts[0].result]


@pytest.mark.parametrize("on", [True, False])
def test_an_evaluation_is_taken_over_only_behind_its_flag(settings: Settings, engine: Engine, on: bool) -> None:
    turn(engine, SIMILAR, on)
    asked(settings, engine, "How long does the session cookie live?")
    later = asked(settings, engine, "For how long does the session cookie live?")
    taken = results(later)
    assert [one.cached for one in taken] == [on] * 3
    assert [one.reason for one in taken] == [TAKEN_OVER if on else ""] * 3


def test_evaluations_of_another_tenant_are_not_taken_over(settings: Settings, engine: Engine) -> None:
    other = Scope(tenant="other")
    engine.saver.save(other, Draft(title="Cookie", body="The session cookie lives for twelve hours."))
    for scope in (SCOPE, other):
        engine.flags.turn(engine.store, scope, SIMILAR, True)
    asked(settings, engine, "How long does the session cookie live?")
    assert (
        not asked(settings, engine, "For how long does the session cookie live?", other)
        .answer_attempts[0]
        .result.cached
    )


def fill_with_ratings(engine: Engine, *, bar: float, by: EvaluatedBy = EvaluatedBy.BUILTIN, count: int = 120) -> None:
    """Answers of all scores, rated useful from a bar on."""
    with engine.store.writing(SCOPE) as work:
        for number in range(count):
            score = 0.35 + 0.3 * number / count
            made = session(number, answer_score=score, evaluated_by=by)
            answer = {"number": 1, "synthesis": {"citations": [{"memory_id": "m_1"}]}}
            trace = {
                "answer_evaluation": {"attempts": [answer], "chosen": 1},
                "retrieval_evaluation": {"query_ids": [f"q_{number}"]},
            }
            work.research.put(made, trace)
            kind = EventType.VALIDATE_USEFUL if score >= bar else EventType.VALIDATE_NOT_USEFUL
            event = FeedbackEvent(
                event_key=f"e_{number}",
                event_type=kind,
                session_id="s",
                created_at=AT,
                query_id=f"q_{number}",
                memory_id="m_1",
            )
            work.feedback.record([event])


def threshold(settings: Settings, engine: Engine) -> float:
    found = asked(settings, engine, "How long does the session cookie live?").trace["settings"]
    assert found["panel"]["thresholds"]["plan"] == 0.7
    return float(found["panel"]["thresholds"]["answer"])


@pytest.mark.parametrize("on", [True, False])
def test_thresholds_follow_ratings_only_behind_their_flag(settings: Settings, engine: Engine, on: bool) -> None:
    fill_with_ratings(engine, bar=0.57)
    turn(engine, THRESHOLDS, on)
    assert threshold(settings, engine) == (pytest.approx(0.57, abs=0.011) if on else 0.5)


def test_ratings_of_answers_judged_by_models_say_nothing_about_rules(settings: Settings, engine: Engine) -> None:
    fill_with_ratings(engine, bar=0.57, by=EvaluatedBy.MODEL)
    turn(engine, THRESHOLDS, True)
    assert threshold(settings, engine) == 0.5


def test_what_was_found_is_good_for_an_hour(settings: Settings, engine: Engine, ticking: FixedClock) -> None:
    turn(engine, THRESHOLDS, True)
    assert threshold(settings, engine) == 0.5
    fill_with_ratings(engine, bar=0.57)
    ticking.advance(seconds=GOOD_FOR.total_seconds() - 1)
    assert threshold(settings, engine) == 0.5
    ticking.advance(seconds=2)
    assert threshold(settings, engine) > 0.5


@pytest.mark.parametrize("on", [True, False])
def test_the_planner_heeds_found_patterns_only_behind_their_flag(settings: Settings, engine: Engine, on: bool) -> None:
    with engine.store.writing(SCOPE) as work:
        for one in scored(240, seed=1, lowered=lambda number: number % 8 == 0):
            work.research.put(one, {})
    turn(engine, PATTERNS, on)
    made = asked(settings, engine, NEWEST).plan
    assert made.planner == ("builtin (known_pattern)" if on else "builtin")
    assert asked(settings, engine, "Who painted the fences?").plan.planner == "builtin"


def test_a_store_that_cannot_be_read_leaves_every_flag_off(settings: Settings, engine: Engine) -> None:
    turn(engine, SIMILAR, True)
    engine.close()
    found = lessons_of(engine, SCOPE)
    assert found.similar() is None
    assert not any(found.on(flag) for flag in (THRESHOLDS, PATTERNS, SIMILAR))
