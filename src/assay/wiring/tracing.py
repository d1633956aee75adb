"""OpenTelemetry around an engine, when the settings ask for it.

What makes an engine's spans is remembered with it: pipelines over the engine are opened one for each question, and
their spans go the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from assay.errors import SettingError
from assay.extras import need_extra
from assay.settings import Settings
from assay.wiring.network import gatekeeper_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from assay.memory.engine import Engine
    from assay.research.pipeline import Observe
    from assay.traces.scores import EvaluatedTrace
    from assay.tracing.spans import Spans

_TRACED: WeakKeyDictionary[Engine, Spans] = WeakKeyDictionary()
"""Engines whose work is traced in spans."""


def spans_of(settings: Settings, engine: Engine) -> Spans | None:
    """What makes spans of an engine's work; None when the settings name no place for them."""
    if settings.otel_exporter == "none":
        return None
    exporter = exporter_of(settings)
    from assay.tracing import exporting  # noqa: PLC0415 - see the package's docstring
    from assay.tracing.spans import Spans  # noqa: PLC0415 - the same

    tracer = exporting.provider_of(exporter).get_tracer("assay")
    return Spans(tracer, clock=engine.clock, texts=settings.otel_texts == "yes")


def exporter_of(settings: Settings) -> SpanExporter:
    """Where the settings want spans to go; raises `SettingError` when they name no place."""
    need_extra("otel", "opentelemetry")
    from assay.tracing import exporting  # noqa: PLC0415 - see the package's docstring

    if settings.otel_exporter == "none":
        raise SettingError(
            "otel.exporter is none, so there is no place to send scores to",
            remedy="Set otel.exporter to otlp and otel.endpoint to a collector, or write a file.",
        )
    if settings.otel_exporter == "console":
        return exporting.console()
    settings.refuse_withheld("otel.endpoint")
    return exporting.otlp(settings.otel_endpoint, gatekeeper_of(settings))


def send_scores(settings: Settings, evaluated: Sequence[EvaluatedTrace]) -> str:
    """Send the scores of traces to where spans go; return what that place is called."""
    exporter = exporter_of(settings)
    from assay.traces.scores import SPAN_NAME, nanoseconds  # noqa: PLC0415 - the same
    from assay.tracing import evaluations  # noqa: PLC0415 - see the package's docstring

    spans = [evaluations.make_span(trace, SPAN_NAME, nanoseconds(trace.at)) for trace in evaluated]
    try:
        evaluations.send(exporter, spans)
    finally:
        exporter.shutdown()
    return settings.otel_endpoint if settings.otel_exporter == "otlp" else settings.otel_exporter


def trace(settings: Settings, engine: Engine) -> Spans | None:
    """Make spans of all work of an engine from now on, when the settings ask for it."""
    spans = spans_of(settings, engine)
    if spans is not None:
        watch(engine, spans)
    return spans


def watch(engine: Engine, spans: Spans) -> None:
    """Make spans of every search and save of an engine, and of every question answered from it."""
    engine.searcher.watch(spans.on_search)
    engine.saver.watch(spans.on_save)
    _TRACED[engine] = spans


def research_observer(engine: Engine) -> Observe | None:
    """Return the tracer for answers from an engine; None when the engine is not traced."""
    spans = _TRACED.get(engine)
    if spans is None:
        return None
    from assay.tracing.spans import ResearchSpans  # noqa: PLC0415 - see the package's docstring

    return ResearchSpans(spans).on_answer
