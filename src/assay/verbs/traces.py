"""Verbs on traces of other systems: import, list, show, sum up, make cases of them, and let their scores leave."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from assay.access import acts
from assay.errors import BadValue, NothingMeasured, RecordNotFound, StoreBusy
from assay.records.traces import (
    ShownTrace,
    TraceCases,
    TraceFault,
    TraceFormat,
    TraceImport,
    TracePage,
    TraceReport,
    WrittenScores,
)
from assay.verbs.fields import NAME, Moment, YesNo
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.records.datasets import Dataset
    from assay.storage import Work
    from assay.storage.repositories.traces import TraceStart
    from assay.traces.analysis import AnalysedTrace, AnalysisOptions

LIST = "traces"
MOST_TRACES = 100_000
MOST_FILES = 10_000
MOST_NAMED = 1_000
SLOW_MS = 10_000.0
"""The same as `assay.traces.analysis.SLOW_MS`, which loads the checks."""
_KEEPING = threading.Lock()
"""One request at a time adds to a dataset: it is read, grows and is written."""

TraceId = Annotated[
    str, Field(min_length=1, max_length=128, pattern=NAME, description="The trace, as the list of traces has it.")
]
TraceIds = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=128, pattern=NAME)], ...],
    Field(max_length=MOST_NAMED, description="Only these traces."),
]
Since = Annotated[Moment | None, Field(description="Only traces that began at this time (ISO 8601) or later.")]
Until = Annotated[Moment | None, Field(description="Only traces that began before this time.")]
# Not strict: in an address everything is text.
Most = Annotated[int, Field(ge=1, le=MOST_TRACES, description=f"The newest N traces, 1 to {MOST_TRACES:,}.")]
Slow = Annotated[
    float, Field(gt=0, le=1e9, description="Milliseconds from which on a trace counts as slow.", examples=[10_000.0])
]


class ImportTracesRequest(Request):
    """Which files, and how they are written."""

    paths: Annotated[tuple[Path, ...], Field(min_length=1, max_length=MOST_FILES, description="Files, plain or gzip.")]
    format: Annotated[TraceFormat, Field(description="How they are written; auto finds out.")] = TraceFormat.AUTO


class ListTracesRequest(Request):
    """Which page of traces."""

    session_id: Annotated[
        str | None, Field(min_length=1, max_length=500, description="Only traces of this session or conversation.")
    ] = None
    since: Since = None
    until: Until = None
    cursor: PageCursor = None
    limit: PageLimit = 20


class ShowTraceRequest(Request):
    """Which trace."""

    trace_id: TraceId
    slow_ms: Slow = SLOW_MS


class TraceReportRequest(Request):
    """Which traces to sum up."""

    since: Since = None
    until: Until = None
    most: Most = 1_000
    slow_ms: Slow = SLOW_MS


class TraceCasesRequest(Request):
    """Which traces become cases of which dataset."""

    dataset: Annotated[
        str,
        Field(
            min_length=1,
            max_length=100,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
            description="The dataset that grows; made if there is none of that name.",
        ),
    ]
    trace_ids: TraceIds = ()
    failing: Annotated[
        tuple[TraceFault, ...],
        Field(max_length=len(TraceFault), description=f"Only traces with one of these: {', '.join(TraceFault)}."),
    ] = ()
    since: Since = None
    until: Until = None
    most: Annotated[
        int, Field(ge=1, le=MOST_TRACES, description="Look at the newest N traces, where none is named.")
    ] = 1_000
    slow_ms: Slow = SLOW_MS


class TraceScoresRequest(Request):
    """Which scores leave, and where to."""

    path: Annotated[Path | None, Field(description="The OTLP JSON file to write, one request a line.")] = None
    send: Annotated[YesNo, Field(description="Send them to where Assay's own spans go (otel.exporter).")] = False
    trace_ids: TraceIds = ()
    since: Since = None
    until: Until = None
    most: Most = 1_000


def import_traces(caller: Caller, request: ImportTracesRequest) -> TraceImport:
    """Import files of traces; the same file again changes nothing."""
    from assay.traces.importing import import_files  # noqa: PLC0415 - needs the store, which a client does without

    return import_files(
        caller.engine.store,
        caller.scope,
        request.paths,
        form=request.format,
        on_progress=lambda done: caller.progress(done, None, f"{done:,} spans"),
    )


def list_traces(caller: Caller, request: ListTracesRequest) -> TracePage:
    """Read one page of traces, newest first."""
    from assay.storage.repositories.traces import TraceStart  # noqa: PLC0415 - needs the store
    from assay.traces.analysis import AnalysedTrace  # noqa: PLC0415 - the same

    place = read_cursor(LIST, request.cursor, _check_place, None)
    after = None if place is None else TraceStart(*place)
    chosen: dict[str, Any] = {"since": request.since, "until": request.until, "session_id": request.session_id}
    with caller.engine.store.reading(caller.scope) as work:
        rows = work.traces.newest(limit=request.limit + 1, after=after, **chosen)
        shown, following = cut_page(LIST, rows, request.limit, _place_of)
        spans = work.traces.spans_of([start.trace_id for start in shown])
        traces = [AnalysedTrace(spans[start.trace_id]) for start in shown if start.trace_id in spans]
        superseded = work.traces.superseded([document for trace in traces for document in trace.documents])
        options = _options(caller)
        summaries = tuple(AnalysedTrace(trace.spans, superseded, options).summary for trace in traces)
        total = work.traces.count(**chosen)
    return TracePage(traces=summaries, total=total, next_cursor=following)


def _place_of(start: TraceStart) -> tuple[str, str]:
    return start.started_at.isoformat(), start.trace_id


def _check_place(place: Any) -> tuple[str, datetime] | None:
    if not isinstance(place, list) or len(place) != 2 or not all(isinstance(part, str) for part in place):
        raise ValueError(place)
    started_at = datetime.fromisoformat(place[0])
    if started_at.tzinfo is None:
        raise ValueError(place)
    return place[1], started_at


def show_trace(caller: Caller, request: ShowTraceRequest) -> ShownTrace:
    """Read one trace with its spans, the way of each document, and its checks."""
    from assay.traces.summing import load_trace  # noqa: PLC0415 - needs the store

    with caller.engine.store.reading(caller.scope) as work:
        return load_trace(work, request.trace_id, _options(caller, request.slow_ms)).show()


def report_traces(caller: Caller, request: TraceReportRequest) -> TraceReport:
    """Sum up the newest traces of a period."""
    from assay.traces.summing import sum_up  # noqa: PLC0415 - needs the store

    with caller.engine.store.reading(caller.scope) as work:
        return sum_up(
            work,
            most=request.most,
            since=request.since,
            until=request.until,
            options=_options(caller, request.slow_ms),
        )


def _options(caller: Caller, slow_ms: float = SLOW_MS) -> AnalysisOptions:
    from assay.traces.analysis import AnalysisOptions, TokenPrices  # noqa: PLC0415 - needs the store

    settings = caller.settings
    sent, replied = settings.model_price_in, settings.model_price_out
    if sent is None or replied is None or not settings.model_name:
        return AnalysisOptions(slow_ms=slow_ms)
    return AnalysisOptions(
        slow_ms=slow_ms, prices=TokenPrices(model=settings.model_name, sent=float(sent), replied=float(replied))
    )


def _chosen(
    caller: Caller, work: Work, request: TraceCasesRequest | TraceScoresRequest, slow_ms: float = SLOW_MS
) -> Iterator[AnalysedTrace]:
    """The traces that a request names, else the newest of its period."""
    from assay.traces.summing import load_trace, load_traces  # noqa: PLC0415 - needs the store

    options = _options(caller, slow_ms)
    if request.trace_ids:
        yield from (load_trace(work, trace_id, options) for trace_id in dict.fromkeys(request.trace_ids))
    else:
        period = {"since": request.since, "until": request.until}
        yield from load_traces(work, most=request.most, options=options, **period)


def make_cases(caller: Caller, request: TraceCasesRequest) -> TraceCases:
    """Add traces to a dataset as cases that wait for labels; a trace that is a case already adds nothing."""
    from assay.evaluation.datasets.bundled import list_bundled  # noqa: PLC0415 - numpy only when asked for
    from assay.traces.cases import add_cases, has_fault  # noqa: PLC0415 - the same

    if request.dataset in list_bundled():
        raise BadValue(f"{request.dataset} comes with Assay and does not change", remedy="Name a dataset of your own.")
    lease_name = f"dataset:{caller.scope.tenant}:{request.dataset}"
    with _KEEPING, caller.engine.store.leases.holding(lease_name) as lease:
        if lease is None:
            raise StoreBusy(
                f"another process adds cases to the dataset {request.dataset}", remedy="Try again in a few seconds."
            )
        dataset, is_new = _load_dataset(caller, request.dataset)
        with caller.engine.store.reading(caller.scope) as work:
            chosen = _chosen(caller, work, request, request.slow_ms)
            made = add_cases(dataset, (trace for trace in chosen if has_fault(trace, request.failing)))
        if not made.added and not made.known and is_new:
            reasons = "; ".join(f"{count:,}: {reason}" for reason, count in made.left_out.items())
            raise NothingMeasured(
                "no trace can become a case" + (f" ({reasons})" if reasons else " with these faults and this period"),
                remedy="See `assay traces report` for what the traces hold.",
            )
        if made.added:
            caller.shelf.keep_dataset(made.dataset, origin="traces", replacing=True)
    return TraceCases(
        dataset=made.dataset.name,
        version=made.dataset.version,
        added=made.added,
        known=made.known,
        left_out=made.left_out,
        cases=len(made.dataset.cases),
        documents=len(made.dataset.documents),
        to_label=made.to_label,
    )


def _load_dataset(caller: Caller, name: str) -> tuple[Dataset, bool]:
    from assay.traces.cases import new_dataset  # noqa: PLC0415 - numpy only when asked for

    try:
        return replace(caller.shelf.load_dataset(name), name=name), False
    except RecordNotFound:
        return new_dataset(name, caller.engine.clock.now()), True


def write_scores(caller: Caller, request: TraceScoresRequest) -> WrittenScores:
    """Let the scores of traces leave as `gen_ai.evaluation.result` events: into a file, to a collector, or both."""
    from assay.traces.scores import count_events, evaluate  # noqa: PLC0415 - needs the store
    from assay.traces.scores import write_scores as write_file  # noqa: PLC0415 - the same
    from assay.wiring.tracing import send_scores  # noqa: PLC0415 - the same

    if request.path is None and not request.send:
        raise BadValue("it is not said where the scores go", remedy="Name a file, ask to send them, or both.")
    texts = caller.settings.otel_texts == "yes"
    now = caller.engine.clock.now()
    with caller.engine.store.reading(caller.scope) as work:
        evaluated = [evaluate(trace, at=now, texts=texts) for trace in _chosen(caller, work, request)]
    if not evaluated:
        raise NothingMeasured("there are no traces to score", remedy="Import some first: `assay traces import FILE`.")
    if request.path is not None:
        write_file(request.path, evaluated)
    sent_to = send_scores(caller.settings, evaluated) if request.send else None
    return WrittenScores(
        traces=len(evaluated),
        events=count_events(evaluated),
        path=None if request.path is None else str(request.path),
        sent_to=sent_to,
    )


IMPORT = Verb(
    name="trace.import",
    summary="Import traces: OTLP (JSON, protobuf), and exports of Phoenix, Langfuse and LangSmith.",
    act=acts.TRACE_TAKE_IN,
    request=ImportTracesRequest,
    result=TraceImport,
    call=import_traces,
    command="traces import",
    python="Memory.import_traces",
)
LIST_TRACES = Verb(
    name="trace.list",
    summary="List traces of other systems, newest first, page by page.",
    act=acts.TRACE_READ,
    request=ListTracesRequest,
    result=TracePage,
    call=list_traces,
    http=HttpRoute("GET", "/api/traces"),
    command="traces list",
    client="traces",
    python="Memory.traces",
)
SHOW = Verb(
    name="trace.show",
    summary="Show one trace: its spans, the way of each document to the answer, and its checks.",
    act=acts.TRACE_READ,
    request=ShowTraceRequest,
    result=ShownTrace,
    call=show_trace,
    http=HttpRoute("GET", "/api/traces/{trace_id}", (404,)),
    command="traces show",
    client="trace",
    python="Memory.trace",
)
REPORT = Verb(
    name="trace.report",
    summary="Sum up traces: groundedness, abstention, staleness, latency, cost, and what could not be measured.",
    act=acts.TRACE_READ,
    request=TraceReportRequest,
    result=TraceReport,
    call=report_traces,
    http=HttpRoute("GET", "/api/traces/report"),
    command="traces report",
    client="trace_report",
    python="Memory.trace_report",
)
CASES = Verb(
    name="trace.keep",
    summary="Make traces cases of a dataset: the question and what was retrieved, for people to label.",
    act=acts.TRACE_KEEP,
    request=TraceCasesRequest,
    result=TraceCases,
    call=make_cases,
    http=HttpRoute("POST", "/api/traces/cases", (404,)),
    command="dataset from-traces",
    client="traces_to_cases",
    python="Memory.traces_to_cases",
)
SCORES = Verb(
    name="trace.scores",
    summary="Let scores of traces leave as gen_ai.evaluation.result events, into an OTLP file or to a collector.",
    act=acts.FILE_WRITE,
    request=TraceScoresRequest,
    result=WrittenScores,
    call=write_scores,
    command="traces scores",
    python="Memory.write_trace_scores",
)

FAMILY = Family(name="traces", verbs=(IMPORT, LIST_TRACES, SHOW, REPORT, CASES, SCORES))
