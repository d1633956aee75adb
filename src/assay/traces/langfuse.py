"""Exports of Langfuse: observations and traces, as its API (`traceId`) and its blob storage (`trace_id`) write them.

A trace with its `observations` inside becomes a span of its own with theirs below it; so does a trace by itself, which
gives a session and the question to observations that come from another file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.records.traces import SEARCHES, SpanRole, TraceSpan
from assay.traces.json_stream import JsonStream, Read
from assay.traces.reading import (
    ANSWERED_KEYS,
    ASKED_KEYS,
    ReadSpan,
    RefusedSpan,
    SpanProblem,
    build_span,
    check_depth,
    find_text,
    malformed,
    parse_json,
    read_count,
    read_documents,
    read_id,
    read_label,
    read_name,
    read_number,
    read_optional_id,
    read_optional_time,
    read_time,
    role_of,
    shorten,
)

ROOT = "trace-"
"""Stands before the id of a trace where the trace itself is a span."""


def looks_like_langfuse(value: Mapping[str, Any]) -> bool:
    """Whether a line is an observation or a trace of Langfuse."""
    observation = ("traceId" in value or "trace_id" in value) and ("startTime" in value or "start_time" in value)
    is_langsmith = "run_type" in value
    return (observation and "type" in value and not is_langsmith) or (
        "timestamp" in value and "id" in value and ("observations" in value or "input" in value)
    )


def read_langfuse(read: Read) -> Iterator[ReadSpan]:
    """Every span of a file, or why it cannot be read."""
    for found in JsonStream(read, ("data",), last=("data",)).values():
        if isinstance(found, RefusedSpan):
            yield found
        elif isinstance(found.value, Mapping) and isinstance(found.value.get("data"), list):
            for value in found.value["data"]:
                yield from read_langfuse_value(value)
        else:
            yield from read_langfuse_value(found.value)


def read_langfuse_value(value: Any) -> Iterator[ReadSpan]:
    """The spans of one observation, or of one trace with its observations."""
    if not isinstance(value, Mapping):
        yield malformed(f"{shorten(value)} is not an observation").refused
        return
    if "timestamp" in value and "type" not in value:
        yield _catch(_trace, value)
        for inner in value.get("observations") or []:
            # The public API may list ids alone; the observations themselves are in another file then.
            if not isinstance(inner, str):
                yield _catch(_observation, inner, value.get("id"))
        return
    yield _catch(_observation, value)


def _catch(read: Any, *given: Any) -> ReadSpan:
    try:
        found: TraceSpan = read(*given)
    except SpanProblem as problem:
        return problem.refused
    return found


def _trace(value: Mapping[str, Any]) -> TraceSpan:
    check_depth({name: inner for name, inner in value.items() if name != "observations"})
    trace_id = read_id(value.get("id"), "id")
    return build_span(
        trace_id=trace_id,
        span_id=_root_of(trace_id),
        role=SpanRole.CHAIN,
        name=read_name(value.get("name")) or "trace",
        started_at=read_time(value.get("timestamp"), "timestamp"),
        session_id=read_label(value.get("sessionId") or value.get("session_id")),
        input=find_text(value.get("input"), ASKED_KEYS, "user"),
        output=find_text(value.get("output"), ANSWERED_KEYS, "assistant"),
    )


def _root_of(trace_id: str) -> str:
    return read_id(ROOT + trace_id[:120], "id")


def _observation(value: Any, trace_id: Any = None) -> TraceSpan:
    if not isinstance(value, Mapping):
        raise malformed(f"{shorten(value)} is not an observation")
    check_depth(value)

    def find(name: str, other: str = "") -> Any:
        """A field by its name in the API, else by its name in blob storage."""
        own = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)
        return next((value[key] for key in (name, own, other) if value.get(key) is not None), None)

    role = role_of(find("type"))
    failed = str(find("level") or "").upper() == "ERROR"
    usage, cost = parse_json(find("usageDetails", "usage")), parse_json(find("costDetails"))
    usage = usage if isinstance(usage, Mapping) else {}
    cost = cost if isinstance(cost, Mapping) else {}
    return build_span(
        trace_id=read_id(find("traceId") or trace_id, "traceId"),
        span_id=read_id(find("id"), "id"),
        # An observation at the top of a trace stands below the span that is made of the trace.
        parent_id=read_optional_id(find("parentObservationId"), "parentObservationId")
        or (None if trace_id is None else _root_of(read_id(trace_id, "id"))),
        role=role,
        name=read_name(find("name")),
        started_at=read_time(find("startTime"), "startTime"),
        ended_at=read_optional_time(find("endTime"), "endTime"),
        problem=str(find("statusMessage") or "the observation reports an error") if failed else "",
        session_id=read_label(find("sessionId")),
        model=read_label(find("model", "provided_model_name")),
        input_tokens=read_count(usage.get("input", find("promptTokens"))),
        output_tokens=read_count(usage.get("output", find("completionTokens"))),
        cost_usd=read_number(cost.get("total", find("calculatedTotalCost", "total_cost"))),
        input=find_text(find("input"), ASKED_KEYS, "user"),
        output="" if role in SEARCHES else find_text(find("output"), ANSWERED_KEYS, "assistant"),
        documents=read_documents(find("output")) if role in SEARCHES else (),
    )
