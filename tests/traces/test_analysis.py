"""What one trace comes to, and what many come to, with what cannot be known left open."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.traces.made import ANSWER, BAR, BEGAN, LIFT, POOL, QUESTION, found, trace_span

from assay.errors import RecordNotFound
from assay.records import Scope
from assay.records.traces import SpanRole, TraceCandidate, TraceFault, TraceSpan
from assay.storage import Store
from assay.traces.analysis import AnalysedTrace, AnalysisOptions, TokenPrices
from assay.traces.summing import load_trace, load_traces, sum_up


def at(seconds: float) -> Any:
    return BEGAN + timedelta(seconds=seconds)


def pool_spans(answer: str = ANSWER, **model: Any) -> list[TraceSpan]:
    """A chain with two searches, a reranker and a model."""
    cost = {"cost_usd": 0.002, "model": "small-1", "input_tokens": 100, "output_tokens": 20, **model}
    return [
        trace_span(span_id="root", name="answer", input=QUESTION, output=answer, ended_at=at(2), session_id="s1"),
        trace_span(
            span_id="words",
            parent_id="root",
            name="words",
            role=SpanRole.RETRIEVER,
            started_at=at(0.1),
            ended_at=at(0.2),
            documents=(found("bar", BAR), found("pool", POOL)),
        ),
        trace_span(
            span_id="vectors",
            parent_id="root",
            name="vectors",
            role=SpanRole.RETRIEVER,
            started_at=at(0.1),
            ended_at=at(0.3),
            documents=(found("pool", POOL), found("lift", LIFT, stale_after=at(-60))),
        ),
        trace_span(
            span_id="rerank",
            parent_id="root",
            name="rerank",
            role=SpanRole.RERANKER,
            started_at=at(0.4),
            ended_at=at(0.5),
            candidates=(found("bar"), found("pool"), found("lift")),
            documents=(found("pool"), found("bar")),
        ),
        trace_span(
            span_id="chat",
            parent_id="root",
            name="chat",
            role=SpanRole.MODEL,
            started_at=at(0.6),
            ended_at=at(1.9),
            output=answer,
            **cost,
        ),
    ]


def checks(trace: AnalysedTrace) -> dict[str, tuple[float | None, str]]:
    return {check.name: (check.value, check.label or check.reason) for check in trace.checks}


def test_the_way_of_each_document_from_the_searches_to_the_answer() -> None:
    trace = AnalysedTrace(pool_spans())
    assert trace.candidates() == (
        TraceCandidate(
            document_id="pool",
            found_by={"vectors": 1, "words": 2},
            reranked=1,
            given_rank=1,
            used=True,
            text=POOL,
        ),
        TraceCandidate(document_id="bar", found_by={"words": 1}, reranked=2, given_rank=2, used=False, text=BAR),
        TraceCandidate(document_id="lift", found_by={"vectors": 2}, used=False, stale=True, text=LIFT),
    )


def test_an_answer_that_its_documents_support_is_grounded() -> None:
    trace = AnalysedTrace(pool_spans())
    assert checks(trace) == {
        "groundedness": (4.0, "grounded"),
        "abstention": (0.0, "answered"),
        "staleness": (1.0, "stale"),
        "latency_ms": (2000.0, ""),
        "cost_usd": (0.002, ""),
    }
    assert trace.faults == (TraceFault.STALE,)
    summary = trace.summary
    assert (summary.question, summary.answer, summary.session_id) == (QUESTION, ANSWER, "s1")
    assert (summary.models, summary.input_tokens, summary.output_tokens) == (("small-1",), 100, 20)


def test_an_answer_of_other_words_is_ungrounded() -> None:
    trace = AnalysedTrace(pool_spans("The pool closes at three in the afternoon on Fridays in winter."))
    assert checks(trace)["groundedness"][1] == "ungrounded"
    assert TraceFault.UNGROUNDED in trace.faults


def test_an_answer_that_declines_is_an_abstention_and_not_ungrounded() -> None:
    trace = AnalysedTrace(pool_spans("I don't know."))
    assert checks(trace)["abstention"] == (1.0, "abstained")
    assert checks(trace)["groundedness"] == (None, "the answer declines to answer")
    assert TraceFault.ABSTAINED in trace.faults
    assert trace.used is None


def test_what_spans_do_not_carry_is_not_known_and_not_zero() -> None:
    spans = [
        trace_span(span_id="search", role=SpanRole.RETRIEVER, documents=(found("d1"),), input=QUESTION),
        trace_span(span_id="chat", role=SpanRole.MODEL, output=ANSWER),
    ]
    trace = AnalysedTrace(spans)
    assert checks(trace) == {
        "groundedness": (None, "the spans carry no texts of documents"),
        "abstention": (0.0, "answered"),
        "staleness": (None, "no document states until when it is valid"),
        "latency_ms": (None, "the end of a span is not recorded"),
        "cost_usd": (None, "a model span states no cost"),
    }
    assert trace.faults == ()
    assert trace.question == QUESTION


def test_a_trace_that_only_searches_has_no_answer() -> None:
    trace = AnalysedTrace([trace_span(role=SpanRole.MEMORY_SEARCH, input=QUESTION, ended_at=at(1))])
    assert checks(trace)["groundedness"] == (None, "no answer is recorded")
    assert checks(trace)["cost_usd"] == (None, "the trace has no model span")
    assert trace.faults == (TraceFault.EMPTY,)


def test_failed_and_slow_traces_say_so() -> None:
    spans = [trace_span(ended_at=at(12)), trace_span(span_id="s2", parent_id="s1", problem="refused", ended_at=at(1))]
    assert AnalysedTrace(spans).faults == (TraceFault.SLOW, TraceFault.FAILED)
    assert AnalysedTrace(spans, options=AnalysisOptions(slow_ms=20_000)).faults == (TraceFault.FAILED,)


def test_tokens_are_worth_what_the_settings_say_of_their_model() -> None:
    prices = TokenPrices(model="small-1", sent=10.0, replied=50.0)
    spans = pool_spans(cost_usd=None)
    assert AnalysedTrace(spans).cost_usd is None
    assert AnalysedTrace(spans, options=AnalysisOptions(prices=prices)).cost_usd == pytest.approx(0.002)
    other = AnalysedTrace(pool_spans(cost_usd=None, model="large"), options=AnalysisOptions(prices=prices))
    assert other.cost_usd is None


def test_a_search_inside_a_search_counts_once() -> None:
    outer = trace_span(span_id="outer", role=SpanRole.MEMORY_SEARCH, documents=(found("d1", POOL),))
    inner = trace_span(span_id="inner", parent_id="outer", role=SpanRole.RETRIEVER)
    assert AnalysedTrace([outer, inner]).searches == [outer]


def test_a_model_span_around_another_is_not_counted() -> None:
    told: dict[str, Any] = {
        "role": SpanRole.MODEL,
        "model": "small-1",
        "input_tokens": 7,
        "output_tokens": 2,
        "cost_usd": 0.5,
    }
    spans = [
        trace_span(span_id="outer", role=SpanRole.MODEL, model="unknown"),
        trace_span(span_id="inner", parent_id="outer", **told),
        trace_span(span_id="a", parent_id="b", **told),
        trace_span(span_id="b", parent_id="a", **told),
    ]
    summary = AnalysedTrace(spans).summary
    assert (summary.models, summary.input_tokens, summary.output_tokens) == (("small-1",), 14, 4)
    assert summary.cost_usd == 1.0


def test_parents_that_are_missing_or_go_in_a_circle_lose_no_span() -> None:
    spans = [
        trace_span(span_id="a", parent_id="b"),
        trace_span(span_id="b", parent_id="a"),
        trace_span(span_id="c", parent_id="gone"),
        trace_span(span_id="d"),
    ]
    lines = AnalysedTrace(spans).lines
    assert sorted(line.span.span_id for line in lines) == ["a", "b", "c", "d"]
    assert {line.span.span_id for line in lines if line.orphan} == {"a", "c"}


def test_memories_of_this_store_tell_whether_they_were_superseded(store: Store, scope: Scope) -> None:
    spans = [trace_span(role=SpanRole.MEMORY_SEARCH, documents=(found("old"), found("new"), found("elsewhere")))]
    trace = AnalysedTrace(spans, {"old": at(-60), "new": None})
    assert {one.document_id: one.stale for one in trace.candidates()} == {"old": True, "new": False, "elsewhere": None}
    assert checks(trace)["staleness"] == (0.5, "stale")
    with store.reading(scope) as work:
        assert work.traces.superseded(["old"]) == {}


def test_the_report_counts_what_could_not_be_measured(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.traces.add_many(pool_spans())
        work.traces.add_many([trace_span("t2", ended_at=at(1)), trace_span("t3", started_at=at(3600))])
    with store.reading(scope) as work:
        report = sum_up(work, most=10)
        part = sum_up(work, most=1, until=at(60))
    assert (report.traces, report.looked_at, report.spans) == (3, 3, 7)
    measures = {measure.name: measure for measure in report.measures}
    assert all(measure.measured + sum(measure.not_measured.values()) == 3 for measure in report.measures)
    latency = measures["latency_ms"]
    assert (latency.measured, latency.mean, latency.p50, latency.p95) == (2, 1500.0, 1000.0, 2000.0)
    assert latency.not_measured == {"the end of a span is not recorded": 1}
    assert measures["groundedness"].not_measured == {"no answer is recorded": 2}
    assert report.faults[TraceFault.STALE] == 1
    assert report.faults[TraceFault.FAILED] == 0
    assert (part.traces, part.looked_at) == (2, 1)


def test_traces_come_newest_first_in_pages_of_a_period(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.traces.add_many(
            [trace_span(f"t{number}", started_at=at(number), session_id=f"s{number}") for number in range(5)]
        )
    with store.reading(scope) as work:
        first = work.traces.newest(limit=2)
        assert [start.trace_id for start in first] == ["t4", "t3"]
        assert [start.trace_id for start in work.traces.newest(limit=2, after=first[-1])] == ["t2", "t1"]
        found_ids = [trace.summary.trace_id for trace in load_traces(work, most=9, since=at(1), until=at(3))]
        assert found_ids == ["t2", "t1"]
        assert [start.trace_id for start in work.traces.newest(limit=9, session_id="s3")] == ["t3"]
        assert (work.traces.count(session_id="s3"), work.traces.count(session_id="s3", until=at(1))) == (1, 0)
        with pytest.raises(RecordNotFound, match="no trace 'gone'"):
            load_trace(work, "gone")
