"""A shadow changes nothing that callers see, whatever its treatment does, and writes down what it saw."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.online.conftest import Online
from tests.storage.homes import BOUND_S
from tests.storage.waiting import until

from assay import Settings
from assay.flags import find_flag
from assay.online.ladder import summarise_shadows
from assay.online.shadow import DROPPED, Shadow, ShadowOptions, Treatment
from assay.online.sides import treatment_of
from assay.records import Judgment, JudgmentSource, LoggedQuery, Origin, Scope, SearchRequest, SearchResult, ShadowRun
from assay.records.flags import ShadowAgreement
from assay.wiring import shadow_of

EVERY = ShadowOptions(percent=100, deadline_s=BOUND_S)
REQUEST = SearchRequest(query="small kitchen", k=3, session_id="s1")


@contextmanager
def shadowed(online: Online, treatment: Treatment, options: ShadowOptions = EVERY) -> Iterator[Shadow]:
    shadow = Shadow(
        store=online.engine.store,
        features=lambda _: {"mmr": treatment},
        clock=online.clock,
        options=options,
        rest=lambda _: None,
    )
    online.engine.searcher.watch(shadow)
    try:
        yield shadow
    finally:
        shadow.close()


def runs_of(online: Online) -> list[ShadowRun]:
    with online.engine.store.reading(online.scope) as work:
        return work.shadow_runs.of("mmr")


def told(result: SearchResult) -> str:
    """Everything a caller gets, without what differs from one search to the next: ids of its own, and times."""
    mine = {name: getattr(result, name) for name in SearchResult.__dataclass_fields__}
    return repr({name: value for name, value in mine.items() if name not in _ITS_OWN})


_ITS_OWN = ("query_id", "trace_id", "telemetry", "stages")


def test_results_are_the_same_with_and_without_a_shadow(online: Online) -> None:
    searcher = online.engine.searcher
    # What was found together before raises what is found now, so that no search is quite like the one before it.
    alone = replace(REQUEST, session_id=None, without=("coactivation",))
    asked = [replace(alone, query=text) for text in ("small kitchen", "front door", "tea")]
    without = [told(searcher.search(online.scope, one)) for one in asked]
    with shadowed(online, treatment_of(online.engine, find_flag("graph_scoring"), on=False)) as shadow:
        beside = [told(searcher.search(online.scope, one)) for one in asked]
        shadow.drain()
    assert beside == without
    assert shadow.counts.compared == 3


def test_a_treatment_that_does_the_same_is_identical_also_within_a_session(online: Online) -> None:
    with shadowed(online, treatment_of(online.engine, find_flag("mmr"), on=True)) as shadow:
        first = online.engine.searcher.search(online.scope, REQUEST)
        second = online.engine.searcher.search(online.scope, replace(REQUEST, query="front door"))
        shadow.drain()
    runs = {run.query_id: run for run in runs_of(online)}
    assert {run.classified for run in runs.values()} == {"identical"}
    for result in (first, second):
        assert runs[result.query_id].treatment_result_ids == result.ids
        assert runs[result.query_id].rbo == pytest.approx(1.0)


def test_a_follow_up_is_asked_as_it_was(online: Online) -> None:
    asked: list[str | None] = []

    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        asked.append(request.previous_query)
        return online.engine.searcher.search(scope, request, before=before)

    with shadowed(online, treatment) as shadow:
        online.engine.searcher.search(online.scope, replace(REQUEST, previous_query="where is the tea"))
        shadow.drain()
    assert asked == ["where is the tea"]
    assert [run.classified for run in runs_of(online)] == ["identical"]


def reversed_hits(online: Online) -> Treatment:
    def treatment(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        found = online.engine.searcher.search(scope, request, before=before)
        return replace(found, hits=tuple(reversed(found.hits)))

    return treatment


def test_differences_are_written_down_with_the_gain_where_somebody_judged(online: Online) -> None:
    at = online.clock.now()
    corpus = LoggedQuery(
        query_id="eq_1",
        query="small kitchen",
        tool_name="search",
        created_at=at,
        is_eval_corpus=True,
    )
    control = online.engine.searcher.search(online.scope, REQUEST)
    grade = Judgment(
        query_id="eq_1", memory_id=control.ids[-1], relevance=3, source=JudgmentSource.MANUAL, created_at=at
    )
    with online.engine.store.writing(online.scope) as work:
        work.queries.add_many([corpus])
        work.judgments.put_many([grade])
    with shadowed(online, reversed_hits(online)) as shadow:
        online.engine.searcher.search(online.scope, replace(REQUEST, session_id=None))
        shadow.drain()
    (run,) = runs_of(online)
    assert run.top_result_changed is True
    assert run.classified == "incompatible"
    assert run.mrr_delta == pytest.approx(1.0 - 1.0 / len(control.ids))
    assert run.control_latency_ms is not None


def raising(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
    raise RuntimeError(f"no answer for {scope.tenant} {request.k} {before[:2]}")


def test_a_treatment_that_raises_is_written_down_and_not_felt(online: Online) -> None:
    with shadowed(online, raising) as shadow:
        assert len(online.engine.searcher.search(online.scope, REQUEST)) == 3
        shadow.drain()
    (run,) = runs_of(online)
    assert run.problem == "raised RuntimeError: no answer for acme 3 eq"
    assert run.classified is None


def test_a_treatment_that_gives_foreign_ids_is_written_down(online: Online) -> None:
    def foreign(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        found = online.engine.searcher.search(scope, request, before=before)
        return replace(found, hits=(replace(found.hits[0], memory_id="m_foreign"),))

    with shadowed(online, foreign) as shadow:
        online.engine.searcher.search(online.scope, REQUEST)
        shadow.drain()
    assert runs_of(online)[0].problem == "returned 1 ids that are not in the store, such as 'm_foreign'"


def test_a_treatment_that_gives_nothing_is_a_comparison_too(online: Online) -> None:
    def nothing(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        return replace(online.engine.searcher.search(scope, request, before=before), hits=())

    with shadowed(online, nothing) as shadow:
        online.engine.searcher.search(online.scope, REQUEST)
        shadow.drain()
    assert runs_of(online)[0].classified == "incompatible"


def test_a_treatment_that_hangs_is_left_behind_and_soon_not_asked_any_more(online: Online) -> None:
    released, asked = threading.Event(), []

    def hanging(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        asked.append(before)
        released.wait()
        raise RuntimeError(f"too late for {scope.tenant}, who wanted {request.k}")

    with shadowed(online, hanging, ShadowOptions(percent=100, deadline_s=0.01, hangs=2)) as shadow:
        for _ in range(4):
            online.engine.searcher.search(online.scope, replace(REQUEST, session_id=None))
        shadow.drain()
        # A treatment that was left behind may not even have begun.
        until(lambda: len(asked) >= 2)
        released.set()
    assert len(asked) == 2
    assert {run.problem for run in runs_of(online)} == {"did not answer within 0.01 s"}


def test_what_does_not_fit_into_the_queue_is_dropped_and_counted(online: Online) -> None:
    entered, released = threading.Event(), threading.Event()

    def waiting(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        entered.set()
        released.wait()
        return online.engine.searcher.search(scope, request, before=before)

    with shadowed(online, waiting, replace(EVERY, capacity=2)) as shadow:
        online.engine.searcher.search(online.scope, REQUEST)
        entered.wait()
        for _ in range(5):
            online.engine.searcher.search(online.scope, replace(REQUEST, session_id=None))
        assert shadow.counts.dropped == 3
        released.set()
        shadow.drain()
    found = runs_of(online)
    assert [run.problem for run in found].count(DROPPED) == 3
    summary = summarise_shadows(found)
    assert (summary.runs, summary.problems, summary.dropped) == (3, 0, 3)


def test_what_waits_when_the_shadow_closes_is_written_down_as_dropped(online: Online) -> None:
    entered, released = threading.Event(), threading.Event()

    def waiting(scope: Scope, request: SearchRequest, before: str) -> SearchResult:
        entered.set()
        released.wait()
        return online.engine.searcher.search(scope, request, before=before)

    with shadowed(online, waiting, replace(EVERY, capacity=4)) as shadow:
        online.engine.searcher.search(online.scope, REQUEST)
        entered.wait()
        for _ in range(2):
            online.engine.searcher.search(online.scope, replace(REQUEST, session_id=None))
        closing = threading.Thread(target=shadow.close)
        closing.start()
        until(lambda: shadow.counts.dropped == 2)
        released.set()
        closing.join(BOUND_S)
    assert summarise_shadows(runs_of(online)).dropped == 2


def test_only_searches_of_use_are_shadowed_and_only_the_sample(online: Online) -> None:
    with shadowed(online, raising, ShadowOptions(percent=30)) as shadow:
        for _ in range(200):
            online.engine.searcher.search(online.scope, replace(REQUEST, session_id=None, origin=Origin.USE))
        online.engine.searcher.search(online.scope, replace(REQUEST, origin=Origin.EVALUATION))
        counts = shadow.counts
    assert counts.seen == 201
    assert 30 <= counts.sampled <= 90


def test_the_thread_rests_so_that_it_uses_no_more_than_its_duty(online: Online) -> None:
    rests: list[float] = []
    rested = threading.Event()

    def rest(seconds: float) -> None:
        rests.append(seconds)
        rested.set()

    shadow = Shadow(
        store=online.engine.store,
        features=lambda _: {"mmr": raising},
        clock=online.clock,
        options=replace(EVERY, duty=0.02),
        rest=rest,
    )
    shadow(online.scope, REQUEST, online.engine.searcher.search(online.scope, REQUEST))
    rested.wait()
    shadow.close()
    assert rests[0] > 0.0


def test_the_flags_whose_shadow_is_on_are_asked_as_what_they_are_not(online: Online) -> None:
    engine = online.engine
    engine.flags.turn(engine.store, online.scope, "docscore_aggregation", "off", shadow=True)
    shadow = shadow_of(engine, Settings(shadow_percent=100))
    found = engine.searcher.search(online.scope, REQUEST)
    shadow.drain()
    shadow.close()
    engine.store.log.flush()
    with engine.store.reading(online.scope) as work:
        (run,) = work.shadow_runs.of("docscore_aggregation")
        logged = work.queries.recent(origin=Origin.SHADOW)
    assert run.control_result_ids == found.ids
    assert [one.query for one in logged] == [REQUEST.query]


def compared(query_id: str, control: tuple[str, ...], treatment: tuple[str, ...], **more: Any) -> ShadowRun:
    return ShadowRun(
        query_id=query_id,
        feature_id="mmr",
        control_result_ids=control,
        treatment_result_ids=treatment,
        created_at=datetime(2026, 1, 5, tzinfo=UTC),
        **more,
    )


def test_the_summary_tells_every_number_that_is_stored_and_the_searches_that_changed_most() -> None:
    same: dict[str, Any] = {
        "rank_correlation": 1.0,
        "set_overlap": 1.0,
        "rbo": 1.0,
        "order_differences": 0,
        "top_result_changed": False,
    }
    other: dict[str, Any] = {
        "rank_correlation": 0.0,
        "set_overlap": 0.5,
        "rbo": 0.25,
        "order_differences": 2,
        "top_result_changed": True,
    }
    found = summarise_shadows(
        [
            compared("q_1", ("a", "b"), ("a", "b"), classified="identical", mrr_delta=0.0, ndcg_delta=0.0, **same),
            compared("q_2", ("a", "b"), ("c", "a"), classified="major", mrr_delta=-0.5, ndcg_delta=-0.25, **other),
            compared("q_3", ("a",), ("b",), classified="incompatible", set_overlap=0.0, rbo=0.0),
            compared("q_4", ("a",), (), problem="it broke"),
        ]
    )
    assert found.agreement == ShadowAgreement(
        rank_correlation=0.5, set_overlap=0.5, rbo=1.25 / 3, order_differences=1.0, top_changed=1
    )
    assert (found.judged, found.mean_mrr_delta, found.mean_ndcg_delta) == (2, -0.25, -0.125)
    assert [(one.query_id, one.entered, one.left) for one in found.most_changed] == [
        ("q_3", ("b",), ("a",)),
        ("q_2", ("c",), ("b",)),
    ]
    assert summarise_shadows([]).agreement is None
