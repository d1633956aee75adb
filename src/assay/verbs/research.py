"""Verbs on questions: ask, ask again from a wider search, rate an answer, show one, list many, show an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records.learning import AnswerRating
from assay.records.research import QuestionKind
from assay.records.research_log import (
    QuestionOutcome,
    ResearchAnswer,
    ResearchFilter,
    ResearchStatus,
    SessionEvaluation,
    SessionPage,
    StoredResearch,
    TracedAnswer,
)
from assay.verbs.fields import LONGEST_QUERY, MOST_LABELS, NAME, Labels, Moment, SessionId, YesNo
from assay.verbs.paging import PageCursor, PageLimit, read_cursor, row_number, write_cursor
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

if TYPE_CHECKING:
    from assay.research.pipeline import ResearchPipeline

LogId = Annotated[
    str,
    Field(min_length=1, max_length=128, pattern=NAME, description="The log id of a question, as its answer gives it."),
]
Evaluate = Annotated[YesNo, Field(description="false: answer without scoring the steps.")]
Builtin = Annotated[YesNo, Field(description="Ask no model, whatever the settings say.")]
# Not strict: in an address everything is text.
Score = Annotated[float | None, Field(ge=0.0, le=1.0)]
Plans = Annotated[int | None, Field(ge=0, le=1_000_000)]
Word = Annotated[str | None, Field(min_length=1, max_length=500)]
SESSIONS = "evaluation"
"""The list that cursors of sessions lead into."""


class AskRequest(Request):
    """What to answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"question": "Why do we poll the oven?"}]})

    question: Annotated[
        str, Field(min_length=1, max_length=LONGEST_QUERY, description="What you want to know, in your own words.")
    ]
    session_id: SessionId = None
    tags: Annotated[Labels, Field(description=f"Up to {MOST_LABELS} words to find the question by later.")] = ()
    evaluate: Evaluate = True
    builtin: Builtin = False


class RetryRequest(Request):
    """Which question to answer again."""

    log_id: LogId
    evaluate: Evaluate = True
    builtin: Builtin = False


