"""Judgments, results, feedback, sequential tests and shadow runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.storage import samples

from assay.errors import RecordNotFound
from assay.records import AbTestStatus, EventType, JudgmentSource, RunType, Scope
from assay.storage import Recorded, Store

DAY = timedelta(days=1)
LONGEST_ID = "i" * 128


def test_a_judgment_with_every_field_filled_comes_back_equal(store: Store, scope: Scope) -> None:
    kept = samples.judgment(LONGEST_ID, LONGEST_ID, relevance=0, annotator=samples.LONG_KEY, confidence=1 / 3)
    with store.writing(scope) as work:
        work.judgments.put_many([kept])
        work.judgments.put_many([])
    with store.reading(scope) as work:
        assert work.judgments.of(LONGEST_ID) == [kept]
        assert work.judgments.of("q_unknown") == []


def test_judgments_are_found_by_the_words_of_their_search(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        asked = [samples.query("q_1", query="dogs?"), samples.query("q_2", query="dogs?"), samples.query("q_3")]
        work.queries.add_many(asked)
        work.judgments.put_many([samples.judgment(query_id) for query_id in ("q_1", "q_2", "q_3")])
    with store.reading(scope) as work:
        assert [found.query_id for found in work.judgments.of_words("dogs?")] == ["q_1", "q_2"]
        assert work.judgments.of_words("dogs") == []


def test_judgments_of_a_query_are_ordered_by_memory_source_and_annotator(store: Store, scope: Scope) -> None:
    ordered = [
        samples.judgment(memory_id="m_B", source=JudgmentSource.VALIDATED, annotator="zoe"),
        samples.judgment(memory_id="m_a", source=JudgmentSource.LLM_JUDGE, annotator=""),
        samples.judgment(memory_id="m_a", source=JudgmentSource.MANUAL, annotator="Zoe"),
        samples.judgment(memory_id="m_a", source=JudgmentSource.MANUAL, annotator="ada"),
        samples.judgment(memory_id="m_b", source=JudgmentSource.IMPLICIT),
        samples.judgment(memory_id="m_c", source=JudgmentSource.BOOTSTRAPPED),
    ]
    with store.writing(scope) as work:
        work.judgments.put_many(ordered[::-1])
        work.judgments.put_many([samples.judgment("q_2")])
    with store.reading(scope) as work:
        assert work.judgments.of("q_1") == ordered


def test_a_newer_grade_of_the_same_annotator_takes_the_place_of_the_older(store: Store, scope: Scope) -> None:
    fresh = samples.judgment(relevance=3, confidence=0.25, created_at=samples.AT + DAY)
    other = samples.judgment(annotator="bob", relevance=1)
    with store.writing(scope) as work:
        work.judgments.put_many([samples.judgment(relevance=0), other, samples.judgment(relevance=2)])
    with store.writing(scope) as work:
        work.judgments.put_many([fresh])
    with store.reading(scope) as work:
        assert work.judgments.of("q_1") == [fresh, other]


def test_results_of_a_run_come_back_equal_and_oldest_first(store: Store, scope: Scope) -> None:
    kept = [samples.full_result("run_1"), samples.result("run_1"), samples.result("run_1", is_significant=True)]
    with store.writing(scope) as work:
        for one in kept:
            work.results.add(one)
    with store.reading(scope) as work:
        assert work.results.of("run_1") == kept
        assert work.results.of("run_unknown") == []


def test_the_newest_results_are_given_first(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for run_type in RunType:
            work.results.add(samples.result(f"run_{run_type}", run_type=run_type))
    with store.reading(scope) as work:
        assert [result.run_type for result in work.results.latest()] == list(RunType)[::-1]
        assert [result.run_type for result in work.results.latest(limit=1)] == [RunType.REGRESSION]


def test_feedback_of_a_query_comes_back_equal_in_the_order_it_was_recorded(store: Store, scope: Scope) -> None:
    kept = [
        samples.event("e_z", metadata=samples.NESTED, memory_id="m_1", rank_in_results=1, session_id=samples.LONG_KEY),
        *(samples.event(f"e_{kind}", event_type=kind) for kind in EventType),
    ]
    with store.writing(scope) as work:
        assert work.feedback.record([*kept, samples.event("e_other", query_id=None)]) == Recorded(8, 0)
    with store.reading(scope) as work:
        assert work.feedback.of_query("q_1") == kept
        assert work.feedback.of_query("q_unknown") == []
        assert work.feedback.count() == 8


def test_an_event_is_counted_once_however_often_it_is_sent(store: Store, scope: Scope) -> None:
    first = samples.event("e_1", rank_in_results=1)
    again = samples.event("e_1", rank_in_results=2)
    with store.writing(scope) as work:
        assert work.feedback.record([]) == Recorded(0, 0)
        assert work.feedback.record([first, again, samples.event("e_2")]) == Recorded(2, 1)
        assert work.feedback.record([again]) == Recorded(0, 1)
    with store.writing(scope) as work:
        assert work.feedback.record([again, samples.event("e_2"), samples.event("e_3")]) == Recorded(1, 2)
        assert work.feedback.of_query("q_1") == [first, samples.event("e_2"), samples.event("e_3")]


def test_repeats_in_a_large_batch_are_counted_exactly(store: Store, scope: Scope) -> None:
    events = [samples.event(f"e_{number % 700}") for number in range(2_000)]
    with store.writing(scope) as work:
        assert work.feedback.record(events) == Recorded(700, 1_300)
        assert work.feedback.record(events) == Recorded(0, 2_000)
        assert work.feedback.count() == 700


def test_feedback_waits_for_the_query_it_names(store: Store, scope: Scope) -> None:
    store.log.append(scope, samples.query("q_1"))
    assert store.record_feedback(scope, [samples.event("e_1", query_id="q_1")]) == Recorded(1, 0)
    with store.reading(scope) as work:
        assert work.queries.get("q_1") == samples.query("q_1")


def test_feedback_of_another_query_does_not_hurry_the_log(store: Store, scope: Scope) -> None:
    store.log.append(scope, samples.query("q_1"))
    store.record_feedback(scope, [samples.event("e_1", query_id="q_2"), samples.event("e_2", query_id=None)])
    assert store.log.status().waiting == 1


def test_old_feedback_is_removed_and_the_moment_itself_is_not_old(store: Store, scope: Scope) -> None:
    kept = samples.event("e_2", created_at=samples.AT)
    with store.writing(scope) as work:
        work.feedback.record([samples.event("e_1", created_at=samples.AT - DAY), kept])
        assert work.feedback.remove_before(samples.AT) == 1
        assert work.feedback.of_query("q_1") == [kept]


def test_a_sequential_test_with_every_field_filled_comes_back_equal(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.ab_tests.put(samples.full_ab_test())
    with store.reading(scope) as work:
        assert work.ab_tests.latest("rerank") == samples.full_ab_test()


def test_a_sequential_test_keeps_its_start_and_takes_its_new_state(store: Store, scope: Scope) -> None:
    later = samples.ab_test(
        sample_count=40,
        log_likelihood_ratio=1.5,
        status=AbTestStatus.PAUSED,
        state_json={"seen": 40},
        started_at=samples.AT + DAY,
        updated_at=samples.AT + DAY,
    )
    with store.writing(scope) as work:
        work.ab_tests.put(samples.ab_test())
        work.ab_tests.put(later)
        found = work.ab_tests.latest("rerank")
    assert found.started_at == samples.AT
    assert found == samples.ab_test(
        sample_count=40,
        log_likelihood_ratio=1.5,
        status=AbTestStatus.PAUSED,
        state_json={"seen": 40},
        updated_at=samples.AT + DAY,
    )


def test_a_later_attempt_is_a_row_of_its_own_and_the_latest(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for attempt in (2, 10, 9):
            work.ab_tests.put(samples.ab_test(attempt=attempt))
        assert work.ab_tests.latest("rerank").attempt == 10
        assert [test.attempt for test in work.ab_tests.in_state(AbTestStatus.RUNNING)] == [2, 9, 10]


def test_tests_are_listed_by_state_in_byte_order_of_their_features(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        for feature, status in [("b", "running"), ("B", "running"), ("a", "rejected"), ("a1", "running")]:
            work.ab_tests.put(samples.ab_test(feature, status=status))
        assert [test.feature_id for test in work.ab_tests.in_state(AbTestStatus.RUNNING)] == ["B", "a1", "b"]
        assert [test.feature_id for test in work.ab_tests.in_state(AbTestStatus.REJECTED)] == ["a"]
        assert work.ab_tests.in_state(AbTestStatus.GRADUATED) == []


def test_a_feature_that_was_never_tested_is_refused_by_name(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work, pytest.raises(RecordNotFound, match="teleport") as refused:
        work.ab_tests.latest("teleport")
    assert refused.value.remedy


def test_shadow_runs_come_back_equal_and_newest_first(store: Store, scope: Scope) -> None:
    kept = [samples.full_shadow_run(), samples.shadow_run(), samples.shadow_run(top_result_changed=False)]
    with store.writing(scope) as work:
        work.shadow_runs.add_many([])
        work.shadow_runs.add_many([*kept, samples.shadow_run(feature_id="other")])
    with store.reading(scope) as work:
        assert work.shadow_runs.of("rerank") == kept[::-1]
        assert work.shadow_runs.of("rerank", limit=1) == kept[-1:]
        assert work.shadow_runs.of("unknown") == []


def test_old_shadow_runs_are_removed(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.shadow_runs.add_many([samples.shadow_run("q_1", created_at=samples.AT - DAY), samples.shadow_run("q_2")])
        assert work.shadow_runs.remove_before(samples.AT) == 1
        assert work.shadow_runs.of("rerank") == [samples.shadow_run("q_2")]
