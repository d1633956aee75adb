"""Questions answered from the memory: asked, streamed while it happens, asked again with a wider search, read later."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field
from starlette.responses import Response

from assay.access import acts
from assay.records.learning import Validated
from assay.records.plain import plain
from assay.records.research_log import ResearchSession
from assay.server.fields import LONGEST_QUERY, MOST_LABELS, IdInPath, Label, SessionId, YesNo
from assay.server.routing import Asked, Asking, Body, Resource, Result, written
from assay.server.services import Lane
from assay.server.streaming import STREAMED, Tell, stream_work

if TYPE_CHECKING:
    from assay.records.researched import ResearchAnswer
    from assay.research.events import Listen, StageEvent
    from assay.research.pipeline import ResearchPipeline

RESOURCE = Resource("/api", "research")
Ask = Callable[["ResearchPipeline", "Listen | None"], "ResearchAnswer"]


class QuestionBody(Body):
    """What is to be answered."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": "Why do we poll the oven?"}]})

    question: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
    session_id: SessionId = None
    tags: Annotated[tuple[Label, ...], Field(max_length=MOST_LABELS)] = ()
    evaluate: Annotated[YesNo, Field(description="false: answer without looking at the quality.")] = True
    builtin: Annotated[YesNo, Field(description="Ask no model, whatever the settings say.")] = False
    stream: Annotated[YesNo, Field(description="Tell every step as a server-sent event, the answer last.")] = False


class RetryBody(Body):
    """How the wider search is to be told."""

    stream: YesNo = False


class EvaluationShort(Result):
    """The scores in short; a score that nobody gave is null."""

    plan_score: float | None
    retrieval_score: float | None
    answer_score: float | None
    overall_score: float | None
    passed: bool | None
    iterations: int
    escalated: bool
    severe: bool
    regenerated: bool
    judge_failed: bool
    evaluation_skipped: bool
    skip_reason: str
    evaluated_by: str


class AnswerFound(Result):
    """An answer with citations, or an explicit abstention."""

    log_id: str
    status: str
    answer: str
    abstained: bool
    reason: str
    citations: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    plan: dict[str, Any]
    evaluation: EvaluationShort
    notices: list[dict[str, Any]]
    retry_of: str | None
    latency_ms: float
    evaluation_ms: float
    kept: bool = Field(description="Whether the record is in the store.")


@RESOURCE.post("/research/query", acts.ANSWER_ASK, 402, 502, 507, response=AnswerFound, responses=STREAMED)
async def ask_question(asked: Asked, body: QuestionBody) -> Response:
    """Answer a question from the memory, with citations or an honest "not answered", and score every step.

    With `stream` every step is an event `stage`, then comes one event `answer` (as without `stream`) or `error`.
    """
    ask = partial(_asked, asked, body)
    choice = (body.builtin, body.evaluate)
    return await _answer(asked, ask, choice, stream=body.stream)


@RESOURCE.post(
    "/research/sessions/{log_id}/retry-search",
    acts.ANSWER_ASK,
    402,
    404,
    502,
    507,
    response=AnswerFound,
    responses=STREAMED,
)
async def retry_search(asked: Asked, log_id: IdInPath, body: RetryBody) -> Response:
    """Answer an earlier question again from a wider search: a new session that names the first."""

    def ask(pipeline: ResearchPipeline, listen: Listen | None) -> ResearchAnswer:
        return pipeline.retry_search(asked.scope, log_id, listen=listen)

    return await _answer(asked, ask, (False, True), stream=body.stream)


class RatingBody(Body):
    """Whether an answer helped."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"was_useful": True}]})

    was_useful: YesNo


class Rated(Result):
    """What the rating did to each memory that the answer cites."""

    log_id: str
    was_useful: bool
    memories: list[Validated]


@RESOURCE.post("/research/sessions/{log_id}/rating", acts.ANSWER_RATE, 404, 422)
def rate_answer(asked: Asked, log_id: IdInPath, body: RatingBody) -> Rated:
    """Tell whether an answer was useful: it counts, once for each principal, for the memories that it cites."""
    from assay.research.rating import rate  # noqa: PLC0415 - heavy, and only needed here

    done = rate(asked.engine, asked.scope, log_id, useful=body.was_useful)
    return Rated(log_id=log_id, was_useful=body.was_useful, memories=list(done))


def _asked(asked: Asking, body: QuestionBody, pipeline: ResearchPipeline, listen: Listen | None) -> ResearchAnswer:
    return pipeline.ask(asked.scope, body.question, session_id=body.session_id, tags=body.tags, listen=listen)


async def _answer(asked: Asking, ask: Ask, choice: tuple[bool, bool], *, stream: bool) -> Response:
    from assay.wiring.research import Choice, open_research  # noqa: PLC0415 - heavy, and only needed here

    def answered(listen: Listen | None) -> AnswerFound:
        chosen = Choice(builtin=choice[0], evaluate=choice[1])
        pipeline = open_research(asked.services.settings, asked.engine, asked.scope, choice=chosen)
        return answer_found(ask(pipeline, listen))

    if not stream:
        return written(await asked.services.run(lambda: answered(None), Lane.LONG))

    def work(tell: Tell) -> None:
        def listen(event: StageEvent) -> None:
            tell("stage", event.as_json())

        tell("answer", answered(listen).model_dump(mode="json"))

    return stream_work(asked.services, asked.request_id, work)


def answer_found(answer: ResearchAnswer) -> AnswerFound:
    """An answer as the API gives it."""
    return AnswerFound(
        log_id=answer.log_id,
        status=answer.status.value,
        answer=answer.text,
        abstained=answer.synthesis.abstained,
        reason=answer.synthesis.reason,
        citations=plain(answer.synthesis.citations),
        sources=plain(answer.passages),
        plan=plain(answer.plan),
        evaluation=EvaluationShort.model_validate(answer.evaluation),
        notices=plain(answer.notices),
        retry_of=answer.session.retry_of,
        latency_ms=answer.session.latency_ms,
        evaluation_ms=answer.session.evaluation_ms,
        kept=answer.kept,
    )


class SessionLine(Result):
    """One answered question in a line."""

    log_id: str
    created_at: datetime
    question: str
    status: str
    kind: str
    tags: list[str]
    session_id: str | None
    retry_of: str | None
    overall_score: float | None
    plan_score: float | None
    retrieval_score: float | None
    answer_score: float | None
    scores: dict[str, float]
    failed_dimensions: list[str]
    passed: bool | None
    failure_type: str
    iterations: int
    exhausted: bool
    escalated: bool
    severe: bool
    regenerated: bool
    skipped: bool
    skip_reason: str
    judge_failed: bool
    evaluated_by: str
    latency_ms: float
    evaluation_ms: float
    tokens: int | None
    prompt_versions: list[str]


class LogFound(Result):
    """A question with everything that happened."""

    session: SessionLine
    trace: dict[str, Any] | None = Field(description="The whole record; null when it was erased and the line was not.")


@RESOURCE.get("/logs/sessions/{log_id}", acts.ANSWER_READ, 404)
def get_log(asked: Asked, log_id: IdInPath) -> LogFound:
    """Everything that happened to one question."""
    with asked.engine.store.reading(asked.scope) as work:
        session, trace = work.research.get(log_id)
    return LogFound(session=session_line(session), trace=None if trace is None else dict(trace))


def session_line(session: ResearchSession) -> SessionLine:
    """A session as the API lists it."""
    return SessionLine.model_validate(plain(session))
