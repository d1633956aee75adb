"""Where spans go: to standard error, or to a collector over OTLP; batched, and flushed when the process ends."""

from __future__ import annotations

import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from assay.extras import refuse_extra

SERVICE = "assay"


def provider_of(exporter: SpanExporter) -> TracerProvider:
    """A provider whose spans go to an exporter, in batches off the caller's path."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def console() -> SpanExporter:
    """Spans as JSON on standard error, where they disturb no result."""
    return ConsoleSpanExporter(out=sys.stderr)


def otlp(endpoint: str) -> SpanExporter:
    """Spans to a collector, such as http://127.0.0.1:4318/v1/traces."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
    except ImportError as missing:
        raise refuse_extra("otel", "opentelemetry-exporter-otlp-proto-http") from missing
    return OTLPSpanExporter(endpoint=endpoint)
