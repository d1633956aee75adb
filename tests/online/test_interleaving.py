"""One merged list is what is logged and shown, and what is used of it votes for the side that drafted it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.online.conftest import Online

from assay.online.interleaving import (
    InterleavedSearch,
    collect_interleaved,
    collect_shadow,
    collect_split,
    draft_seed,
)
from assay.online.judged import deltas
from assay.online.shadow import shadow_run
from assay.online.vote_sources import TIME_TO_USE
from assay.records import EventType, FeedbackEvent, Judgment, JudgmentSource, Scope, SearchRequest, SearchResult
from assay.records.flags import Arm, VoteKind
from assay.storage import Store

FLAG = "docscore_aggregation"
REQUEST = SearchRequest(query="small kitchen door", k=4)


def reversing(online: Online) -> InterleavedSearch:
    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        found = online.engine.searcher.search(scope, request, before=before)
        return replace(found, hits=tuple(reversed(found.hits)))

    return InterleavedSearch(
        store=online.engine.store,
        control=online.engine.searcher.search,
        failures=online.engine.searcher.failures,
        treatment=treatment,
        feature_id=FLAG,
        clock=online.clock,
    )


def read(store: Store, online: Online, result: SearchResult, memory_id: str) -> None:
    event = FeedbackEvent(
        event_key=f"k-{result.query_id}-{memory_id}",
        event_type=EventType.READ_AFTER_SEARCH,
        session_id="s1",
        created_at=online.clock.now(),
        query_id=result.query_id,
        memory_id=memory_id,
        rank_in_results=result.ids.index(memory_id) + 1,
    )
    with store.writing(online.scope) as work:
        work.feedback.record([event])


def grade(
    online: Online,
    result: SearchResult,
    memory_id: str,
    relevance: int,
    source: JudgmentSource = JudgmentSource.MANUAL,
) -> None:
    given = Judgment(
        query_id=result.query_id,
        memory_id=memory_id,
        relevance=relevance,
        source=source,
        annotator="ada",
        created_at=online.clock.now(),
    )
    with online.engine.store.writing(online.scope) as work:
        work.judgments.put_many([given])


def test_the_merged_list_is_logged_with_whose_each_place_is(online: Online) -> None:
    store, scope = online.engine.store, online.scope
    online.ladder.trials.begin(scope, FLAG, kind=VoteKind.INTERLEAVED)
    found = reversing(online).search(scope, REQUEST)
    assert [hit.rank for hit in found.hits] == list(range(1, len(found) + 1))
    store.log.flush()
    online.clock.advance(seconds=TIME_TO_USE.total_seconds())
    with store.reading(scope) as work:
        assert work.queries.get(found.query_id).result_ids == found.ids
        (shown,) = work.interleavings.waiting(FLAG, 1, until=online.clock.now())
    assert sorted((*shown.control_ids, *shown.treatment_ids)) == sorted(found.ids)


@pytest.mark.parametrize(("side", "expected"), [("treatment_ids", 1.0), ("control_ids", -1.0)])
def test_what_is_used_votes_for_who_drafted_it(online: Online, side: str, expected: float) -> None:
    store, scope, trials = online.engine.store, online.scope, online.ladder.trials
    trials.begin(scope, FLAG, kind=VoteKind.INTERLEAVED)
    found = reversing(online).search(scope, REQUEST)
    store.log.flush()
    with store.reading(scope) as work:
        (shown,) = work.interleavings.waiting(FLAG, 1, until=online.clock.now())
    read(store, online, found, getattr(shown, side)[0])
    assert collect_interleaved(store, scope, trials, FLAG, online.clock) == 0
    online.clock.advance(seconds=TIME_TO_USE.total_seconds())
    assert collect_interleaved(store, scope, trials, FLAG, online.clock) == 1
    assert collect_interleaved(store, scope, trials, FLAG, online.clock) == 0
    with store.reading(scope) as work:
        (vote,) = work.votes.of(FLAG, 1)
    assert vote.difference == expected


def test_a_treatment_that_fails_leaves_the_control_and_no_vote(online: Online) -> None:
    def raising(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        raise RuntimeError(f"{scope} {request} {before}")

    search = InterleavedSearch(
        store=online.engine.store,
        control=online.engine.searcher.search,
        failures=online.engine.searcher.failures,
        treatment=raising,
        feature_id=FLAG,
        clock=online.clock,
    )
    online.ladder.trials.begin(online.scope, FLAG, kind=VoteKind.INTERLEAVED)
    assert len(search.search(online.scope, REQUEST)) > 0
    with online.engine.store.reading(online.scope) as work:
        assert work.interleavings.waiting(FLAG, 1, until=online.clock.now()) == []


def test_shadow_runs_that_somebody_judged_vote_once(online: Online) -> None:
    store, scope, trials = online.engine.store, online.scope, online.ladder.trials
    trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    control = online.engine.searcher.search(scope, REQUEST)
    treatment = replace(control, hits=tuple(reversed(control.hits)))
    store.log.flush()
    run = shadow_run(FLAG, control, treatment, grades=None, at=online.clock.now())
    with store.writing(scope) as work:
        work.shadow_runs.add_many([run, run])
    assert collect_shadow(store, scope, trials, FLAG) == 0
    grade(online, control, control.ids[0], 3)
    assert collect_shadow(store, scope, trials, FLAG) == 1
    assert collect_shadow(store, scope, trials, FLAG) == 0
    with store.reading(scope) as work:
        assert work.votes.of(FLAG, 1)[0].difference == pytest.approx(1 / len(control.ids) - 1)


def test_split_traffic_votes_by_the_first_result_that_was_used(online: Online) -> None:
    engine, scope, trials = online.engine, online.scope, online.ladder.trials
    engine.flags.turn(engine.store, scope, "mmr", "50%")
    trials.begin(scope, "mmr", kind=VoteKind.SPLIT)
    for at in range(8):
        request = replace(REQUEST, query=f"small kitchen {at}", session_id=f"session {at}")
        found = engine.searcher.search(scope, request)
        engine.store.log.flush()
        read(engine.store, online, found, found.ids[2])
    engine.searcher.search(scope, replace(REQUEST, query="outside any session"))
    online.clock.advance(seconds=TIME_TO_USE.total_seconds())
    assert collect_split(engine.store, scope, trials, "mmr", online.clock) == 8
    with engine.store.reading(scope) as work:
        votes = work.votes.of("mmr", 1)
    assert {vote.arm: vote.difference for vote in votes} == {Arm.TREATMENT: 1 / 3, Arm.CONTROL: -1 / 3}


def test_grades_of_use_and_of_models_without_admission_give_no_paired_vote(online: Online) -> None:
    store, scope, trials = online.engine.store, online.scope, online.ladder.trials
    trials.begin(scope, FLAG, kind=VoteKind.PAIRED)
    control = online.engine.searcher.search(scope, REQUEST)
    store.log.flush()
    treatment = replace(control, hits=tuple(reversed(control.hits)))
    with store.writing(scope) as work:
        work.shadow_runs.add_many([shadow_run(FLAG, control, treatment, grades=None, at=online.clock.now())])
    for source in (JudgmentSource.LLM_JUDGE, JudgmentSource.CLICK_MODEL, JudgmentSource.VALIDATED):
        grade(online, control, control.ids[0], 3, source)
        assert collect_shadow(store, scope, trials, FLAG) == 0
    because = trials.standing(scope, FLAG, rng=np.random.default_rng(0)).no_votes_because
    assert because.startswith("No question is graded by a person or an admitted model.")


def test_a_difference_that_ungraded_results_could_turn_is_none(online: Online) -> None:
    grades = {"a": 3}
    assert deltas(("a", "b"), ("b", "a"), grades).mrr == pytest.approx(-0.5)
    # The treatment puts an ungraded memory first and loses the relevant one; the ungraded one may be as good or better.
    assert deltas(("b", "a"), ("c", "b"), grades) == (None, None)
    assert deltas(("b", "a"), ("c", "b"), {**grades, "b": 0, "c": 0}).mrr == pytest.approx(-0.5)
    assert deltas(("b", "a"), ("c", "b"), {**grades, "b": 0, "c": 3}).mrr == pytest.approx(0.5)


def test_a_list_that_was_shown_before_a_pause_votes_after_the_test_goes_on(online: Online) -> None:
    store, scope, trials = online.engine.store, online.scope, online.ladder.trials
    trials.begin(scope, FLAG, kind=VoteKind.INTERLEAVED)
    found = reversing(online).search(scope, REQUEST)
    store.log.flush()
    read(store, online, found, found.ids[0])
    trials.pause(scope, FLAG, "a look")
    online.clock.advance(seconds=TIME_TO_USE.total_seconds())
    assert collect_interleaved(store, scope, trials, FLAG, online.clock) == 0
    trials.resume(scope, FLAG)
    assert collect_interleaved(store, scope, trials, FLAG, online.clock) == 1


def test_in_a_session_the_same_question_is_drafted_with_the_same_seed() -> None:
    asked = replace(REQUEST, session_id="s1")
    assert draft_seed(asked, "q1") == draft_seed(replace(asked, query=f" {asked.query.upper()} "), "q2")
    assert draft_seed(asked, "q1") != draft_seed(replace(asked, session_id="s2"), "q1")
    assert draft_seed(REQUEST, "q1") != draft_seed(REQUEST, "q2")
