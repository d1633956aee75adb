"""Broken, huge and deeply nested files cost the spans that are broken, each counted with its reason."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces.made import LANGSMITH_RUNS, Recorder, record_pool, to_otlp_json, to_protobuf

from assay.errors import InputError
from assay.records.traces import RejectReason, TraceFormat, TraceSpan
from assay.traces import json_stream, otlp_protobuf
from assay.traces.importing import READERS, Reader, find_format
from assay.traces.langfuse import read_langfuse
from assay.traces.langsmith import read_langsmith
from assay.traces.otlp_json import read_otlp_json
from assay.traces.otlp_protobuf import read_otlp_protobuf
from assay.traces.phoenix import read_phoenix
from assay.traces.reading import RefusedSpan

TRACE = "0" * 31 + "1"
DEEP = 100_000


def span(number: int, **fields: Any) -> dict[str, Any]:
    """A span of OTLP."""
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": f"n{number}",
        "startTimeUnixNano": "1772355600000000000",
        "endTimeUnixNano": "1772355601000000000",
        **fields,
    }


def request(*spans: Any) -> dict[str, Any]:
    """A request with these spans."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def outcomes(reader: Reader, data: bytes) -> list[str]:
    """The name of each span that was read, or the reason why it was not."""
    read = list(reader(io.BytesIO(data).read))
    return [found.name if isinstance(found, TraceSpan) else found.reason.value for found in read]


def otlp(text: str) -> list[str]:
    return outcomes(read_otlp_json, text.encode("utf-8", "surrogateescape"))


GOOD = json.dumps(request(span(1), span(2)))


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD, ["n1", "n2"]),
        (f"{GOOD}\n\n{GOOD}\n", ["n1", "n2", "n1", "n2"]),
        (f"[{GOOD},{GOOD}]", ["n1", "n2", "n1", "n2"]),
        (json.dumps(json.loads(GOOD), indent=2), ["n1", "n2"]),
        (GOOD.replace('"n1"', "oops"), ["malformed", "n2"]),
        (GOOD.replace('"n1"', "NaN"), ["malformed", "n2"]),
        (f"{GOOD[:-30]}\n{GOOD}", ["n1", "malformed", "n1", "n2"]),
        (f"not json\n{GOOD}", ["malformed", "n1", "n2"]),
        (GOOD[:-30], ["n1", "malformed"]),
        (GOOD.replace('"n1"', '"\udcff"'), ["malformed", "n2"]),
        (GOOD.replace('"n1"', '"\\ud800"'), ["malformed", "n2"]),
        (GOOD.replace('"n1"', '"a\\u0000b"'), ["malformed", "n2"]),
        (GOOD.replace('"n1"', "[" * DEEP + "]" * DEEP), ["too deeply nested", "n2"]),
        ("{}", ["malformed"]),
        (GOOD.replace("scopeSpans", "scopeSpins"), ["malformed"]),
        (GOOD.replace('"spans"', '"spins"'), ["malformed"]),
        (json.dumps({"resourceSpans": [7, {"resource": {}}]}), ["malformed"]),
        (json.dumps({"resourceSpans": {}}), ["malformed"]),
        ("", []),
    ],
)
def test_a_broken_span_costs_itself_alone(
    text: str, expected: list[str], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A reason to replace the constant: a file of many megabytes would show the same, slowly.
    monkeypatch.setattr(json_stream, "CHUNK", chunk if len(text) < DEEP else 1 << 20)
    assert otlp(text) == expected


def test_a_span_that_is_too_large_is_skipped_and_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LONGEST_VALUE", 2_000)
    text = json.dumps(request(span(1), span(2, name="x" * 5_000), span(3)))
    assert otlp(text) == ["n1", "too large", "n3"]


def test_one_object_larger_than_memory_is_walked_span_by_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LONGEST_VALUE", 2_000)
    monkeypatch.setattr(json_stream, "CHUNK", 512)
    text = json.dumps(request(*(span(number) for number in range(1, 101))), indent=1)
    assert otlp(text) == [f"n{number}" for number in range(1, 101)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "xyz"}, "malformed"),
        ({"traceId": "0" * 32}, "malformed"),
        ({"spanId": None}, "malformed"),
        ({"startTimeUnixNano": "soon"}, "malformed"),
        ({"startTimeUnixNano": "9" * 400}, "malformed"),
        ({"endTimeUnixNano": "1"}, "malformed"),
        ({"attributes": {"a": 1}}, "malformed"),
        ({"attributes": [{"key": "n", "value": {"intValue": "many"}}]}, "malformed"),
        ({"attributes": [{"value": {}}]}, "malformed"),
        ({"name": "x" * 600}, "x" * 500),
    ],
)
def test_fields_that_are_not_what_otlp_says(fields: dict[str, Any], reason: str) -> None:
    assert otlp(json.dumps(request(span(1, **fields)))) == [reason]


