"""Spans of finished searches, saves and research sessions, by the GenAI and OpenInference conventions.

A search is `search_memory` with a child for each of its stages; what retrieves is a RETRIEVER with ids and scores of
what it found, what reranks a RERANKER. A save is `create_memory`. Something longer is a span with its stages below it,
and every score of an evaluation an event `gen_ai.evaluation.result`; `researching` tells of answered questions so.

Spans are made when the work is done, from the times it measured itself, so that watching costs the work nothing but
the making. Texts are left out unless asked for: ids and scores are enough to follow a search, and what a memory says is
nobody's business on the way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from assay.clock import Clock
from assay.records import Draft, Hit, SaveOutcome, Scope, SearchRequest, SearchResult, Stage

Attribute = str | bool | int | float
RETRIEVER, RERANKER, CHAIN = "RETRIEVER", "RERANKER", "CHAIN"
KIND = "openinference.span.kind"
EVALUATION_EVENT = "gen_ai.evaluation.result"
_NANO = 1_000_000
RETRIEVING = frozenset({"candidate", "filter", "fusion", "fallback"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One score of an evaluation; None when the judge gave none."""

    name: str
    value: float | None
    label: str = ""
    """Such as `pass`, `fail` or `judge_failed`."""
    explanation: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageOfWork:
    """A part of something longer, with when it began and how long it took."""

    name: str
    duration_ms: float
    attributes: Mapping[str, Attribute]
    scores: tuple[Score, ...] = ()
    problem: str = ""


class Spans:
    """Makes spans of finished work."""

    def __init__(self, tracer: Tracer, *, clock: Clock, texts: bool = False) -> None:
        self._tracer = tracer
        self._clock = clock
        self._texts = texts

    @property
    def texts(self) -> bool:
        """Whether spans carry queries and texts."""
        return self._texts

    def searched(self, scope: Scope, request: SearchRequest, result: SearchResult) -> None:
        """An observer of searches."""
        ended = _nanoseconds(self._clock.now())
        began = ended - int(result.telemetry.total_latency_ms * _NANO)
        span = self._begin("search_memory", began, None, self._of_search(scope, request, result))
        self._documents(span, "retrieval.documents", result.hits)
        if result.degraded:
            span.set_status(Status(StatusCode.ERROR, "; ".join(result.degraded)))
        at, parent = began, set_span_in_context(span)
        for stage in result.stages:
            at = self._stage(stage, at, parent, result, request)
        span.end(ended)

    def saved(self, scope: Scope, draft: Draft, outcome: SaveOutcome, duration_ms: float) -> None:
        """An observer of saves."""
        ended = _nanoseconds(self._clock.now())
        told: dict[str, Attribute] = {
            KIND: CHAIN,
            "gen_ai.operation.name": "create_memory",
            "assay.tenant": scope.tenant,
            "assay.decision": str(outcome.decision),
            "assay.chunks": outcome.chunks,
            "assay.masked": len(outcome.masks),
            **({"assay.memory_id": outcome.memory_id} if outcome.memory_id else {}),
            **({"assay.quality": outcome.quality.score} if outcome.quality is not None else {}),
            **({"input.value": draft.title} if self._texts else {}),
        }
        self._begin("create_memory", ended - int(duration_ms * _NANO), None, told).end(ended)

    def worked(self, name: str, attributes: Mapping[str, Attribute], stages: Sequence[StageOfWork]) -> None:
        """Something longer, such as a research session, with its stages one after the other."""
        ended = _nanoseconds(self._clock.now())
        began = at = ended - int(sum(stage.duration_ms for stage in stages) * _NANO)
        span = self._begin(name, began, None, {KIND: CHAIN, **attributes})
        parent = set_span_in_context(span)
        for stage in stages:
            child = self._begin(stage.name, at, parent, stage.attributes)
            at += int(stage.duration_ms * _NANO)
            for score in stage.scores:
                child.add_event(EVALUATION_EVENT, _evaluation(score), timestamp=at)
            if stage.problem:
                child.set_status(Status(StatusCode.ERROR, stage.problem))
            child.end(at)
        span.end(ended)

    def _begin(self, name: str, at: int, parent: Context | None, attributes: Mapping[str, Attribute]) -> Span:
        return self._tracer.start_span(
            name, context=parent, kind=SpanKind.INTERNAL, start_time=at, attributes=dict(attributes)
        )

    def _of_search(self, scope: Scope, request: SearchRequest, result: SearchResult) -> dict[str, Attribute]:
        return {
            KIND: RETRIEVER,
            "gen_ai.operation.name": "search_memory",
            "assay.tenant": scope.tenant,
            "assay.query_id": result.query_id,
            "assay.trace_id": result.trace_id,
            "assay.mode": str(result.mode),
            "assay.intent": str(result.intent),
            "assay.origin": str(request.origin),
            "assay.results": len(result.hits),
            "assay.pinned": len(result.pinned),
            "assay.degraded": bool(result.degraded),
            **({"session.id": request.session_id} if request.session_id else {}),
            **({"input.value": request.query} if self._texts else {}),
        }

    def _stage(self, stage: Stage, at: int, parent: Context, result: SearchResult, request: SearchRequest) -> int:
        kind = RERANKER if stage.name == "rerank" else RETRIEVER if stage.name in RETRIEVING else CHAIN
        told: dict[str, Attribute] = {
            KIND: kind,
            "assay.inputs": stage.inputs,
            "assay.outputs": stage.outputs,
            **({"assay.detail": json.dumps(dict(stage.detail), default=str)} if stage.detail else {}),
        }
        span = self._begin("retrieval" if stage.name == "candidate" else stage.name, at, parent, told)
        if kind == RERANKER:
            span.set_attribute("reranker.top_k", request.k)
            self._documents(span, "reranker.output_documents", result.hits)
        ended = at + int(stage.duration_ms * _NANO)
        span.end(ended)
        return ended

    def _documents(self, span: Span, key: str, hits: Sequence[Hit]) -> None:
        for place, hit in enumerate(hits):
            span.set_attribute(f"{key}.{place}.document.id", hit.memory_id)
            span.set_attribute(f"{key}.{place}.document.score", hit.score)
            if self._texts:
                span.set_attribute(f"{key}.{place}.document.content", hit.text)


def _evaluation(score: Score) -> dict[str, Attribute]:
    """The attributes of an evaluation's event; a score that is missing has no value, not 0."""
    return {
        "gen_ai.evaluation.name": score.name,
        **({"gen_ai.evaluation.score.value": score.value} if score.value is not None else {}),
        **({"gen_ai.evaluation.score.label": score.label} if score.label else {}),
        **({"gen_ai.evaluation.explanation": score.explanation} if score.explanation else {}),
    }


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
