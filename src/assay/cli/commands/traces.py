"""`assay traces`: traces of other systems in, what they come to, and their scores out.

- `assay traces import`: files of OTLP, Phoenix, Langfuse and LangSmith.
- `assay traces list|show|report`: one trace as a waterfall, and many of them summed up.
- `assay traces scores`: scores as OpenTelemetry events.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.surface import Surface, command
from assay.formats.grid import grid
from assay.records.traces import (
    ShownTrace,
    SpanLine,
    SpanRole,
    TraceCandidate,
    TraceCheck,
    TraceImport,
    TraceMeasure,
    TracePage,
    TraceReport,
    TraceSummary,
    WrittenScores,
)
from assay.verbs import traces as trace_verbs

BAR = 30
"""Characters of a bar of the waterfall."""
SHOWN = 60
YES_NO = {True: "yes", False: "no", None: "not known"}

FilesArgument = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of traces, plain or gzip.")]
FormatOption = Annotated[
    str,
    typer.Option("--format", metavar="KIND", help="auto, otlp, otlp-protobuf, phoenix, langfuse or langsmith."),
]
TraceArgument = Annotated[str, typer.Argument(metavar="ID", help="The trace, as the list has it.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only traces that began at this time (UTC) or later.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only traces that began before this time.")
]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Only traces of this session or conversation.")
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", help="Traces on a page, 1 to 200.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="TEXT", help="Continue behind a page: what it ends with.")
]
MostOption = Annotated[int, typer.Option("--most", metavar="N", help="Look at the newest N traces.")]
SlowOption = Annotated[float, typer.Option("--slow-ms", metavar="MS", help="From this time on a trace counts as slow.")]
TracesOption = Annotated[
    list[str] | None, typer.Option("--trace", metavar="ID", help="Only this trace; may be given several times.")
]
ToArgument = Annotated[Path | None, typer.Argument(metavar="FILE", help="The OTLP JSON file to write.")]
SendOption = Annotated[bool, typer.Option("--send", help="Send them to where Assay's own spans go (otel.exporter).")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Bring in traces of other systems, check them, let scores leave.", no_args_is_help=True)
    app.add_typer(group, name="traces")
    _register_import(group)
    _register_looks(group)

    @command(group, "scores")
    def scores(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        to: ToArgument = None,
        send: SendOption = False,
        trace: TracesOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        most: MostOption = 1_000,
    ) -> None:
        """Let scores of traces leave as gen_ai.evaluation.result events: into a file, to a collector, or both."""
        done = surface.call(
            trace_verbs.SCORES, path=to, send=send, trace_ids=trace or (), since=since, until=until, most=most
        )
        surface.show(trace_verbs.SCORES, done, _describe_scores(done))


def _register_import(group: typer.Typer) -> None:
    @command(group, "import")
    def import_(surface: Surface, files: FilesArgument, kind: FormatOption = "auto") -> None:
        """Import traces from files; the same file again changes nothing, and a bad span is counted with its reason."""
        live = sys.stderr.isatty() and not surface.common.json and not surface.common.quiet

        def tell(done: float, of: float | None, what: str) -> None:  # noqa: ARG001 - what progress is told
            if live:
                sys.stderr.write(f"\r{what} read")
                sys.stderr.flush()

        done = surface.call(trace_verbs.IMPORT, create=True, paths=files, format=kind, progress=tell)
        if live:
            sys.stderr.write("\n")
        surface.show(trace_verbs.IMPORT, done, "\n".join(import_lines(done)))


def _register_looks(group: typer.Typer) -> None:
    @command(group, "list")
    def list_(  # noqa: PLR0917 - one parameter an option, all given by name
        surface: Surface,
        session: SessionOption = None,
        since: SinceOption = None,
        until: UntilOption = None,
        limit: LimitOption = 20,
        cursor: CursorOption = None,
    ) -> None:
        """List traces, newest first: question, time, documents, and what may be wrong."""
        page = surface.call(
            trace_verbs.LIST_TRACES, session_id=session, since=since, until=until, limit=limit, cursor=cursor
        )
        surface.show(trace_verbs.LIST_TRACES, page, "\n".join(page_lines(page)))

    @command(group, "show")
    def show(surface: Surface, trace_id: TraceArgument, slow_ms: SlowOption = trace_verbs.SLOW_MS) -> None:
        """Show one trace as a waterfall: its spans, the way of each document to the answer, and its checks."""
        found = surface.call(trace_verbs.SHOW, trace_id=trace_id, slow_ms=slow_ms)
        surface.show(trace_verbs.SHOW, found, "\n".join(trace_lines(found)))

    @command(group, "report")
    def report(
        surface: Surface,
        since: SinceOption = None,
        until: UntilOption = None,
        most: MostOption = 1_000,
        slow_ms: SlowOption = trace_verbs.SLOW_MS,
    ) -> None:
        """Sum up traces: groundedness, abstention, staleness, latency, cost, and what could not be measured."""
        found = surface.call(trace_verbs.REPORT, since=since, until=until, most=most, slow_ms=slow_ms)
        surface.show(trace_verbs.REPORT, found, "\n".join(report_lines(found)))


# --- What is printed ---


def import_lines(done: TraceImport) -> Iterator[str]:
    """What an import did."""
    yield f"{done.spans:,} spans read, {done.stored:,} stored; {done.traces:,} new traces."
    for reason, count in done.rejected.items():
        yield f"  not stored, {reason.value}: {count:,}"
    for note, count in done.noted.items():
        yield f"  stored, {note.value}: {count:,}"
    yield from (f"  {example}" for example in done.examples)


def page_lines(page: TracePage) -> Iterator[str]:
    """One page of traces."""
    if not page.traces:
        yield "No traces yet. Bring some in: assay traces import FILE"
        return
    rows = [_summary_row(trace) for trace in page.traces]
    yield from grid([("trace", "began", "took", "documents", "faults", "question"), *rows])
    yield f"{len(page.traces):,} of {page.total:,} traces"
    if page.next_cursor is not None:
        yield f"More: add --cursor {page.next_cursor}"


def _summary_row(trace: TraceSummary) -> tuple[str, ...]:
    return (
        trace.trace_id,
        f"{trace.started_at:%Y-%m-%d %H:%M}",
        _milliseconds(trace.duration_ms),
        f"{trace.documents:,}",
        ", ".join(fault.value for fault in trace.faults) or "-",
        _clip(trace.question) or "(not recorded)",
    )


def trace_lines(found: ShownTrace) -> Iterator[str]:
    """One trace as a waterfall."""
    summary = found.summary
    session = f", session {summary.session_id}" if summary.session_id else ""
    took = _milliseconds(summary.duration_ms)
    yield f"{summary.trace_id}, {summary.started_at:%Y-%m-%d %H:%M:%S} UTC, {took}{session}"
    yield f"question  {_clip(summary.question, 200) or '(not recorded)'}"
    yield f"answer    {_clip(summary.answer, 200) or '(not recorded)'}"
    if summary.incomplete:
        yield f"Only its first {summary.spans:,} spans were read."
    yield ""
    yield from grid([("span", "role", "took", "", ""), *_span_rows(found)])
    if found.candidates:
        yield from (
            "",
            *grid([("document", "found by", "reranked", "given", "used", "stale"), *map(_candidate, found.candidates)]),
        )
    yield from ("", *grid([("check", "value", "", ""), *map(_check_row, summary.checks)]))
    if summary.faults:
        yield f"May be wrong: {', '.join(fault.value for fault in summary.faults)}"


def _span_rows(found: ShownTrace) -> Iterator[tuple[str, ...]]:
    ends = [line.offset_ms + (line.span.duration_ms or 0.0) for line in found.spans]
    whole = max(*ends, 1e-9) if len(ends) > 1 else max(ends[0], 1e-9)
    for line in found.spans:
        span = line.span
        yield (
            "  " * min(line.depth, 12) + (span.name or "(no name)")[:40] + (" (parent missing)" if line.orphan else ""),
            span.role.value,
            _milliseconds(span.duration_ms),
            draw_bar(line, whole),
            _span_detail(line),
        )


def draw_bar(line: SpanLine, whole: float) -> str:
    """When a span ran, as a bar of a fixed width; a point where its end is not known."""
    begin = min(int(line.offset_ms / whole * BAR), BAR - 1)
    if line.span.duration_ms is None:
        return (" " * begin + "·").ljust(BAR)
    length = max(1, min(round(line.span.duration_ms / whole * BAR), BAR - begin))
    return (" " * begin + "█" * length).ljust(BAR)


def _span_detail(line: SpanLine) -> str:
    span = line.span
    told = [f"{len(span.documents):,} documents"] if span.documents or span.role is SpanRole.RETRIEVER else []
    told += [span.model] if span.model else []
    tokens = (span.input_tokens, span.output_tokens)
    told += [f"{tokens[0]:,}+{tokens[1]:,} tokens"] if tokens[0] is not None and tokens[1] is not None else []
    told += [f"failed: {_clip(span.problem)}"] if span.problem else []
    return ", ".join(told)


def _candidate(candidate: TraceCandidate) -> tuple[str, ...]:
    found = ", ".join(f"{name} #{rank}" for name, rank in candidate.found_by.items())
    return (
        _clip(candidate.document_id),
        _clip(found) or "-",
        "-" if candidate.reranked is None else f"#{candidate.reranked}",
        "dropped" if candidate.given_rank is None else f"#{candidate.given_rank}",
        YES_NO[candidate.used],
        YES_NO[candidate.stale],
    )


def _check_row(check: TraceCheck) -> tuple[str, ...]:
    return check.name, _number(check.value), check.label, _clip(check.reason, 120)


def report_lines(found: TraceReport) -> Iterator[str]:
    """What traces come to."""
    if not found.looked_at:
        yield "No traces in this period. Bring some in: assay traces import FILE"
        return
    yield f"{found.looked_at:,} of {found.traces:,} traces, {found.spans:,} spans; groundedness by {found.judge}"
    yield ""
    rows = [_measure_row(measure) for measure in found.measures]
    yield from grid([("measure", "mean", "p50", "p95", "measured", "unit"), *rows])
    yield ""
    yield from grid([("fault", "traces"), *((fault.value, f"{count:,}") for fault, count in found.faults.items())])
    missing = [
        (measure.name, reason, count) for measure in found.measures for reason, count in measure.not_measured.items()
    ]
    if missing:
        yield "\nNot measured"
        yield from grid([(name, f"{count:,}", reason) for name, reason, count in missing], indent="  ")


def _measure_row(measure: TraceMeasure) -> tuple[str, ...]:
    numbers = (_number(measure.mean), _number(measure.p50), _number(measure.p95))
    return measure.name, *numbers, f"{measure.measured:,}", measure.unit


def _describe_scores(done: WrittenScores) -> str:
    places = " and ".join(place for place in (done.path, done.sent_to) if place)
    return f"{done.events:,} scores of {done.traces:,} traces: {places}"


def _milliseconds(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.0f} ms"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}"


def _clip(text: str, longest: int = SHOWN) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else plain[: longest - 3] + "..."
