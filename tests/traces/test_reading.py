"""Files of every form become the same kind of spans."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.traces.made import (
    ANSWER,
    BAR,
    LANGFUSE_BLOB,
    LANGFUSE_TRACE,
    LANGSMITH_RUNS,
    LIFT,
    PHOENIX_ROW,
    PHOENIX_SPAN,
    POOL,
    QUESTION,
    Recorder,
    documents,
    found,
    record_pool,
    to_otlp_json,
    to_protobuf,
)

from assay.records.traces import SpanRole, TraceSpan
from assay.traces.analysis import AnalysedTrace
from assay.traces.importing import Reader
from assay.traces.langfuse import read_langfuse
from assay.traces.langsmith import read_langsmith
from assay.traces.otlp_json import read_otlp_json
from assay.traces.otlp_protobuf import read_otlp_protobuf
from assay.traces.phoenix import read_phoenix
from assay.traces.reading import RefusedSpan


def read_all(reader: Reader, data: bytes) -> list[TraceSpan]:
    """Every span of some bytes; none may be refused."""
    read = list(reader(io.BytesIO(data).read))
    assert not [span for span in read if isinstance(span, RefusedSpan)]
    return [span for span in read if isinstance(span, TraceSpan)]


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def one(reader: Reader, *values: Any) -> TraceSpan:
    (span,) = read_all(reader, lines(*values))
    return span


@pytest.fixture
def pool() -> Recorder:
    recorder = Recorder()
    record_pool(recorder)
    return recorder


def test_json_and_protobuf_of_the_same_spans_read_alike(pool: Recorder) -> None:
    as_json = read_all(read_otlp_json, lines(to_otlp_json(pool.spans)))
    assert as_json == read_all(read_otlp_protobuf, to_protobuf(pool.spans))
    assert [span.role for span in as_json] == [
        SpanRole.CHAIN,
        SpanRole.EMBEDDING,
        SpanRole.RETRIEVER,
        SpanRole.RERANKER,
        SpanRole.MODEL,
    ]


def test_protobuf_messages_may_stand_behind_their_lengths(pool: Recorder) -> None:
    message = to_protobuf(pool.spans)
    framed = len(message).to_bytes(4, "big") + message
    assert read_all(read_otlp_protobuf, framed + framed) == read_all(read_otlp_protobuf, message) * 2


def test_openinference_attributes_become_documents_texts_and_tokens(pool: Recorder) -> None:
    root, embedding, retriever, reranker, model = read_all(read_otlp_json, lines(to_otlp_json(pool.spans)))
    assert (root.input, root.output, root.session_id, root.duration_ms) == (QUESTION, ANSWER, "s1", 2000.0)
    assert (embedding.model, embedding.parent_id) == ("mini", root.span_id)
    assert retriever.documents == (
        found("bar", BAR, score=0.9),
        found("pool", POOL, score=0.8),
        found("lift", LIFT, score=0.1),
    )
    assert reranker.input == QUESTION
    assert reranker.candidates == retriever.documents
    assert reranker.documents == (found("pool", POOL, score=0.99), found("bar", BAR, score=0.2))
    assert (model.model, model.input_tokens, model.output_tokens, model.cost_usd) == ("small-1", 100, 20, 0.002)
    assert model.output == ANSWER


def test_operations_on_memories_are_read_before_the_kind_beside_them() -> None:
    recorder = Recorder()
    records = json.dumps([{"id": "m1", "content": POOL, "score": 0.7}, {"id": "m2", "content": {"likes": "tea"}}])
    recorder.span(
        "search_memory",
        {
            "gen_ai.operation.name": "search_memory",
            "openinference.span.kind": "RETRIEVER",
            "gen_ai.memory.query.text": QUESTION,
            "gen_ai.memory.records": records,
        },
    )
    recorder.span("create_memory", {"gen_ai.operation.name": "create_memory", "gen_ai.memory.records": records})
    search, write = read_all(read_otlp_json, lines(to_otlp_json(recorder.spans)))
    assert (search.role, search.input) == (SpanRole.MEMORY_SEARCH, QUESTION)
    assert search.documents == (found("m1", POOL, score=0.7), found("m2", '{"likes": "tea"}'))
    assert (write.role, write.documents) == (SpanRole.MEMORY_WRITE, search.documents)


def test_retrieval_by_the_genai_conventions_has_its_documents_as_one_value() -> None:
    recorder = Recorder()
    given = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": QUESTION}
    recorder.span("retrieval", {**given, "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "score": 0.5}])})
    (span,) = read_all(read_otlp_json, lines(to_otlp_json(recorder.spans)))
    assert (span.role, span.input, span.documents) == (SpanRole.RETRIEVER, QUESTION, (found("d1", score=0.5),))


def test_a_failed_span_has_its_message_and_other_spans_are_other() -> None:
    recorder = Recorder()
    recorder.span("GET /", {"http.request.method": "GET", "input.value": "ignored"}, problem="timed out")
    (span,) = read_all(read_otlp_json, lines(to_otlp_json(recorder.spans)))
    assert (span.role, span.problem, span.input) == (SpanRole.OTHER, "timed out", "")


def test_documents_state_until_when_they_are_valid() -> None:
    recorder = Recorder()
    flat = documents("retrieval.documents", ("pool", 0.8, POOL), valid_to="2026-02-01T00:00:00Z")
    recorder.span("search", {"openinference.span.kind": "RETRIEVER", **flat})
    (span,) = read_all(read_otlp_json, lines(to_otlp_json(recorder.spans)))
    assert span.documents[0].stale_after == datetime(2026, 2, 1, tzinfo=UTC)


# What the instrumentation of LangChain writes, in our own words; tests/integrations tries the real one.
LANGCHAIN_FOUND = [
    {"id": "n1", "page_content": BAR, "metadata": {"source": "hotel.md", "score": 0.9}, "type": "Document"},
    {"id": "n2", "page_content": POOL, "metadata": {"source": "hotel.md"}, "type": "Document"},
    {"id": "n3", "page_content": LIFT, "metadata": {"id": "lift"}, "type": "Document"},
]
RETRIEVER, LLM, CHAIN = ({"openinference.span.kind": kind} for kind in ("RETRIEVER", "LLM", "CHAIN"))


def recorded(*spans: dict[str, Any]) -> list[TraceSpan]:
    recorder = Recorder()
    for attributes in spans:
        recorder.span("step", attributes)
    return read_all(read_otlp_json, lines(to_otlp_json(recorder.spans)))


def test_documents_of_langchain_have_the_ids_of_the_output() -> None:
    flat: dict[str, Any] = {}
    for place, item in enumerate(LANGCHAIN_FOUND):
        flat[f"retrieval.documents.{place}.document.content"] = item["page_content"]
        flat[f"retrieval.documents.{place}.document.metadata"] = json.dumps(item["metadata"])
    other = [{**item, "page_content": "something else"} for item in LANGCHAIN_FOUND]
    named, listed, fewer, differing = recorded(
        {**RETRIEVER, **flat, "output.value": json.dumps({"documents": LANGCHAIN_FOUND})},
        {**RETRIEVER, **flat, "output.value": json.dumps(LANGCHAIN_FOUND)},
        {**RETRIEVER, **flat, "output.value": json.dumps(LANGCHAIN_FOUND[:2])},
        {**RETRIEVER, **flat, "output.value": json.dumps(other)},
    )
    assert named.documents == (found("n1", BAR, score=0.9), found("n2", POOL), found("lift", LIFT))
    assert listed.documents == named.documents
    for span in (fewer, differing):
        assert [document.id for document in span.documents] == ["hotel.md", "hotel.md", "lift"]


def test_messages_of_a_model_are_read_before_its_raw_request_and_reply() -> None:
    generations = {"generations": [[{"text": ANSWER, "message": {"kwargs": {"content": ANSWER, "type": "ai"}}}]]}
    raw = {"input.value": json.dumps({"args": [QUESTION], "kwargs": {}}), "output.value": json.dumps(generations)}
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": QUESTION}
    part = "llm.output_messages.0.message.contents"
    parts = {
        "llm.output_messages.0.message.role": "assistant",
        f"{part}.1.message_content.text": "At eight.",
        f"{part}.0.message_content.text": "In the evening.",
    }
    chat, listed, flat, bare = recorded(
        {**LLM, **raw, **asked, **parts},
        {**LLM, **raw, "llm.prompts": [QUESTION]},
        {**LLM, **raw, "llm.prompts.0.prompt.text": QUESTION},
        {**LLM, **raw},
    )
    assert (chat.input, chat.output) == (QUESTION, "In the evening.\nAt eight.")
    assert [(span.input, span.output) for span in (listed, flat)] == [(QUESTION, ANSWER)] * 2
    assert (bare.input, bare.output) == (raw["input.value"], ANSWER)


@pytest.mark.parametrize(
    "given",
    [
        {"type": "human", "data": {"content": QUESTION, "type": "human"}},
        {"lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": {"content": QUESTION}},
        {"messages": [["system", "Be brief."], ["human", QUESTION]]},
        {"messages": [["user", QUESTION]]},
        {"query_bundle": {"query_str": QUESTION, "image_path": None}},
        {"query_str": QUESTION, "text_chunks": [POOL]},
    ],
    ids=json.dumps,
)
def test_questions_in_the_forms_of_frameworks(given: Any) -> None:
    (span,) = recorded({**CHAIN, "input.value": json.dumps(given)})
    assert span.input == QUESTION


def test_a_message_that_only_calls_tools_keeps_its_form() -> None:
    message = {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "search"}]}}
    (span,) = recorded({**CHAIN, "output.value": json.dumps(message)})
    assert json.loads(span.output) == message


def test_langfuse_traces_and_observations() -> None:
    root, retriever, model = read_all(read_langfuse, lines(LANGFUSE_TRACE))
    assert (root.role, root.input, root.output, root.session_id) == (SpanRole.CHAIN, QUESTION, ANSWER, "lf-session")
    assert retriever.documents == (found("pool", POOL, score=0.8), found("bar", BAR))
    assert (retriever.input, retriever.duration_ms, retriever.parent_id) == (QUESTION, 200.0, root.span_id)
    assert AnalysedTrace([root, retriever, model]).duration_ms == 1400.0, "a trace of Langfuse has no end of its own"
    assert (model.input, model.output, model.model) == (QUESTION, ANSWER, "small-1")
    assert (model.input_tokens, model.output_tokens, model.cost_usd) == (120, 15, 0.003)


def test_langfuse_blob_storage_writes_names_with_underscores() -> None:
    span = one(read_langfuse, LANGFUSE_BLOB)
    assert (span.trace_id, span.parent_id, span.session_id) == ("lf-trace-2", "lf-elsewhere", "lf-session")
    assert (span.input, span.output, span.problem, span.cost_usd) == (QUESTION, ANSWER, "timed out", 0.003)


def test_phoenix_spans_of_the_api_and_rows_of_the_data_frame() -> None:
    retriever = one(read_phoenix, PHOENIX_SPAN)
    assert (retriever.role, retriever.input, retriever.session_id) == (SpanRole.RETRIEVER, QUESTION, "px")
    assert retriever.documents == (found("pool", POOL, score=0.8),)
    model = one(read_phoenix, PHOENIX_ROW)
    assert (model.role, model.parent_id, model.problem) == (SpanRole.MODEL, retriever.span_id, "rate limited")
    assert (model.input, model.output, model.input_tokens) == (QUESTION, ANSWER, 120)
    assert read_all(read_phoenix, lines({"data": [PHOENIX_SPAN], "next_cursor": None})) == [retriever]


def test_langsmith_runs() -> None:
    root, retriever, model = read_all(read_langsmith, lines(*LANGSMITH_RUNS))
    assert (root.input, root.output, root.session_id) == (QUESTION, ANSWER, "ls-thread")
    assert retriever.documents == (found("pool.md", POOL, stale_after=datetime(2026, 2, 1, tzinfo=UTC)),)
    assert (model.model, model.output, model.cost_usd, model.input_tokens) == ("small-1", ANSWER, 0.003, 120)
    assert model.input == QUESTION
    nested = {**LANGSMITH_RUNS[0], "child_runs": list(LANGSMITH_RUNS[1:])}
    assert read_all(read_langsmith, lines(nested)) == [root, retriever, model]