def test_attributes_nested_too_deeply_are_refused() -> None:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(100):
        value = {"arrayValue": {"values": [value]}}
    assert otlp(json.dumps(request(span(1, attributes=[{"key": "deep", "value": value}])))) == ["too deeply nested"]


def test_too_many_documents_are_too_large() -> None:
    attributes = [{"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}}]
    attributes += [
        {"key": f"retrieval.documents.{place}.document.id", "value": {"stringValue": f"d{place}"}}
        for place in range(1_001)
    ]
    assert otlp(json.dumps(request(span(1, attributes=attributes)))) == ["too large"]


def test_a_score_that_is_no_number_is_refused() -> None:
    attributes = [
        {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
        {"key": "retrieval.documents.0.document.id", "value": {"stringValue": "d"}},
        {"key": "retrieval.documents.0.document.score", "value": {"doubleValue": 7}},
    ]
    text = json.dumps(request(span(1, attributes=attributes))).replace(": 7}", ": 1e999}")
    assert otlp(text) == ["malformed"]


def test_protobuf_that_breaks_off_says_that_nothing_behind_can_be_read() -> None:
    recorder = Recorder()
    record_pool(recorder)
    message = to_protobuf(recorder.spans)
    read = list(read_otlp_protobuf(io.BytesIO(message[:-10]).read))
    assert [isinstance(found, TraceSpan) for found in read] == [True] * 4 + [False]
    (broken,) = [found for found in read if isinstance(found, RefusedSpan)]
    assert broken.reason is RejectReason.MALFORMED
    assert broken.sentence.endswith("nothing behind it can be read")


def test_a_protobuf_span_that_is_too_large_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.span("small", {})
    recorder.span("large", {"text": "x" * 5_000})
    monkeypatch.setattr(otlp_protobuf, "LONGEST_SPAN", 1_000)
    assert outcomes(read_otlp_protobuf, to_protobuf(recorder.spans)) == ["small", "too large"]


@pytest.mark.parametrize("reader", [read_langfuse, read_langsmith, read_phoenix])
@pytest.mark.parametrize("text", ["1", '"x"', "[[1]]", '{"id": 1}', '{"id": "a", "run_type": "llm"}', "{", "\x00"])
def test_exports_that_are_none_are_malformed(reader: Reader, text: str) -> None:
    assert set(outcomes(reader, text.encode())) <= {"malformed"}


def test_an_export_nested_too_deeply_is_refused() -> None:
    value: Any = "x"
    for _ in range(200):
        value = [value]
    assert outcomes(read_langsmith, json.dumps({**LANGSMITH_RUNS[0], "inputs": value}).encode()) == [
        "too deeply nested"
    ]


@settings(max_examples=60)
@given(
    data=st.binary(max_size=300), form=st.sampled_from([form for form in TraceFormat if form is not TraceFormat.AUTO])
)
def test_any_bytes_are_read_to_their_end(data: bytes, form: TraceFormat) -> None:
    for found in READERS[form](io.BytesIO(data).read):
        assert isinstance(found, (TraceSpan, RefusedSpan))


@settings(max_examples=60)
@given(place=st.integers(0, len(GOOD)), damage=st.text(max_size=3))
def test_a_damaged_file_never_loses_a_span_in_silence(place: int, damage: str) -> None:
    found = otlp(GOOD[:place] + damage + GOOD[place + len(damage) :])
    assert len(found) >= 2 or {reason.value for reason in RejectReason} & set(found)


def test_the_form_of_a_file_is_found_by_its_beginning(tmp_path: Path) -> None:
    recorder = Recorder()
    record_pool(recorder)
    auto = TraceFormat.AUTO
    assert find_format(GOOD.encode(), tmp_path, auto) is TraceFormat.OTLP
    assert find_format(json.dumps(to_otlp_json(recorder.spans)).encode(), tmp_path, auto) is TraceFormat.OTLP
    assert find_format(to_protobuf(recorder.spans), tmp_path, auto) is TraceFormat.OTLP_PROTOBUF
    assert find_format(json.dumps(LANGSMITH_RUNS[0]).encode(), tmp_path, auto) is TraceFormat.LANGSMITH
    assert find_format(b'{"runs": [' + json.dumps(LANGSMITH_RUNS[0]).encode(), tmp_path, auto) is TraceFormat.LANGSMITH
    for unknown in (b'{"a": 1}', b"hello", b"", b"[]"):
        with pytest.raises(InputError):
            find_format(unknown, tmp_path, auto)
