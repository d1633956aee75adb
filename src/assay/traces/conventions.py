"""Attributes of OpenInference and of the OpenTelemetry GenAI conventions as a span.

A GenAI operation on a memory says more than the OpenInference kind beside it, so it is read first. Where both
conventions state a value, the GenAI one counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from assay.records.traces import MOST_DOCUMENTS, RejectReason, SpanRole, TraceDocument, TraceSpan
from assay.traces.reading import (
    ANSWERED_KEYS,
    ASKED_KEYS,
    SpanProblem,
    build_document,
    build_span,
    find_text,
    has_own_id,
    parse_json,
    read_count,
    read_documents,
    read_label,
    read_name,
    read_number,
    role_of,
)

Attributes = Mapping[str, Any]
KIND = "openinference.span.kind"
OPERATION = "gen_ai.operation.name"
_MEMORY = frozenset({SpanRole.MEMORY_SEARCH, SpanRole.MEMORY_WRITE})
_FIRST = (
    "document.id",
    "document.content",
    "document.score",
    "document.metadata",
    "message.role",
    "message.content",
    "prompt.text",
)
"""Fields of which the first element of a flattened list has at least one."""
_PART = re.compile(r"message\.contents\.(\d{1,6})\.message_content\.text")
_PLACED = re.compile(r"(\d{1,6})\.(.+)")


class RawSpan(NamedTuple):
    """A span of OpenTelemetry, before its attributes are read."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    started_at: datetime
    ended_at: datetime | None
    problem: str
    attributes: Attributes


def read_span(raw: RawSpan) -> TraceSpan:
    """Read the attributes of a span; raises `SpanProblem`."""
    attributes = raw.attributes
    operation = role_of(attributes.get(OPERATION))
    role = operation if operation in _MEMORY else role_of(attributes.get(KIND), attributes.get(OPERATION))
    reads = role is not SpanRole.OTHER
    return build_span(
        trace_id=raw.trace_id,
        span_id=raw.span_id,
        parent_id=raw.parent_id,
        role=role,
        name=read_name(raw.name),
        started_at=raw.started_at,
        ended_at=raw.ended_at,
        problem=raw.problem,
        session_id=read_label(_first(attributes, "gen_ai.conversation.id", "session.id")),
        model=read_label(
            _first(
                attributes,
                "gen_ai.response.model",
                "gen_ai.request.model",
                "llm.model_name",
                "embedding.model_name",
                "reranker.model_name",
            )
        ),
        input_tokens=read_count(
            _first(attributes, "gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens")
        ),
        output_tokens=read_count(
            _first(
                attributes,
                "gen_ai.usage.output_tokens",
                "llm.token_count.completion",
                "gen_ai.usage.completion_tokens",
            )
        ),
        cost_usd=read_number(_first(attributes, "llm.cost.total", "gen_ai.usage.cost")),
        input=_read_input(attributes, role) if reads else "",
        output=_read_output(attributes, role) if reads else "",
        documents=_read_found(attributes, role),
        candidates=_documents_at(attributes, "reranker.input_documents") if role is SpanRole.RERANKER else (),
    )


def _first(attributes: Attributes, *names: str) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def _read_input(attributes: Attributes, role: SpanRole) -> str:
    plain = _first(attributes, "gen_ai.retrieval.query.text", "gen_ai.memory.query.text", "reranker.query")
    if isinstance(plain, str):
        return plain
    if role is SpanRole.MODEL and "gen_ai.input.messages" not in attributes:
        # What stands in `input.value` is the whole request, in the form of the service or framework.
        asked = _read_messages(attributes, "llm.input_messages.", "user") or _read_prompts(attributes)
        if asked:
            return asked
    given = _first(attributes, "input.value", "gen_ai.input.messages", "embedding.text", "tool.parameters")
    if given is not None:
        return find_text(given, ASKED_KEYS, "user")
    return _read_messages(attributes, "llm.input_messages.", "user")


def _read_output(attributes: Attributes, role: SpanRole) -> str:
    if role is SpanRole.MODEL and "gen_ai.output.messages" not in attributes:
        written = _read_messages(attributes, "llm.output_messages.", "assistant")
        if written:
            return written
    given = _first(attributes, "gen_ai.output.messages", "output.value")
    if given is not None:
        return find_text(given, ANSWERED_KEYS, "assistant")
    return _read_messages(attributes, "llm.output_messages.", "assistant")


