"""Spans that the OpenTelemetry SDK makes, as files of OTLP, and small exports of other systems."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped] # the wheel has no types
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

from assay.records.traces import SpanRole, TraceDocument, TraceSpan

BEGAN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SECOND = 1_000_000_000
QUESTION = "When does the pool close?"
ANSWER = "The pool closes at eight in the evening."
POOL = "The pool opens at seven in the morning. The pool closes at eight in the evening."
BAR = "The bar serves drinks until midnight."
LIFT = "The lift is out of order on Mondays."
Attributes = Mapping[str, Any]


class Recorder:
    """Records spans with the SDK; times are seconds after `BEGAN`."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._tracer = provider.get_tracer("tests")

    def span(
        self,
        name: str,
        attributes: Attributes,
        *,
        at: float = 0.0,
        took: float = 0.1,
        parent: Span | None = None,
        problem: str = "",
    ) -> Span:
        """Record one finished span."""
        begin = int(BEGAN.timestamp() * SECOND) + int(at * SECOND)
        context = None if parent is None else set_span_in_context(parent)
        span = self._tracer.start_span(name, context=context, start_time=begin, attributes=dict(attributes))
        if problem:
            span.set_status(Status(StatusCode.ERROR, problem))
        span.end(begin + int(took * SECOND))
        return span

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """What was recorded."""
        return self.exporter.get_finished_spans()


def documents(prefix: str, *found: tuple[str, float, str], **metadata: Any) -> dict[str, Any]:
    """Documents as OpenInference flattens them."""
    made: dict[str, Any] = {}
    for place, (identifier, score, text) in enumerate(found):
        made[f"{prefix}.{place}.document.id"] = identifier
        made[f"{prefix}.{place}.document.score"] = score
        made[f"{prefix}.{place}.document.content"] = text
        if metadata:
            made[f"{prefix}.{place}.document.metadata"] = json.dumps(metadata)
    return made


def record_pool(recorder: Recorder, answer: str = ANSWER) -> str:
    """Record a question that is answered by retrieval, reranking and a model; return the id of the trace."""
    kind = "openinference.span.kind"
    root = recorder.span(
        "answer", {kind: "CHAIN", "input.value": QUESTION, "output.value": answer, "session.id": "s1"}, took=2.0
    )
    recorder.span("embed", {kind: "EMBEDDING", "embedding.model_name": "mini"}, at=0.0, parent=root)
    found = documents("retrieval.documents", ("bar", 0.9, BAR), ("pool", 0.8, POOL), ("lift", 0.1, LIFT))
    recorder.span("vectors", {kind: "RETRIEVER", "input.value": QUESTION, **found}, at=0.2, parent=root)
    ranked = {
        **documents("reranker.input_documents", ("bar", 0.9, BAR), ("pool", 0.8, POOL), ("lift", 0.1, LIFT)),
        **documents("reranker.output_documents", ("pool", 0.99, POOL), ("bar", 0.2, BAR)),
    }
    recorder.span("rerank", {kind: "RERANKER", "reranker.query": QUESTION, **ranked}, at=0.4, parent=root)
    recorder.span(
        "chat small-1",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "small-1",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.conversation.id": "s1",
            "llm.cost.total": 0.002,
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
            ),
        },
        at=0.6,
        took=1.2,
        parent=root,
    )
    return format(root.get_span_context().trace_id, "032x")


