"""Aggregates over a real store: rates over what was judged, intervals, failures, iterations; nothing is None, not 0."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.analysis.made import AT, asked, session

from assay.analysis.aggregates import aggregate
from assay.records import Scope
from assay.records.analysis import Aggregates
from assay.records.research_log import ResearchFilter, ResearchSession
from assay.statistics.intervals import mean_interval
from assay.storage import Store


def over(store: Store, scope: Scope, sessions: list[ResearchSession], **wanted: object) -> Aggregates:
    with store.writing(scope) as work:
        for one in sessions:
            work.research.put(one, {})
    with store.reading(scope) as work:
        filtered = ResearchFilter(**wanted)  # type: ignore[arg-type] # by name
        return aggregate(work.research.totals(filtered), work.research.count_repeats(filtered))


SCORES = [0.2, 0.5, 0.9, 1.0]


def some() -> list[ResearchSession]:
    judged = [
        session(
            number,
            scores={"coherence": score, "tone": score},
            overall_score=score,
            passed=score >= 0.5,
            failed_dimensions=("coherence", "tone") if score < 0.5 else (),
            failure_type="insufficient_coverage" if score < 0.5 else "",
            iterations=number + 1,
            exhausted=number == 2,
            escalated=number == 0,
        )
        for number, score in enumerate(SCORES)
    ]
    unread = session(4, passed=None, judge_failed=True, created_at=AT + timedelta(days=8))
    return [*judged, unread, session(5, passed=None, skipped=True, skip_reason="timeout")]


def test_what_nobody_could_judge_is_counted_beside_the_rate(store: Store, scope: Scope) -> None:
    found = over(store, scope, some())
    assert (found.sessions, found.judged, found.passed, found.skipped, found.judge_failed) == (6, 4, 3, 1, 1)
    assert found.pass_rate is not None
    assert (found.pass_rate.estimate, found.pass_rate.n) == (0.75, 4)


def test_means_have_the_interval_their_values_have(store: Store, scope: Scope) -> None:
    overall = over(store, scope, some()).scores["overall"]
    assert overall is not None
    wanted = mean_interval(SCORES, bounds=(0, 1))
    assert (overall.least, overall.most, overall.mean.n) == (0.2, 1.0, 4)
    assert overall.mean.low == pytest.approx(wanted.low)
    assert overall.mean.high == pytest.approx(wanted.high)


def test_scores_that_do_not_vary_leave_room(store: Store, scope: Scope) -> None:
    found = over(store, scope, [session(number, overall_score=0.8) for number in range(10)]).scores["overall"]
    wanted = mean_interval([0.8] * 10, bounds=(0, 1))
    assert found is not None
    assert found.mean.method == "no_variance"
    assert found.mean.low == pytest.approx(wanted.low)
    assert found.mean.high == pytest.approx(wanted.high)


def test_failures_are_shares_of_what_was_scored(store: Store, scope: Scope) -> None:
    found = over(store, scope, some())
    assert [(one.dimension, one.sessions, one.share) for one in found.failures] == [
        ("coherence", 1, 0.25),
        ("tone", 1, None),
    ]
    assert found.failure_types == {"insufficient_coverage": 1}


def test_iterations_and_escalations(store: Store, scope: Scope) -> None:
    found = over(store, scope, some())
    assert found.iterations.mean == pytest.approx((1 + 2 + 3 + 4 + 1 + 1) / 6)
    assert found.iterations.exhausted is not None
    assert found.iterations.exhausted.estimate == pytest.approx(1 / 6)
    assert found.escalated is not None
    assert found.escalated.estimate == pytest.approx(1 / 6)


def test_a_filter_narrows_everything(store: Store, scope: Scope) -> None:
    found = over(store, scope, some(), escalated=True)
    assert (found.sessions, found.passed) == (1, 0)
    assert sum(found.histogram) == 1


def test_nothing_is_none_and_not_zero(store: Store, scope: Scope) -> None:
    found = over(store, scope, [])
    assert (found.pass_rate, found.escalated, found.iterations.mean) == (None, None, None)
    assert set(found.scores.values()) == {None}
    assert found.trend.weeks == ()


def test_one_question_asked_again_and_again_is_worth_one(store: Store, scope: Scope) -> None:
    often = [session(number, "Who seals the vault?", passed=True, overall_score=0.95) for number in range(200)]
    found = over(store, scope, often)
    assert (found.sessions, found.asked_again.questions) == (200, 1)
    assert found.independent == pytest.approx(1.0)
    assert found.pass_rate is not None
    assert (found.pass_rate.estimate, found.pass_rate.n) == (1.0, 200)
    assert found.pass_rate.low is not None
    assert found.pass_rate.low < 0.3
    overall = found.scores["overall"]
    assert overall is not None
    assert overall.mean.low is not None
    assert overall.mean.low < 0.3


def test_three_questions_of_which_one_was_asked_sixty_times(store: Store, scope: Scope) -> None:
    often = [session(number, f"who  seals the Vault{'?' * (number % 2)}", passed=True) for number in range(60)]
    found = over(store, scope, [*often, session(60, passed=False), session(61, passed=True)])
    assert found.asked_again.questions == 3
    assert found.independent == pytest.approx(62**2 / (60**2 + 2))
    assert found.pass_rate is not None
    assert found.pass_rate.low is not None
    assert found.pass_rate.low < 0.5


def test_of_many_sessions_the_newest_tell_how_often_questions_repeat(store: Store, scope: Scope) -> None:
    over(store, scope, [session(number, asked(number % 4)) for number in range(40)])
    with store.reading(scope) as work:
        looked = work.research.count_repeats(newest=20)
    assert (looked.sessions, looked.questions) == (20, 4)
    assert looked.independent(20) == pytest.approx(4.0)
    assert looked.independent(40) == pytest.approx(40 / (1 + 39 * 4 * 20 / 380))