def _read_messages(attributes: Attributes, prefix: str, role: str) -> str:
    """The last message of a role among flattened ones, such as `llm.output_messages.0.message.content`."""
    messages = _placed(attributes, prefix)
    spoken = [fields for fields in messages.values() if fields.get("message.role", role) == role]
    if not spoken:
        return ""
    content = spoken[-1].get("message.content")
    if isinstance(content, str):
        return content
    return "\n".join(_placed_parts(spoken[-1]))


def _placed_parts(message: Mapping[str, Any]) -> list[str]:
    """The texts of a message in parts, such as `message.contents.0.message_content.text`, in their order."""
    found = {
        int(match[1]): text
        for name, text in message.items()
        if (match := _PART.fullmatch(name)) and isinstance(text, str)
    }
    return [found[place] for place in sorted(found)]


def _read_prompts(attributes: Attributes) -> str:
    """The prompts of a model that completes texts: one list, or flattened."""
    listed = attributes.get("llm.prompts")
    prompts = listed if isinstance(listed, (list, tuple)) else _flat_prompts(attributes)
    return "\n".join(prompt for prompt in prompts if isinstance(prompt, str))


def _flat_prompts(attributes: Attributes) -> list[Any]:
    return [fields.get("prompt.text") for fields in _placed(attributes, "llm.prompts.").values()]


def _placed(attributes: Attributes, prefix: str) -> dict[int, dict[str, Any]]:
    """Flattened lists by place: `prefix` and `0.document.id` become `{0: {"document.id": ...}}`."""
    found: dict[int, dict[str, Any]] = {}
    # Most spans have no such list, and looking through all their attributes takes long.
    if not any(f"{prefix}0.{name}" in attributes for name in _FIRST):
        return found
    length = len(prefix)
    for name, value in attributes.items():
        if name.startswith(prefix) and (match := _PLACED.fullmatch(name, length)):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return dict(sorted(found.items()))


def _read_found(attributes: Attributes, role: SpanRole) -> tuple[TraceDocument, ...]:
    if role is SpanRole.RERANKER:
        return _documents_at(attributes, "reranker.output_documents")
    if role is SpanRole.MEMORY_SEARCH:
        found = _documents_at(attributes, "gen_ai.memory.records")
        return found or _documents_at(attributes, "retrieval.documents")
    if role is SpanRole.MEMORY_WRITE:
        return _documents_at(attributes, "gen_ai.memory.records")
    if role is SpanRole.RETRIEVER:
        found = _documents_at(attributes, "gen_ai.retrieval.documents")
        return found or _with_ids(_documents_at(attributes, "retrieval.documents"), attributes.get("output.value"))
    return ()


def _with_ids(found: tuple[TraceDocument, ...], output: Any) -> tuple[TraceDocument, ...]:
    """Documents of LangChain with their ids, which its instrumentation leaves in the output: it flattens the rest.

    Without them, all passages of one source would be one document.
    """
    told = parse_json(output) if found else None
    listed = told.get("documents") if isinstance(told, Mapping) else told
    if not isinstance(listed, list) or len(listed) != len(found):
        return found
    pairs = enumerate(zip(found, listed, strict=True), start=1)
    return tuple(_with_id(document, item, place) for place, (document, item) in pairs)


def _with_id(document: TraceDocument, item: Any, place: int) -> TraceDocument:
    if not isinstance(item, Mapping) or not item.get("id") or item.get("page_content") != document.text:
        return document
    stated = item.get("metadata")
    metadata = stated if isinstance(stated, Mapping) else {}
    if has_own_id(metadata):
        return document
    return build_document(item["id"], document.text, document.score, metadata, place)


def _documents_at(attributes: Attributes, name: str) -> tuple[TraceDocument, ...]:
    """Documents as one value, or flattened into one attribute a field."""
    whole = attributes.get(name)
    if whole is not None:
        return read_documents(whole)
    placed = _placed(attributes, f"{name}.")
    if len(placed) > MOST_DOCUMENTS:
        raise SpanProblem(RejectReason.TOO_LARGE, f"it has more than {MOST_DOCUMENTS:,} documents")
    return tuple(_flattened(fields, place) for place, fields in placed.items())


def _flattened(fields: Mapping[str, Any], place: int) -> TraceDocument:
    metadata = parse_json(fields.get("document.metadata"))
    return build_document(
        fields.get("document.id"),
        fields.get("document.content"),
        fields.get("document.score"),
        metadata if isinstance(metadata, Mapping) else {},
        place + 1,
    )