def to_otlp_json(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """Spans as a request of OTLP/JSON, whose ids are hexadecimal and not base64 as elsewhere in protobuf's JSON."""
    request = MessageToDict(encode_spans(spans))
    for resource in request["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return dict(request)


def write_json(path: Path, *requests: Any) -> Path:
    """Write values one a line."""
    path.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
    return path


def to_protobuf(spans: Sequence[ReadableSpan]) -> bytes:
    """Spans as a request of OTLP in protobuf."""
    return bytes(encode_spans(spans).SerializeToString())


def trace_span(trace_id: str = "t1", span_id: str = "s1", **fields: Any) -> TraceSpan:
    """A span as it is stored."""
    given = {"role": SpanRole.CHAIN, "name": "step", "started_at": BEGAN, **fields}
    return TraceSpan(trace_id=trace_id, span_id=span_id, **given)


def found(identifier: str, text: str = "", **fields: Any) -> TraceDocument:
    """A document that a span returned."""
    return TraceDocument(id=identifier, text=text, **fields)


# --- Exports of other systems: our own data in their published forms ---

LANGFUSE_TRACE: dict[str, Any] = {
    "id": "lf-trace-1",
    "timestamp": "2026-03-01T09:00:00.000Z",
    "name": "support",
    "sessionId": "lf-session",
    "input": {"question": QUESTION},
    "output": ANSWER,
    "observations": [
        {
            "id": "lf-retrieve",
            "traceId": "lf-trace-1",
            "type": "RETRIEVER",
            "name": "search",
            "startTime": "2026-03-01T09:00:00.100Z",
            "endTime": "2026-03-01T09:00:00.300Z",
            "parentObservationId": None,
            "input": QUESTION,
            "output": [{"id": "pool", "content": POOL, "score": 0.8}, {"page_content": BAR, "metadata": {"id": "bar"}}],
            "level": "DEFAULT",
        },
        {
            "id": "lf-generate",
            "traceId": "lf-trace-1",
            "type": "GENERATION",
            "name": "answer",
            "startTime": "2026-03-01T09:00:00.400Z",
            "endTime": "2026-03-01T09:00:01.400Z",
            "parentObservationId": None,
            "model": "small-1",
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
            "output": {"role": "assistant", "content": ANSWER},
            "usageDetails": {"input": 120, "output": 15, "total": 135},
            "costDetails": {"input": 0.001, "output": 0.002, "total": 0.003},
            "level": "DEFAULT",
        },
    ],
}
LANGFUSE_BLOB: dict[str, Any] = {
    "id": "lf-blob",
    "trace_id": "lf-trace-2",
    "type": "GENERATION",
    "name": "answer",
    "start_time": "2026-03-01 09:00:00.400000",
    "end_time": "2026-03-01 09:00:01.400000",
    "parent_observation_id": "lf-elsewhere",
    "session_id": "lf-session",
    "provided_model_name": "small-1",
    "input": json.dumps([{"role": "user", "content": QUESTION}]),
    "output": json.dumps({"role": "assistant", "content": ANSWER}),
    "usage_details": {"input": 120, "output": 15},
    "cost_details": {"total": 0.003},
    "level": "ERROR",
    "status_message": "timed out",
}
PHOENIX_SPAN: dict[str, Any] = {
    "id": "U3Bhbjox",
    "name": "retrieve",
    "context": {"trace_id": "a" * 32, "span_id": "b" * 16},
    "span_kind": "RETRIEVER",
    "parent_id": None,
    "start_time": "2026-03-01T09:00:00+00:00",
    "end_time": "2026-03-01T09:00:00.250000+00:00",
    "status_code": "OK",
    "status_message": "",
    "attributes": {
        "input": {"value": QUESTION},
        "retrieval": {"documents": [{"document": {"id": "pool", "content": POOL, "score": 0.8}}]},
        "session.id": "px",
    },
    "events": [],
}
PHOENIX_ROW: dict[str, Any] = {
    "name": "ChatCompletion",
    "span_kind": "LLM",
    "parent_id": "b" * 16,
    "start_time": 1772355600400,
    "end_time": 1772355601400,
    "status_code": "ERROR",
    "status_message": "rate limited",
    "context.trace_id": "a" * 32,
    "context.span_id": "c" * 16,
    "attributes.llm.model_name": "small-1",
    "attributes.llm.token_count.prompt": 120.0,
    "attributes.llm.token_count.completion": 15.0,
    "attributes.llm.input_messages": [{"message.role": "user", "message.content": QUESTION}],
    "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": ANSWER}],
}
LANGSMITH_RUNS: tuple[dict[str, Any], ...] = (
    {
        "id": "11111111-1111-4111-8111-111111111111",
        "trace_id": "11111111-1111-4111-8111-111111111111",
        "parent_run_id": None,
        "name": "RunnableSequence",
        "run_type": "chain",
        "start_time": "2026-03-01T09:00:00.000000",
        "end_time": "2026-03-01T09:00:02.000000",
        "inputs": {"question": QUESTION},
        "outputs": {"output": ANSWER},
        "error": None,
        "session_id": "22222222-2222-4222-8222-222222222222",
        "extra": {"metadata": {"thread_id": "ls-thread"}},
    },
    {
        "id": "33333333-3333-4333-8333-333333333333",
        "trace_id": "11111111-1111-4111-8111-111111111111",
        "parent_run_id": "11111111-1111-4111-8111-111111111111",
        "name": "VectorStoreRetriever",
        "run_type": "retriever",
        "start_time": "2026-03-01T09:00:00.100000",
        "end_time": "2026-03-01T09:00:00.300000",
        "inputs": {"query": QUESTION},
        "outputs": {
            "documents": [
                {"page_content": POOL, "type": "Document", "metadata": {"source": "pool.md", "valid_to": "2026-02-01"}}
            ]
        },
        "error": None,
    },
    {
        "id": "44444444-4444-4444-8444-444444444444",
        "trace_id": "11111111-1111-4111-8111-111111111111",
        "parent_run_id": "11111111-1111-4111-8111-111111111111",
        "name": "ChatModel",
        "run_type": "llm",
        "start_time": "2026-03-01T09:00:00.400000",
        "end_time": "2026-03-01T09:00:01.900000",
        "inputs": {
            "messages": [[{"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": QUESTION}}]]
        },
        "outputs": {"generations": [[{"text": ANSWER, "message": {"kwargs": {"type": "ai", "content": ANSWER}}}]]},
        "prompt_tokens": 120,
        "completion_tokens": 15,
        "total_cost": "0.003",
        "extra": {"metadata": {"ls_model_name": "small-1"}},
        "error": None,
    },
)
