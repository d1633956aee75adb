"""Where spans go: to standard error, or to a collector over OTLP; batched, and flushed when the process ends.

Spans for a collector go to the configured address and nowhere else: no redirect is followed, and no proxy, `.netrc` or
credential helper of the environment takes part.
"""

from __future__ import annotations

import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

from assay.extras import refuse_extra
from assay.network import Gatekeeper

SERVICE = "assay"


def provider_of(exporter: SpanExporter) -> TracerProvider:
    """A provider whose spans go to an exporter, in batches off the caller's path."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def console() -> SpanExporter:
    """Spans as JSON on standard error, where they disturb no result."""
    return ConsoleSpanExporter(out=sys.stderr)


def otlp(endpoint: str, gate: Gatekeeper) -> SpanExporter:
    """Spans to a collector, such as http://127.0.0.1:4318/v1/traces."""
    gate.check(endpoint)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
    except ImportError as missing:
        raise refuse_extra("otel", "opentelemetry-exporter-otlp-proto-http") from missing
    # The exporter is built on requests, so it is there.
    import requests  # noqa: PLC0415 - the same

    session = requests.Session()
    session.trust_env = False
    # The first redirect is one too many. Today's exporter follows none; this holds for the next one too.
    session.max_redirects = 0
    return OTLPSpanExporter(endpoint=endpoint, session=session)
