"""Spans of answered questions: `research`, with a `plan` or `answer` for each attempt and `retrieval` between them.

A stage carries what its checkpoint came to: every dimension an event, the checkpoint's own score the last one, with
`pass` or `fail`. A checkpoint that could not be evaluated is an event without a value and makes its span an error.
`assay.query_ids` names the searches of a session: each is a `search_memory` span of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from assay.records import Scope
from assay.records.judging import CheckpointResult, CheckpointState
from assay.records.research import Checkpoint
from assay.records.research_log import TracedAnswer
from assay.tracing.spans import CHAIN, KIND, RETRIEVER, Attribute, Score, Spans, StageOfWork

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

    def researched(self, scope: Scope, answer: TracedAnswer, times: Sequence[TimedStage]) -> None:
        """An observer of answers."""
        self._spans.worked("research", self._of_session(scope, answer), [self._stage(answer, one) for one in times])

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
        if result.state is CheckpointState.DISABLED:
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
        for place, one in enumerate(answer.passages):
            key = f"retrieval.documents.{place}.document"
            told[f"{key}.id"] = one.memory_id
            told |= {f"{key}.score": one.score} if one.score is not None else {}
            told |= {f"{key}.content": one.text} if self._spans.texts else {}
        return told


def _of_stage(answer: TracedAnswer, timed: TimedStage) -> tuple[CheckpointResult, Mapping[str, Attribute]]:
    """What a stage's checkpoint came to, and what is told of the stage itself."""
    if timed.stage == Checkpoint.PLAN:
        plan = next(one for one in answer.plan_attempts if one.number == timed.attempt)
        mode = {} if plan.decision is None else {"assay.iteration_mode": plan.decision.mode.value}
        return plan.result, {
            KIND: CHAIN,
            "assay.planner": plan.plan.planner,
            "assay.queries": len(plan.plan.queries),
            **mode,
        }
    if timed.stage == Checkpoint.ANSWER:
        made = next(one for one in answer.answer_attempts if one.number == timed.attempt)
        synthesis = made.synthesis
        return made.result, {
            KIND: CHAIN,
            "assay.synthesiser": synthesis.synthesiser,
            "assay.abstained": synthesis.abstained,
            "assay.citations": len(synthesis.citations),
        }
    ids = ",".join(answer.trace["retrieval_evaluation"]["query_ids"])
    return answer.retrieval, {KIND: RETRIEVER, "assay.passages": len(answer.passages), "assay.query_ids": ids}
