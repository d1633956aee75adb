"""What Assay itself sends as spans comes back as a search with its documents, and whether they are still valid."""

from __future__ import annotations

import json

from tests.memory.engines import engine_at
from tests.storage.homes import Home
from tests.traces.made import to_otlp_json
from tests.tracing.test_spans import TEA, collected

from assay.records import Scope, SearchRequest
from assay.records.traces import SpanRole, TraceFormat
from assay.testing import FixedClock
from assay.traces.importing import import_request
from assay.traces.summing import load_trace


def test_a_search_of_assay_reads_back_with_its_memories(home: Home, clock: FixedClock, scope: Scope) -> None:
    with engine_at(home) as engine:
        watched = collected(engine, clock, texts=True)
        saved = engine.saver.save(scope, TEA)
        engine.searcher.search(scope, SearchRequest(query="where is the tea", session_id="s1"))
        body = json.dumps(to_otlp_json(watched.exporter.get_finished_spans())).encode()
        done = import_request(engine.store, scope, body, TraceFormat.OTLP)
        assert done.stored == done.spans > 2
        with engine.store.reading(scope) as work:
            traces = [load_trace(work, start.trace_id) for start in work.traces.newest(limit=5)]
    by_role = {trace.lines[0].span.role: trace for trace in traces}
    assert by_role.keys() == {SpanRole.MEMORY_WRITE, SpanRole.MEMORY_SEARCH}
    searched = by_role[SpanRole.MEMORY_SEARCH]
    assert (searched.question, searched.summary.session_id) == ("where is the tea", "s1")
    assert [(one.document_id, one.stale) for one in searched.candidates()] == [(saved.memory_id, False)]
