"""Spans of searches, saves and answered questions, by the GenAI and OpenInference conventions.

- Finished searches, saves and research sessions.
- Answered questions: `research`, with a `plan` or `answer` for each attempt and `retrieval` between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from assay.clock import Clock
from assay.records import Draft, Hit, SaveOutcome, Scope, SearchRequest, SearchResult, Stage
from assay.records.judging import CheckpointResult, CheckpointState
from assay.records.research import Checkpoint
from assay.records.research_log import TracedAnswer

# --- Finished searches, saves and research sessions ---
#
# A search is `search_memory` with a child for each of its stages; what retrieves is a RETRIEVER with ids and scores of
# what it found, what reranks a RERANKER. A save is `create_memory`. Something longer is a span with its stages below
# it, and every score of an evaluation an event `gen_ai.evaluation.result`; `researching` tells of answered questions
# so.
#
# Spans are made when the work is done, from the times it measured itself, so that watching costs the work nothing but
# the making. Texts are left out unless asked for: ids and scores are enough to follow a search, and what a memory says
# is nobody's business on the way.

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

    def on_search(self, scope: Scope, request: SearchRequest, result: SearchResult) -> None:
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

    def on_save(self, scope: Scope, draft: Draft, outcome: SaveOutcome, duration_ms: float) -> None:
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

    def record_work(self, name: str, attributes: Mapping[str, Attribute], stages: Sequence[StageOfWork]) -> None:
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


# --- Answered questions: `research`, with a `plan` or `answer` for each attempt and `retrieval` between them ---
#
# A stage carries what its checkpoint came to: every dimension an event, the checkpoint's own score the last one, with
# `pass` or `fail`. A checkpoint that could not be evaluated is an event without a value and makes its span an error.
# `assay.query_ids` names the searches of a session: each is a `search_memory` span of its own.

NAMES = {"plan": "plan", "search": "retrieval", "answer": "answer"}
"""A stage of the pipeline, and what its span is called."""


class TimedStage(Protocol):
    """How long one attempt at a stage took."""

    @property
    def stage(self) -> str:
        """`plan`, `search` or `answer`."""
        ...

    @property
    def attempt(self) -> int:
        """From 1."""
        ...

    @property
    def took_ms(self) -> float:
        """Its evaluation included."""
        ...


class ResearchSpans:
    """Makes spans of answered questions."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def on_answer(self, scope: Scope, answer: TracedAnswer, times: Sequence[TimedStage]) -> None:
        """An observer of answers."""
        self._spans.record_work(
            "research", self._of_session(scope, answer), [self._stage(answer, timed) for timed in times]
        )

    def _of_session(self, scope: Scope, answer: TracedAnswer) -> dict[str, Attribute]:
        session = answer.session
        told: dict[str, Attribute] = {
            "assay.tenant": scope.tenant,
            "assay.log_id": session.log_id,
            "assay.status": session.status.value,
            "assay.kind": session.kind.value,
            "assay.iterations": session.iterations,
            "assay.escalated": session.escalated,
            "assay.severe": session.severe,
            "assay.regenerated": session.regenerated,
            "assay.evaluated_by": session.evaluated_by.value,
            "assay.evaluation_ms": session.evaluation_ms,
            "assay.kept": answer.kept,
        }
        known: dict[str, Attribute | None] = {
            "assay.outcome": None if session.outcome is None else session.outcome.value,
            "assay.passed": session.passed,
            "assay.overall_score": session.overall_score,
            "session.id": session.session_id,
            "assay.retry_of": session.retry_of,
        }
        texts = {"input.value": session.question, "output.value": answer.text} if self._spans.texts else {}
        return told | {key: value for key, value in known.items() if value is not None} | texts

    def _stage(self, answer: TracedAnswer, timed: TimedStage) -> StageOfWork:
        result, about = _of_stage(answer, timed)
        lost = result.state in {CheckpointState.SKIPPED, CheckpointState.JUDGE_FAILED}
        return StageOfWork(
            name=NAMES[timed.stage],
            duration_ms=timed.took_ms,
            attributes={**about, "assay.attempt": timed.attempt, **self._documents(answer, timed)},
            scores=tuple(self._scores(result)),
            problem=self._describe_missing(result.state.value, result.reason) if lost else "",
        )

    def _scores(self, result: CheckpointResult) -> Iterator[Score]:
        yield from (Score(name=name, value=value) for name, value in result.scores.items())
        if result.state in {CheckpointState.DISABLED, CheckpointState.NO_ANSWER, CheckpointState.NOT_MEASURED}:
            return
        label = {True: "pass", False: "fail", None: result.state.value}[result.passed]
        said = "" if result.verdict is None else "; ".join(one.critique for one in result.verdict.results)
        explanation = (said or result.reason) if self._spans.texts else ""
        yield Score(name=result.checkpoint.value, value=result.score, label=label, explanation=explanation)

    def _describe_missing(self, state: str, reason: str) -> str:
        """Why something has no score; a reason may quote what was judged, so it goes where texts go."""
        return f"{state}: {reason}" if self._spans.texts and reason else state

    def _documents(self, answer: TracedAnswer, timed: TimedStage) -> dict[str, Attribute]:
        if NAMES[timed.stage] != "retrieval":
            return {}
        told: dict[str, Attribute] = {}
        for place, passage in enumerate(answer.passages):
            key = f"retrieval.documents.{place}.document"
            told[f"{key}.id"] = passage.memory_id
            told |= {f"{key}.score": passage.score} if passage.score is not None else {}
            told |= {f"{key}.content": passage.text} if self._spans.texts else {}
        return told


def _of_stage(answer: TracedAnswer, timed: TimedStage) -> tuple[CheckpointResult, Mapping[str, Attribute]]:
    """Return the result of a stage's checkpoint, and the attributes of the stage itself."""
    if timed.stage == Checkpoint.PLAN:
        plan = next(attempt for attempt in answer.plan_attempts if attempt.number == timed.attempt)
        mode = {} if plan.decision is None else {"assay.iteration_mode": plan.decision.mode.value}
        return plan.result, {
            KIND: CHAIN,
            "assay.planner": plan.plan.planner,
            "assay.queries": len(plan.plan.queries),
            **mode,
        }
    if timed.stage == Checkpoint.ANSWER:
        made = next(attempt for attempt in answer.answer_attempts if attempt.number == timed.attempt)
        synthesis = made.synthesis
        return made.result, {
            KIND: CHAIN,
            "assay.synthesiser": synthesis.synthesiser,
            "assay.abstained": synthesis.abstained,
            "assay.citations": len(synthesis.citations),
        }
    ids = ",".join(answer.trace["retrieval_evaluation"]["query_ids"])
    return answer.retrieval, {KIND: RETRIEVER, "assay.passages": len(answer.passages), "assay.query_ids": ids}
