"""Answered questions and versions of prompts: kept, listed, summed up, alike on both back ends."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest
from tests.storage import samples

from assay.errors import BadValue, RecordNotFound
from assay.records import Scope
from assay.records.research import Dimension, QuestionKind
from assay.records.research_log import (
    BINS,
    EvaluatedBy,
    QuestionOrder,
    QuestionOutcome,
    ResearchFilter,
    ResearchSession,
    ResearchStatus,
    ResearchTotals,
    StoredResearch,
)
from assay.storage import Marks, Store

OTHER = Scope(tenant="other")
FULL = ResearchSession(
    log_id="r_full",
    created_at=samples.AT,
    question="When did 100 % of_it ship?",
    status=ResearchStatus.ABSTAINED,
    outcome=QuestionOutcome.REFUSED_DESPITE_EVIDENCE,
    kind=QuestionKind.TIME,
    tags=("release",),
    session_id="s_1",
    retry_of="r_0",
    overall_score=1 / 3,
    plan_score=0.7,
    retrieval_score=0.0,
    answer_score=1.0,
    scores={"intent_alignment": 0.7, "coherence": 1.0, "tone": 0.25},
    failed_dimensions=("context_recall", "tone"),
    passed=False,
    failure_type="insufficient_coverage",
    iterations=3,
    exhausted=True,
    escalated=True,
    severe=True,
    regenerated=True,
    skipped=True,
    skip_reason="the model took too long",
    judge_failed=True,
    evaluated_by=EvaluatedBy.MIXED,
    latency_ms=12.5,
    evaluation_ms=3.25,
    tokens=77,
    prompt_versions=("planner@2", "synthesiser@1"),
)


def session(number: int, **given: object) -> ResearchSession:
    made = {
        "log_id": f"r_{number}",
        "created_at": samples.AT + timedelta(days=number),
        "question": f"question {number}",
        **given,
    }
    return ResearchSession(**made)  # type: ignore[arg-type] # each test gives fields by name


def fill(store: Store, scope: Scope, *sessions: ResearchSession) -> None:
    with store.writing(scope) as work:
        for one in sessions:
            work.research.put(one, {"log_id": one.log_id})


def test_a_session_comes_back_as_it_was_kept(store: Store, scope: Scope) -> None:
    bare = session(1)
    with store.writing(scope) as work:
        work.research.put(FULL, {"attempts": [1, {"a": None}]})
        work.research.put(bare, {})
    with store.reading(scope) as work:
        assert work.research.get("r_full") == StoredResearch(session=FULL, trace={"attempts": [1, {"a": None}]})
        assert work.research.get("r_1") == StoredResearch(session=bare, trace={})
        with pytest.raises(RecordNotFound, match="r_2"):
            work.research.get("r_2")
    with store.reading(OTHER) as work, pytest.raises(RecordNotFound):
        work.research.get("r_1")


def test_a_session_is_kept_once(store: Store, scope: Scope) -> None:
    fill(store, scope, FULL, session(1))
    fill(store, scope, FULL)
    with store.reading(scope) as work:
        totals = work.research.totals()
    assert totals.sessions == 2
    assert totals.failed_dimensions == {"context_recall": 1, "tone": 1}


def test_pages_follow_each_other_newest_first_and_end(store: Store, scope: Scope) -> None:
    fill(store, scope, *(session(number) for number in range(5)))
    fill(store, OTHER, session(9))
    with store.reading(scope) as work:
        first = work.research.page(limit=2)
        second = work.research.page(limit=2, after=first.after)
        last = work.research.page(limit=2, after=second.after)
        assert work.research.page(limit=5).after is None
        with pytest.raises(BadValue, match="limit"):
            work.research.page(limit=0)
    pages = [[one.log_id for one in page.sessions] for page in (first, second, last)]
    assert pages == [["r_4", "r_3"], ["r_2", "r_1"], ["r_0"]]
    assert last.after is None


FILTERS: list[tuple[ResearchFilter, set[str]]] = [
    (ResearchFilter(since=samples.AT + timedelta(days=1)), {"r_1", "r_2"}),
    (ResearchFilter(until=samples.AT + timedelta(days=1)), {"r_full"}),
    (ResearchFilter(least_score=0.5), {"r_1"}),
    (ResearchFilter(most_score=0.5), {"r_full"}),
    (ResearchFilter(passed=True), {"r_1"}),
    (ResearchFilter(failure_type="insufficient_coverage"), {"r_full"}),
    (ResearchFilter(failed_dimension="tone"), {"r_full"}),
    (ResearchFilter(escalated=True), {"r_full"}),
    (ResearchFilter(escalated=False), {"r_1", "r_2"}),
    (ResearchFilter(skipped=True), {"r_full"}),
    (ResearchFilter(judge_failed=True), {"r_full"}),
    (ResearchFilter(severe=True), {"r_full"}),
    (ResearchFilter(least_iterations=2), {"r_full"}),
    (ResearchFilter(most_iterations=2), {"r_1", "r_2"}),
    (ResearchFilter(status=ResearchStatus.ABSTAINED), {"r_full"}),
    (ResearchFilter(outcome=QuestionOutcome.REFUSED_DESPITE_EVIDENCE), {"r_full"}),
    (ResearchFilter(outcome=QuestionOutcome.ANSWERED), {"r_1"}),
    (ResearchFilter(outcome=QuestionOutcome.FAILED), set()),
    (ResearchFilter(kind=QuestionKind.TIME), {"r_full"}),
    (ResearchFilter(session_id="s_1"), {"r_full"}),
    (ResearchFilter(prompt_version="planner@2"), {"r_full"}),
    (ResearchFilter(prompt_version="planner@1"), {"r_1"}),
    (ResearchFilter(prompt_version="planner@"), set()),
    (ResearchFilter(text="OF_IT"), {"r_full"}),
    (ResearchFilter(text="of%it"), set()),
]


def test_each_filter_lets_through_what_it_names(store: Store, scope: Scope) -> None:
    passed = session(1, overall_score=0.9, passed=True, outcome="answered", prompt_versions=("planner@1",))
    fill(store, scope, FULL, passed, session(2))
    with store.reading(scope) as work:
        for wanted, found in FILTERS:
            assert {one.log_id for one in work.research.page(wanted).sessions} == found, wanted
            assert {one.log_id for one in work.research.each(wanted)} == found, wanted
            assert work.research.totals(wanted).sessions == work.research.count(wanted) == len(found), wanted


def test_totals_leave_what_nobody_scored_out_of_the_means(store: Store, scope: Scope) -> None:
    scored = session(1, overall_score=1.0, passed=True, iterations=2, scores={"coherence": 0.5})
    fill(store, scope, FULL, scored, session(1_000, skipped=True))
    with store.reading(scope) as work:
        totals = work.research.totals()
    assert (totals.sessions, totals.judged, totals.passed) == (3, 2, 1)
    assert (totals.skipped, totals.judge_failed, totals.escalated, totals.severe) == (2, 1, 1, 1)
    assert (totals.regenerated, totals.exhausted, totals.abstained, totals.withheld) == (1, 1, 1, 0)
    assert totals.iterations == {1: 1, 2: 1, 3: 1}
    assert totals.stages["overall"].mean == pytest.approx(2 / 3)
    assert totals.stages["overall"].squares == pytest.approx(10 / 9)
    assert totals.dimensions[Dimension.COHERENCE] == (2, 1.5, 1.25, 0.5, 1.0)
    assert totals.dimensions[Dimension.RELEVANCE].mean is None
    assert totals.failure_types == {"insufficient_coverage": 1}
    assert [place for place, count in enumerate(totals.histogram) if count] == [6, BINS - 1]
    first = totals.days[0]
    assert (first.day, first.sessions, first.judged, first.passed) == (samples.AT.date(), 1, 1, 0)
    assert [one.day for one in totals.days][1] == samples.AT.date() + timedelta(days=1)
    assert totals.days[2].score.mean is None


def test_totals_count_each_outcome_and_leave_out_what_was_not_recorded(store: Store, scope: Scope) -> None:
    answered = [session(number, outcome="answered") for number in (1, 2)]
    fill(store, scope, FULL, *answered, session(3, outcome="failed"), session(4))
    with store.reading(scope) as work:
        totals = work.research.totals()
        counted = work.research.totals(ResearchFilter(least_iterations=0))
    wanted = {
        QuestionOutcome.ANSWERED: 2,
        QuestionOutcome.FAILED: 1,
        QuestionOutcome.REFUSED_DESPITE_EVIDENCE: 1,
    }
    assert totals.outcomes == counted.outcomes == wanted
    by_day = [day.outcomes for day in totals.days]
    assert by_day == [day.outcomes for day in counted.days]
    assert by_day[0] == {QuestionOutcome.REFUSED_DESPITE_EVIDENCE: 1}
    assert by_day[-1] == {}


def test_totals_over_nothing_are_zero_and_not_an_error(store: Store, scope: Scope) -> None:
    with store.reading(scope) as work:
        totals = work.research.totals()
    assert (totals.sessions, totals.days, sum(totals.histogram)) == (0, (), 0)
    assert totals.stages["overall"].mean is None


def test_kept_days_and_a_sum_over_every_session_agree(store: Store, scope: Scope) -> None:
    made = [
        session(
            number,
            created_at=samples.AT + timedelta(hours=7 * number),
            overall_score=None if number % 5 == 0 else number / 40,
            scores={"coherence": number / 40, "tone": 0.5},
            failed_dimensions=("coherence",) if number % 2 else (),
            passed=(None, True, False)[number % 3],
            iterations=1 + number % 3,
            escalated=number % 4 == 0,
            failure_type="scope_mismatch" if number % 7 == 0 else "",
            status="abstained" if number % 6 == 0 else "answered",
            outcome=(None, *QuestionOutcome)[number % 6],
        )
        for number in range(40)
    ]
    fill(store, scope, *made)
    fill(store, OTHER, session(3))
    windows = [
        (None, None),
        (samples.AT + timedelta(days=2, hours=5), None),
        (None, samples.AT + timedelta(days=4)),
        (samples.AT + timedelta(days=1), samples.AT + timedelta(days=9, minutes=3)),
        (samples.AT, samples.AT + timedelta(hours=9)),
    ]
    with store.reading(scope) as work:
        for since, until in windows:
            wanted = ResearchFilter(since=since, until=until)
            # A filter that lets everything through is summed up session by session.
            every = ResearchFilter(since=since, until=until, least_iterations=0)
            kept, summed = work.research.totals(wanted), work.research.totals(every)
            assert kept.sessions > 0
            assert _rounded(kept) == _rounded(summed), wanted


def test_a_session_that_was_erased_leaves_the_totals(store: Store, scope: Scope) -> None:
    failed = session(1, overall_score=0.5, failed_dimensions=("coherence",))
    fill(store, scope, failed, session(2, overall_score=0.7))
    with store.writing(scope) as work:
        work.erasure.strike(Marks(ids=frozenset({"r_1"}), pieces=("question 1",)))
        assert work.erasure.count(Marks(ids=frozenset({"r_1"}))) == {}
    with store.reading(scope) as work:
        totals = work.research.totals()
        assert (totals.sessions, totals.stages["overall"].total) == (1, 0.7)
        with pytest.raises(RecordNotFound):
            work.research.get("r_1")


def _rounded(totals: ResearchTotals) -> object:
    def near(value: object) -> object:
        if isinstance(value, float):
            return round(value, 9)
        if isinstance(value, tuple):
            return tuple(near(one) for one in value)
        return {key: near(one) for key, one in value.items()} if isinstance(value, dict) else value

    return {one.name: near(getattr(totals, one.name)) for one in fields(totals)}


def test_every_bin_holds_its_lower_edge(store: Store, scope: Scope) -> None:
    fill(store, scope, *(session(place, overall_score=place / BINS) for place in range(BINS + 1)))
    with store.reading(scope) as work:
        assert work.research.totals().histogram == (*[1] * (BINS - 1), 2)


def test_prompts_are_numbered_and_one_version_is_active(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        first = work.prompts.add("planner", "Plan.", note="shorter")
        second = work.prompts.add("planner", "Plan well.")
        draft = work.prompts.add("planner", "Plan badly.", active=False)
        assert [one.version for one in (first, second, draft)] == [1, 2, 3]
        assert {key: one.version for key, one in work.prompts.active().items()} == {"planner": 2}
        assert [one.active for one in work.prompts.versions("planner")] == [False, True, False]
        work.prompts.activate("planner", 1)
        assert work.prompts.active()["planner"].text == "Plan."
        assert work.prompts.get("planner", 1).created_by == scope.principal
        work.prompts.activate("planner", 0)
        assert work.prompts.active() == {}
        with pytest.raises(RecordNotFound, match="version 4"):
            work.prompts.activate("planner", 4)
    with store.reading(OTHER) as work:
        assert work.prompts.versions() == []


def test_a_filter_refuses_a_time_that_ends_before_it_begins() -> None:
    with pytest.raises(BadValue, match="since"):
        ResearchFilter(since=samples.AT, until=samples.AT)


@pytest.mark.parametrize(
    ("descending", "order"), [(False, ["r_2", "r_4", "r_1", "r_3"]), (True, ["r_4", "r_1", "r_2", "r_3"])]
)
def test_pages_of_an_order_join_without_gap_and_what_has_no_score_is_last(
    store: Store, scope: Scope, descending: bool, order: list[str]
) -> None:
    scores = {1: 0.9, 2: 0.1, 3: None, 4: 0.9}
    fill(store, scope, *(session(number, overall_score=score) for number, score in scores.items()))
    fill(store, OTHER, session(5, overall_score=0.5))
    with store.reading(scope) as work:
        pages = [
            work.research.sorted_by(
                QuestionOrder.OVERALL, ResearchFilter(), descending=descending, begin=begin, limit=2
            )
            for begin in (0, 2, 4)
        ]
    assert [found.log_id for page in pages for found in page] == order
    assert pages[2] == []
