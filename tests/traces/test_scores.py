"""Scores leave as `gen_ai.evaluation.result` events that OpenTelemetry's own packages read."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped] # the wheel has no types
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.traces.made import BEGAN, Recorder, record_pool, to_otlp_json
from tests.traces.test_analysis import pool_spans

from assay.errors import EndpointUnavailable
from assay.records.traces import TraceSpan
from assay.traces.analysis import AnalysedTrace
from assay.traces.otlp_json import read_value
from assay.traces.scores import SPAN_NAME, EvaluatedTrace, evaluate, nanoseconds, to_otlp, write_scores
from assay.tracing import evaluations

NOW = BEGAN + timedelta(days=1)


def recorded() -> AnalysedTrace:
    """A trace that the SDK recorded."""
    recorder = Recorder()
    record_pool(recorder)
    return AnalysedTrace([span for span in read_value(to_otlp_json(recorder.spans)) if isinstance(span, TraceSpan)])


def read_back(line: dict[str, Any]) -> Span:
    """A line of the file, read by the package of OTLP; its JSON has ids in base64."""
    span = line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for name in ("traceId", "spanId", "parentSpanId"):
        if name in span:
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return ParseDict(line, TracesData()).resource_spans[0].scope_spans[0].spans[0]  # type: ignore[no-any-return]


def attributes(event: Any) -> dict[str, Any]:
    return {entry.key: getattr(entry.value, entry.value.WhichOneof("value")) for entry in event.attributes}


def test_a_file_of_scores_reads_back_with_the_package_of_otlp(tmp_path: Path) -> None:
    trace = recorded()
    path = tmp_path / "scores.jsonl"
    assert write_scores(path, [evaluate(trace, at=NOW, texts=True)]) == 5
    span = read_back(json.loads(path.read_text(encoding="utf-8")))
    assert span.trace_id.hex() == trace.summary.trace_id
    assert trace.root is not None
    assert span.parent_span_id.hex() == trace.root.span_id
    assert {event.name for event in span.events} == {"gen_ai.evaluation.result"}
    grounded, _, stale, latency, _ = map(attributes, span.events)
    assert grounded == {
        "gen_ai.evaluation.name": "groundedness",
        "gen_ai.evaluation.score.value": 4.0,
        "gen_ai.evaluation.score.label": "grounded",
        "gen_ai.evaluation.explanation": "1 of 1 claims are supported",
        "assay.trace_id": trace.summary.trace_id,
    }
    assert latency["gen_ai.evaluation.score.value"] == 2000.0
    assert "gen_ai.evaluation.score.value" not in stale, "what was not measured has no value"
    assert stale["gen_ai.evaluation.score.label"] == "not_measured"


def test_explanations_that_quote_the_answer_leave_only_where_texts_may() -> None:
    events = evaluate(recorded(), at=NOW, texts=False).events
    assert "gen_ai.evaluation.explanation" not in events[0]
    assert events[2]["gen_ai.evaluation.explanation"] == "no document states until when it is valid"


def test_the_same_trace_has_the_same_span_of_scores() -> None:
    trace = AnalysedTrace(pool_spans())
    first, second = (evaluate(trace, at=at, texts=False) for at in (BEGAN, NOW))
    assert (first.trace_id, first.span_id) == (second.trace_id, second.span_id)
    assert len(first.trace_id) == 32
    assert first.parent_id is None, "the id of the span is none of OTLP"
    assert first.events[0]["assay.trace_id"] == "t1"


def make_spans(trace: EvaluatedTrace) -> list[Any]:
    return [evaluations.make_span(trace, SPAN_NAME, nanoseconds(NOW))]


def test_scores_go_where_spans_go() -> None:
    trace = evaluate(recorded(), at=NOW, texts=True)
    exporter = InMemorySpanExporter()
    evaluations.send(exporter, make_spans(trace))
    (span,) = exporter.get_finished_spans()
    assert format(span.context.trace_id, "032x") == trace.trace_id
    assert span.parent is not None
    assert format(span.parent.span_id, "016x") == trace.parent_id
    assert [dict(event.attributes or {}) for event in span.events] == [dict(event) for event in trace.events]
    from_sdk = read_back(to_otlp_json([span]))
    from_file = read_back(to_otlp(trace))
    assert from_sdk.events == from_file.events
    assert (from_sdk.trace_id, from_sdk.span_id, from_sdk.name) == (from_file.trace_id, from_file.span_id, SPAN_NAME)


def test_a_collector_that_refuses_them_is_an_error() -> None:
    class Refusing(InMemorySpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            del spans
            return SpanExportResult.FAILURE

    with pytest.raises(EndpointUnavailable, match="1 of 1 traces"):
        evaluations.send(Refusing(), make_spans(evaluate(recorded(), at=NOW, texts=False)))
