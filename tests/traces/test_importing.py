"""Files and requests into the store: once, in bounded memory, with every span accounted for."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.storage.homes import raw
from tests.traces.made import (
    BEGAN,
    LANGFUSE_TRACE,
    LANGSMITH_RUNS,
    PHOENIX_SPAN,
    POOL,
    Recorder,
    found,
    record_pool,
    to_otlp_json,
    to_protobuf,
    trace_span,
    write_json,
)

from assay.errors import InputError
from assay.records import Scope
from assay.records.traces import RejectReason, SpanNote, SpanRole, TraceFormat, TraceImport
from assay.storage import Store
from assay.traces.importing import import_files, import_request, to_json_reply, to_protobuf_reply, unpack_body

TOKEN = "ghp_" + "aB3" * 12


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    recorder = Recorder()
    record_pool(recorder)
    return write_json(tmp_path / "spans.json", to_otlp_json(recorder.spans))


def test_the_same_file_twice_changes_nothing(store: Store, scope: Scope, pool: Path) -> None:
    assert import_files(store, scope, [pool]) == TraceImport(files=1, spans=5, stored=5, traces=1)
    with store.reading(scope) as work:
        before = work.traces.newest(limit=10), work.traces.last_number()
    again = import_files(store, scope, [pool])
    assert again == TraceImport(files=1, spans=5, stored=0, traces=0, rejected={RejectReason.DUPLICATE: 5})
    with store.reading(scope) as work:
        assert (work.traces.newest(limit=10), work.traces.last_number()) == before


def test_a_stored_span_reads_back_as_it_was(store: Store, scope: Scope) -> None:
    span = trace_span(
        parent_id="p1",
        role=SpanRole.RERANKER,
        ended_at=BEGAN + timedelta(milliseconds=1.5),
        problem="late",
        session_id="s",
        model="m",
        input_tokens=3,
        output_tokens=0,
        cost_usd=0.25,
        input="in",
        output="out",
        documents=(found("d1", POOL, score=0.5, stale_after=BEGAN), found("d2")),
        candidates=(found("d2"),),
    )
    with store.writing(scope) as work:
        assert work.traces.add_many([span, span]) == (1, 1)
    with store.reading(scope) as work:
        assert work.traces.spans_of(["t1", "t2"]) == {"t1": [span]}


def test_of_a_trace_with_very_many_spans_the_first_are_read(store: Store, scope: Scope) -> None:
    with store.writing(scope) as work:
        work.traces.add_many([trace_span(span_id=f"s{number}") for number in range(5)] + [trace_span("t2")])
    with store.reading(scope) as work:
        read = work.traces.spans_of(["t1", "t2"], most=3)
    assert {name: [span.span_id for span in spans] for name, spans in read.items()} == {
        "t1": ["s0", "s1", "s2"],
        "t2": ["s1"],
    }


def test_tenants_have_the_same_span_each_for_itself(store: Store, scope: Scope, pool: Path) -> None:
    other = replace(scope, tenant="other")
    import_files(store, scope, [pool])
    assert import_files(store, other, [pool]).stored == 5
    third = replace(scope, tenant="third")
    with store.reading(third) as work:
        assert work.traces.count() == 0
        assert work.traces.newest(limit=10) == []


def test_spans_out_of_order_and_without_their_parent_are_stored_and_counted(
    store: Store, scope: Scope, tmp_path: Path
) -> None:
    recorder = Recorder()
    record_pool(recorder)
    request = to_otlp_json(recorder.spans)
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    root = spans.pop(0)
    children = write_json(tmp_path / "children.json", request)
    done = import_files(store, scope, [children])
    assert (done.stored, done.noted) == (4, {SpanNote.PARENT_MISSING: 4})
    spans[:] = [root]
    late = import_files(store, scope, [write_json(tmp_path / "root.json", request)])
    assert (late.stored, late.traces, late.noted) == (1, 0, {})
    with store.reading(scope) as work:
        (start,) = work.traces.newest(limit=2)
        assert start.started_at == BEGAN


def test_every_span_that_is_read_is_stored_or_counted(store: Store, scope: Scope, tmp_path: Path) -> None:
    recorder = Recorder()
    record_pool(recorder)
    recorder.span("GET /", {"http.request.method": "GET"})
    request = to_otlp_json(recorder.spans)
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans += [{"traceId": "?"}, dict(spans[0]), 7]
    done = import_files(store, scope, [write_json(tmp_path / "mixed.json", request)])
    assert done.rejected == {RejectReason.MALFORMED: 2, RejectReason.DUPLICATE: 1}
    assert done.noted == {SpanNote.UNKNOWN_KIND: 1}
    assert done.spans == done.stored + sum(done.rejected.values()) == 9
    assert done.examples[0].startswith("mixed.json, span 7: malformed: traceId '?'")


def test_secrets_in_spans_are_masked_before_they_are_stored(store: Store, scope: Scope) -> None:
    said = f"deploy with {TOKEN} please"
    span = trace_span(
        name=said, problem=said, input=said, output=said, documents=(found("d", said),), candidates=(found("d", said),)
    )
    with store.writing(scope) as work:
        work.traces.add_many([span])
    with raw(store) as connection:
        kept = str(connection.execute(text("SELECT * FROM trace_spans")).all())
    assert TOKEN not in kept
    assert kept.count("[masked: GitHub token]") == 6


def test_every_form_is_found_and_imported(store: Store, scope: Scope, tmp_path: Path) -> None:
    recorder = Recorder()
    record_pool(recorder)
    binary = tmp_path / "spans.bin"
    binary.write_bytes(to_protobuf(recorder.spans))
    packed = tmp_path / "spans.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(to_otlp_json(recorder.spans)).encode()))
    files = [
        binary,
        packed,
        write_json(tmp_path / "langfuse.jsonl", LANGFUSE_TRACE),
        write_json(tmp_path / "phoenix.jsonl", PHOENIX_SPAN),
        write_json(tmp_path / "langsmith.jsonl", *LANGSMITH_RUNS),
    ]
    done = import_files(store, scope, files)
    assert (done.files, done.spans, done.stored, done.traces) == (5, 17, 12, 4)
    assert done.rejected == {RejectReason.DUPLICATE: 5}


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(store: Store, scope: Scope, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b'{"resourceSpans": [' + b" " * 20_000_000))
    with pytest.raises(InputError, match="unpacks to over 200 times"):
        import_files(store, scope, [bomb])


def test_a_packed_file_that_breaks_off_keeps_what_came_before(store: Store, scope: Scope, tmp_path: Path) -> None:
    recorder = Recorder()
    for number in range(200):
        recorder.span(f"n{number}", {"openinference.span.kind": "LLM", "output.value": f"{number:x}" * 2_000})
    whole = gzip.compress("".join(json.dumps(to_otlp_json([span])) + "\n" for span in recorder.spans).encode())
    broken = tmp_path / "broken.gz"
    broken.write_bytes(whole[:-200])
    done = import_files(store, scope, [broken])
    assert done.rejected == {RejectReason.MALFORMED: 1}
    assert done.stored == done.spans - 1 > 0


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_files_that_cannot_be_read_are_named(store: Store, scope: Scope, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name.replace(".", "folder")):
        import_files(store, scope, [tmp_path / name])


def test_replies_count_what_was_not_taken_and_not_what_was_there_already(store: Store, scope: Scope) -> None:
    recorder = Recorder()
    record_pool(recorder)
    body = json.dumps(to_otlp_json(recorder.spans)).encode()
    assert to_json_reply(import_request(store, scope, body, TraceFormat.OTLP)) == b"{}"
    again = import_request(store, scope, body, TraceFormat.OTLP)
    assert (to_json_reply(again), to_protobuf_reply(again)) == (b"{}", b"")
    broken = import_request(store, scope, body.replace(b'"traceId"', b'"other"', 1), TraceFormat.OTLP)
    partial = json.loads(to_json_reply(broken))["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert partial["errorMessage"].startswith("1 malformed. span 1: malformed: traceId None")


def test_bodies_are_unpacked_within_bounds() -> None:
    assert unpack_body(gzip.compress(b"x" * 100), 100) == b"x" * 100
    assert unpack_body(gzip.compress(b"x" * 101), 100) is None
    for broken in (b"no gzip", gzip.compress(b"x" * 50)[:-5]):
        with pytest.raises(InputError):
            unpack_body(broken, 100)
