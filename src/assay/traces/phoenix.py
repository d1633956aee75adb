"""Exports of Phoenix: spans of its REST API, or lines of its data frame of spans.

A line of the data frame has flat columns (`context.trace_id`, `attributes.input.value`); a span of the API has
`context` and `attributes` as objects, whose names may be dotted or nested. Both carry OpenInference attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.traces.conventions import KIND, RawSpan, read_span
from assay.traces.json_stream import JsonStream, Read
from assay.traces.reading import (
    ReadSpan,
    RefusedSpan,
    SpanProblem,
    check_depth,
    malformed,
    read_id,
    read_optional_id,
    read_optional_time,
    read_time,
    shorten,
)

_LEAVES = (
    "retrieval.documents",
    "reranker.input_documents",
    "reranker.output_documents",
    "gen_ai.memory.records",
    "gen_ai.retrieval.documents",
    "input.value",
    "output.value",
)
"""Attributes that are read as one value and not taken apart."""
_ATTRIBUTES = "attributes."


def looks_like_phoenix(value: Mapping[str, Any]) -> bool:
    """Whether a line is a span of Phoenix."""
    return "context.trace_id" in value or ("span_kind" in value and isinstance(value.get("context"), Mapping))


def read_phoenix(read: Read) -> Iterator[ReadSpan]:
    """Every span of a file, or why it cannot be read."""
    for found in JsonStream(read, ("data",), last=("data",)).values():
        if isinstance(found, RefusedSpan):
            yield found
        elif isinstance(found.value, Mapping) and isinstance(found.value.get("data"), list):
            yield from map(read_phoenix_span, found.value["data"])
        else:
            yield read_phoenix_span(found.value)


def read_phoenix_span(value: Any) -> ReadSpan:
    """One span."""
    try:
        if not isinstance(value, Mapping):
            raise malformed(f"{shorten(value)} is not a span")
        check_depth(value)
        return read_span(_raw(value))
    except SpanProblem as problem:
        return problem.refused


def _raw(value: Mapping[str, Any]) -> RawSpan:
    context = value.get("context") if isinstance(value.get("context"), Mapping) else {}
    assert isinstance(context, Mapping)  # noqa: S101 - for the type checker: decided one line above
    attributes = _flatten(value)
    if value.get("span_kind"):
        attributes.setdefault(KIND, value["span_kind"])
    failed = str(value.get("status_code") or "").upper() == "ERROR"
    return RawSpan(
        trace_id=read_id(context.get("trace_id") or value.get("context.trace_id"), "trace_id"),
        span_id=read_id(context.get("span_id") or value.get("context.span_id"), "span_id"),
        parent_id=read_optional_id(value.get("parent_id"), "parent_id"),
        name=value.get("name") or "",
        started_at=read_time(value.get("start_time"), "start_time"),
        ended_at=read_optional_time(value.get("end_time"), "end_time"),
        problem=str(value.get("status_message") or "the span reports an error") if failed else "",
        attributes=attributes,
    )


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes under dotted names, from columns and from nested objects."""
    found = {name[len(_ATTRIBUTES) :]: inner for name, inner in value.items() if name.startswith(_ATTRIBUTES)}
    nested = value.get("attributes")
    waiting = [("", nested)] if isinstance(nested, Mapping) else []
    waiting += [(f"{name}.", inner) for name, inner in found.items() if isinstance(inner, Mapping)]
    while waiting:
        prefix, inner = waiting.pop()
        for name, leaf in inner.items():
            whole = prefix + str(name)
            if isinstance(leaf, Mapping) and whole not in _LEAVES:
                waiting.append((f"{whole}.", leaf))
            else:
                found[whole] = leaf
    return _flatten_messages(found)


def _flatten_messages(found: dict[str, Any]) -> dict[str, Any]:
    """Lists of messages as OpenTelemetry flattens them."""
    for name in ("llm.input_messages", "llm.output_messages"):
        messages = found.pop(name, None)
        for place, message in enumerate(messages if isinstance(messages, list) else []):
            fields = message.get("message", message) if isinstance(message, Mapping) else {}
            for key, inner in fields.items() if isinstance(fields, Mapping) else ():
                found[f"{name}.{place}.message.{str(key).removeprefix('message.')}"] = inner
    return found
