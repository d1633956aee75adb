"""Spans of searches and saves as a collector gets them: names, conventions, times, and no text unless asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tests.memory.engines import engine_at
from tests.storage.homes import Home

from assay.memory.engine import Engine
from assay.records import Draft, Mode, Scope, SearchRequest
from assay.testing import FixedClock
from assay.tracing.spans import KIND, Score, Spans, StageOfWork


class Collected(NamedTuple):
    """An engine whose spans are collected in memory."""

    engine: Engine
    spans: Spans
    exporter: InMemorySpanExporter

    def named(self, name: str) -> ReadableSpan:
        return next(span for span in self.exporter.get_finished_spans() if span.name == name)


def collected(engine: Engine, clock: FixedClock, *, texts: bool) -> Collected:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider.get_tracer("assay"), clock=clock, texts=texts)
    engine.searcher.watch(spans.on_search)
    engine.saver.watch(spans.on_save)
    return Collected(engine, spans, exporter)


@pytest.fixture
def watched(home: Home, clock: FixedClock) -> Iterator[Collected]:
    with engine_at(home) as engine:
        yield collected(engine, clock, texts=False)


TEA = Draft(title="Tea", body="The tea is kept in the left cupboard of the small kitchen.")


def test_a_save_is_create_memory(watched: Collected, scope: Scope) -> None:
    saved = watched.engine.saver.save(scope, TEA)
    span = watched.named("create_memory")
    assert span.attributes is not None
    assert span.attributes["assay.memory_id"] == saved.memory_id
    assert span.attributes["assay.decision"] == "store"
    assert "input.value" not in span.attributes
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time > span.start_time


def test_a_search_is_search_memory_with_a_child_for_each_stage(watched: Collected, scope: Scope) -> None:
    watched.engine.saver.save(scope, TEA)
    found = watched.engine.searcher.search(scope, SearchRequest(query="tea", mode=Mode.DEEP, session_id="s1"))
    span = watched.named("search_memory")
    assert span.attributes is not None
    assert span.attributes[KIND] == "RETRIEVER"
    assert span.attributes["session.id"] == "s1"
    assert span.attributes["retrieval.documents.0.document.id"] == found.ids[0]
    assert span.attributes["retrieval.documents.0.document.score"] == found[0].score
    children = [one for one in watched.exporter.get_finished_spans() if one.parent and one.name != "search_memory"]
    assert [one.name for one in children] == [
        "retrieval" if stage.name == "candidate" else stage.name for stage in found.stages
    ]
    assert {one.context.trace_id for one in children} == {span.context.trace_id}
    rerank = watched.named("rerank")
    assert rerank.attributes is not None
    assert rerank.attributes[KIND] == "RERANKER"
    assert rerank.attributes["reranker.output_documents.0.document.id"] == found.ids[0]


def test_no_text_leaves_unless_it_is_asked_for(home: Home, clock: FixedClock, scope: Scope) -> None:
    with engine_at(home) as engine:
        quiet, telling = (collected(engine, clock, texts=texts) for texts in (False, True))
        engine.saver.save(scope, TEA)
        engine.searcher.search(scope, SearchRequest(query="left cupboard"))
    assert "cupboard" not in str([dict(one.attributes or {}) for one in quiet.exporter.get_finished_spans()])
    assert "cupboard" in str([dict(one.attributes or {}) for one in telling.exporter.get_finished_spans()])


def test_scores_are_events_and_a_missing_one_has_no_value(watched: Collected) -> None:
    stages = [
        StageOfWork(name="plan", duration_ms=12.0, attributes={}, scores=(Score(name="intent", value=0.9),)),
        StageOfWork(
            name="answer",
            duration_ms=3.0,
            attributes={"assay.regenerated": False},
            scores=(Score(name="faithfulness", value=None, label="judge_failed", explanation="no JSON"),),
            problem="evaluation skipped",
        ),
    ]
    watched.spans.record_work("research", {"assay.log_id": "l_1"}, stages)
    plan, answer = watched.named("plan"), watched.named("answer")
    assert [event.name for event in plan.events] == ["gen_ai.evaluation.result"]
    assert dict(plan.events[0].attributes or {}) == {
        "gen_ai.evaluation.name": "intent",
        "gen_ai.evaluation.score.value": 0.9,
    }
    assert dict(answer.events[0].attributes or {}) == {
        "gen_ai.evaluation.name": "faithfulness",
        "gen_ai.evaluation.score.label": "judge_failed",
        "gen_ai.evaluation.explanation": "no JSON",
    }
    assert answer.status.status_code is StatusCode.ERROR
    assert plan.end_time == answer.start_time
