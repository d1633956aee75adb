"""Exports of LangSmith: runs, one JSON object a line, as its run data format describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.records.traces import SEARCHES, TraceSpan
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

_THREADS = ("session_id", "thread_id", "conversation_id")
"""Members of a run's metadata that name the conversation; `session_id` of the run itself is its project."""


def looks_like_langsmith(value: Mapping[str, Any]) -> bool:
    """Whether a line is a run of LangSmith."""
    return "run_type" in value and "id" in value


def read_langsmith(read: Read) -> Iterator[ReadSpan]:
    """Every span of a file, or why it cannot be read."""
    for found in JsonStream(read, ("runs",), last=("runs",)).values():
        if isinstance(found, RefusedSpan):
            yield found
        elif isinstance(found.value, Mapping) and isinstance(found.value.get("runs"), list):
            for run in found.value["runs"]:
                yield from read_run(run)
        else:
            yield from read_run(found.value)


def read_run(value: Any) -> Iterator[ReadSpan]:
    """One run, and the runs that stand inside it."""
    waiting = [value]
    while waiting:
        run = waiting.pop(0)
        children = run.get("child_runs") if isinstance(run, Mapping) else None
        waiting += children if isinstance(children, list) else []
        try:
            yield _run(run)
        except SpanProblem as problem:
            yield problem.refused


def _run(value: Any) -> TraceSpan:
    if not isinstance(value, Mapping):
        raise malformed(f"{shorten(value)} is not a run")
    check_depth({name: inner for name, inner in value.items() if name != "child_runs"})
    role = role_of(value.get("run_type"))
    metadata = _metadata(value)
    error = value.get("error")
    return build_span(
        trace_id=read_id(value.get("trace_id") or value.get("id"), "trace_id"),
        span_id=read_id(value.get("id"), "id"),
        parent_id=read_optional_id(value.get("parent_run_id"), "parent_run_id"),
        role=role,
        name=read_name(value.get("name")),
        started_at=read_time(value.get("start_time"), "start_time"),
        ended_at=read_optional_time(value.get("end_time"), "end_time"),
        problem=error if isinstance(error, str) else "",
        session_id=next((found for name in _THREADS if (found := read_label(metadata.get(name)))), None),
        model=read_label(metadata.get("ls_model_name")),
        input_tokens=read_count(value.get("prompt_tokens")),
        output_tokens=read_count(value.get("completion_tokens")),
        cost_usd=read_number(value.get("total_cost")),
        input=find_text(value.get("inputs"), ASKED_KEYS, "user"),
        output="" if role in SEARCHES else find_text(value.get("outputs"), ANSWERED_KEYS, "assistant"),
        documents=read_documents(value.get("outputs")) if role in SEARCHES else (),
    )


def _metadata(value: Mapping[str, Any]) -> Mapping[str, Any]:
    extra = parse_json(value.get("extra"))
    found = extra.get("metadata") if isinstance(extra, Mapping) else None
    return found if isinstance(found, Mapping) else {}
