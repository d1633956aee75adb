"""OTLP as JSON: one request (`resourceSpans`), many of them line by line, or one that is larger than memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.records.traces import RejectReason
from assay.records.values import MAX_NESTING
from assay.traces.conventions import RawSpan, read_span
from assay.traces.json_stream import JsonStream, Read
from assay.traces.reading import (
    ReadSpan,
    RefusedSpan,
    SpanProblem,
    malformed,
    read_nanoseconds,
    read_optional_id,
    shorten,
)

WALKED = ("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans")
"""Lists on the way to spans; the third is how scopes were called before OTLP 0.19."""
_BESIDE = frozenset({"resource", "scope", "instrumentationLibrary", "schemaUrl"})
"""What messages have beside their lists."""
_ERROR = (2, "STATUS_CODE_ERROR")
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


def read_otlp_json(read: Read) -> Iterator[ReadSpan]:
    """Every span of a file or request, or why it cannot be read."""
    for found in JsonStream(read, WALKED, last=("spans",)).values():
        if isinstance(found, RefusedSpan):
            yield found
        else:
            yield from read_value(found.value, inside=found.list_name == "spans")


def read_value(value: Any, *, inside: bool = False) -> Iterator[ReadSpan]:
    """The spans of a request; `inside`: of what stands in a list of spans."""
    if isinstance(value, Mapping) and (not inside or "resourceSpans" in value):
        lists: list[Any] = [value]
        for names in (WALKED[:1], WALKED[1:3], WALKED[3:]):
            yield from (_refuse_without(outer, names) for outer in lists if not _has_list(outer, names))
            lists = [inner for outer in lists if _has_list(outer, names) for inner in _inner(outer, names)]
        for span in lists:
            yield read_json_span(span)
    else:
        yield read_json_span(value)


def _has_list(value: Any, names: tuple[str, ...]) -> bool:
    """Whether a message has the list it should have. An empty list may be left out, but not under another name."""
    if not isinstance(value, Mapping):
        return False
    named = [value[name] for name in names if name in value]
    if named or names == WALKED[:1]:
        return bool(named) and all(isinstance(listed, list) for listed in named)
    return value.keys() <= _BESIDE


def _refuse_without(value: Any, names: tuple[str, ...]) -> RefusedSpan:
    shown = list(value)[:5] if isinstance(value, Mapping) else value
    return RefusedSpan(RejectReason.MALFORMED, f"there is no list {names[0]} in {shorten(shown)}")


def _inner(value: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [item for name in names for item in value.get(name, ())]


def read_json_span(span: Any) -> ReadSpan:
    """One span."""
    try:
        if not isinstance(span, Mapping):
            raise malformed(f"{shorten(span)} is not a span")
        ended = span.get("endTimeUnixNano")
        return read_span(
            RawSpan(
                trace_id=_hexadecimal(span.get("traceId"), "traceId", _TRACE_ID),
                span_id=_hexadecimal(span.get("spanId"), "spanId", _SPAN_ID),
                parent_id=read_optional_id(_small(span.get("parentSpanId")), "parentSpanId"),
                name=span.get("name", ""),
                started_at=read_nanoseconds(span.get("startTimeUnixNano"), "startTimeUnixNano"),
                ended_at=None if ended in (None, 0, "0", "") else read_nanoseconds(ended, "endTimeUnixNano"),
                problem=_problem(span.get("status")),
                attributes=_attributes(span.get("attributes"), 0),
            )
        )
    except SpanProblem as problem:
        return problem.refused


def _hexadecimal(value: Any, what: str, digits: re.Pattern[str]) -> str:
    """An id as OTLP writes it in JSON; all zeros are no id."""
    found = _small(value)
    if not isinstance(found, str) or not digits.fullmatch(found) or not found.strip("0"):
        raise malformed(f"{what} {shorten(value)} is not an id of OTLP: {digits.pattern}")
    return found


def _small(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _problem(status: Any) -> str:
    if not isinstance(status, Mapping) or status.get("code") not in _ERROR:
        return ""
    message = status.get("message")
    return message if isinstance(message, str) and message else "the span reports an error"


def _attributes(value: Any, depth: int) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, list):
        raise malformed(f"attributes {shorten(value)} are not a list")
    found: dict[str, Any] = {}
    for entry in value:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("key"), str):
            raise malformed(f"attribute {shorten(entry)} has no key")
        found[entry["key"]] = _any_value(entry.get("value"), depth)
    return found


def _any_value(value: Any, depth: int) -> Any:
    """One value of an attribute in Python's own types."""
    if depth > MAX_NESTING:
        raise SpanProblem(RejectReason.TOO_DEEP, f"an attribute is nested deeper than {MAX_NESTING} levels")
    if not isinstance(value, Mapping):
        if value is None:
            return None
        raise malformed(f"attribute value {shorten(value)} is not an object such as {{'stringValue': ...}}")
    for kind, inner in value.items():
        if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
            return inner
        if kind == "intValue":
            return _whole(inner)
        if kind == "arrayValue" and isinstance(inner, Mapping):
            return [_any_value(item, depth + 1) for item in inner.get("values") or []]
        if kind == "kvlistValue" and isinstance(inner, Mapping):
            return _attributes(inner.get("values"), depth + 1)
    return None


def _whole(value: Any) -> int:
    """A number that JSON may hold as text, because it can have 64 bits."""
    try:
        return int(value if len(str(value)) <= 20 else "x")
    except (TypeError, ValueError) as problem:
        raise malformed(f"intValue {shorten(value)} is not a whole number") from problem
