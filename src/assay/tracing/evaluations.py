"""Scores of traces of other systems as spans with `gen_ai.evaluation.result` events, for the exporter of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, TraceFlags

from assay.errors import EndpointUnavailable
from assay.tracing.exporting import SERVICE
from assay.tracing.spans import EVALUATION_EVENT

AT_ONCE = 200
"""Traces whose scores go in one request."""


class ScoredTrace(Protocol):
    """The scores of one trace, with ids as OTLP has them."""

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        ...

    @property
    def span_id(self) -> str:
        """16 hexadecimal digits."""
        ...

    @property
    def parent_id(self) -> str | None:
        """The span that was checked."""
        ...

    @property
    def judge(self) -> str:
        """Which check scored."""
        ...

    @property
    def events(self) -> tuple[Mapping[str, str | float], ...]:
        """The attributes of each event."""
        ...


def make_span(trace: ScoredTrace, name: str, at: int) -> ReadableSpan:
    """A finished span that carries the scores of a trace; `at` is in nanoseconds."""
    context = _context(trace.trace_id, trace.span_id)
    return ReadableSpan(
        name=name,
        context=context,
        parent=None if trace.parent_id is None else _context(trace.trace_id, trace.parent_id),
        resource=Resource.create({"service.name": SERVICE}),
        attributes={"assay.judge": trace.judge},
        events=[Event(EVALUATION_EVENT, dict(event), at) for event in trace.events],
        start_time=at,
        end_time=at,
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def send(exporter: SpanExporter, spans: Sequence[ReadableSpan]) -> None:
    """Send spans to where our own spans go; raises `EndpointUnavailable` if they do not arrive."""
    for first in range(0, len(spans), AT_ONCE):
        if exporter.export(spans[first : first + AT_ONCE]) is not SpanExportResult.SUCCESS:
            raise EndpointUnavailable(
                f"the scores of {len(spans) - first:,} of {len(spans):,} traces were not taken",
                remedy="Check otel.endpoint, and send them again: scores that arrived are not doubled.",
            )