class RateRequest(Request):
    """Whether an answer helped."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"was_useful": True}]})

    log_id: LogId
    was_useful: Annotated[YesNo, Field(description="true: the answer helped.")]


class ShowRequest(Request):
    """Which question to show."""

    log_id: LogId


class SessionFilter(Request):
    """Which sessions are meant; a field that is left out does not matter."""

    since: Annotated[Moment | None, Field(description="Asked at this moment or later.")] = None
    until: Annotated[Moment | None, Field(description="Asked before this moment.")] = None
    least_score: Annotated[Score, Field(description="Overall score from here on, 0 to 1.")] = None
    most_score: Annotated[Score, Field(description="Overall score up to here, 0 to 1.")] = None
    passed: Annotated[bool | None, Field(description="Whether every checkpoint passed.")] = None
    failure_type: Annotated[Word, Field(description="With this failure type.")] = None
    failed_dimension: Annotated[Word, Field(description="Below the bar of this dimension.")] = None
    escalated: Annotated[bool | None, Field(description="Whether the larger model was asked.")] = None
    skipped: Annotated[bool | None, Field(description="Whether a checkpoint could not be evaluated.")] = None
    judge_failed: Annotated[bool | None, Field(description="Whether scores came that could not be read.")] = None
    severe: Annotated[bool | None, Field(description="Whether too little was found.")] = None
    least_iterations: Annotated[Plans, Field(description="Plans that were made, at least.")] = None
    most_iterations: Annotated[Plans, Field(description="Plans that were made, at most.")] = None
    status: Annotated[ResearchStatus | None, Field(description="How the question ended.")] = None
    outcome: Annotated[QuestionOutcome | None, Field(description="What the user got, seen beside what was found.")] = (
        None
    )
    kind: Annotated[QuestionKind | None, Field(description="What shape of answer the question wants.")] = None
    session_id: Annotated[Word, Field(description="Asked in this session.")] = None
    prompt_version: Annotated[
        str | None, Field(max_length=200, description="Asked with this prompt, as prompt_id@version.")
    ] = None
    text: Annotated[Word, Field(description="Words of the question, as they are written there.")] = None

    def make_filter(self) -> ResearchFilter:
        """Return the filter that the store takes."""
        given = {name: getattr(self, name) for name in SessionFilter.model_fields}
        return ResearchFilter(**{**given, "prompt_version": self.prompt_version or None})


class ListRequest(SessionFilter):
    """Which sessions to list, and which page of them."""

    cursor: PageCursor = None
    limit: PageLimit = 50


def ask(caller: Caller, request: AskRequest) -> TracedAnswer:
    """Answer a question."""
    return _pipeline(caller, request).ask(
        caller.scope, request.question, session_id=request.session_id, tags=request.tags, listen=caller.listen
    )


def retry(caller: Caller, request: RetryRequest) -> TracedAnswer:
    """Answer an earlier question again from a wider search."""
    return _pipeline(caller, request).retry_search(caller.scope, request.log_id, listen=caller.listen)


def rate(caller: Caller, request: RateRequest) -> AnswerRating:
    """Count a rating for the memories that an answer cites."""
    # Needs the store, which a client of another machine's server does without.
    from assay.research.rating import rate as rate_answer  # noqa: PLC0415

    return rate_answer(caller.engine, caller.scope, request.log_id, useful=request.was_useful)


def show(caller: Caller, request: ShowRequest) -> StoredResearch:
    """Return a session with its record."""
    with caller.engine.store.reading(caller.scope) as work:
        return work.research.get(request.log_id)


def show_evaluation(caller: Caller, request: ShowRequest) -> SessionEvaluation:
    """Return a session with what evaluators said of each of its steps."""
    stored = show(caller, request)
    record = stored.trace or {}
    return SessionEvaluation(
        session=stored.session,
        plan_evaluation=record.get("plan_evaluation"),
        retrieval_evaluation=record.get("retrieval_evaluation"),
        answer_evaluation=record.get("answer_evaluation"),
        notices=tuple(record.get("notices", ())),
    )


def list_sessions(caller: Caller, request: ListRequest) -> SessionPage:
    """Return one page of sessions."""
    after = read_cursor(SESSIONS, request.cursor, row_number, 0)
    with caller.engine.store.reading(caller.scope) as work:
        page = work.research.page(request.make_filter(), after=after or None, limit=request.limit)
    following = None if page.after is None else write_cursor(SESSIONS, page.after)
    return SessionPage(sessions=page.sessions, next_cursor=following)


def _pipeline(caller: Caller, request: AskRequest | RetryRequest) -> ResearchPipeline:
    """Open the pipeline that the settings and the request name."""
    from assay.wiring.research import Choice, open_research  # noqa: PLC0415 - needs the store, as above

    choice = Choice(builtin=request.builtin, evaluate=request.evaluate)
    return open_research(caller.settings, caller.engine, caller.scope, choice=choice, custom=caller.dimensions)


ASK = Verb(
    name="research.ask",
    summary='Answer a question from the memory, with citations or an honest "not answered", and score every step.',
    act=acts.ANSWER_ASK,
    request=AskRequest,
    result=ResearchAnswer,
    call=ask,
    http=HttpRoute("POST", "/api/research/query", (402, 502, 507), streams=True),
    command="ask",
    client="ask",
    python="Research.ask",
)
RETRY = Verb(
    name="research.retry",
    summary="Answer an earlier question again from a wider search: a new session that names the first.",
    act=acts.ANSWER_ASK,
    request=RetryRequest,
    result=ResearchAnswer,
    call=retry,
    http=HttpRoute("POST", "/api/research/sessions/{log_id}/retry-search", (402, 404, 502, 507), streams=True),
    command="ask --retry",
    client="retry_search",
    python="Research.retry_search",
)
RATE = Verb(
    name="research.rate",
    summary="Tell whether an answer was useful: it counts, once for each principal, for the memories that it cites.",
    act=acts.ANSWER_RATE,
    request=RateRequest,
    result=AnswerRating,
    call=rate,
    http=HttpRoute("POST", "/api/research/sessions/{log_id}/rating", (404, 422)),
    command="rate",
    client="rate",
    python="Research.rate",
)
SHOW = Verb(
    name="research.show",
    summary="Show everything that happened to one question; the record is null when it was erased.",
    act=acts.ANSWER_READ,
    request=ShowRequest,
    result=StoredResearch,
    call=show,
    http=HttpRoute("GET", "/api/logs/sessions/{log_id}", (404,)),
    client="log",
    python="Research.get",
)
EVALUATION = Verb(
    name="research.evaluation",
    summary="Show how one question was judged: every attempt, every evaluator, every dimension.",
    act=acts.ANSWER_READ,
    request=ShowRequest,
    result=SessionEvaluation,
    call=show_evaluation,
    http=HttpRoute("GET", "/api/evaluation/sessions/{log_id}", (404,)),
    client="evaluation",
    python="Research.evaluation",
)
LIST = Verb(
    name="research.list",
    summary="List answered questions with their scores, newest first, by filter and page by page.",
    act=acts.ANSWER_READ,
    request=ListRequest,
    result=SessionPage,
    call=list_sessions,
    http=HttpRoute("GET", "/api/evaluation/sessions"),
    client="evaluation_page",
    python="Research.sessions",
)

FAMILY = Family(name="research", verbs=(ASK, RETRY, RATE, SHOW, EVALUATION, LIST))
