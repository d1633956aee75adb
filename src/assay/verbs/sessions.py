"""Verbs on sessions of agents: list and show them, the log of their searches, and their tasks with their outcomes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import (
    LoggedQuery,
    Origin,
    RecentSession,
    RecentSessions,
    SearchPage,
    SessionSummary,
    TaskEnded,
    TaskOutcome,
    TaskOutcomes,
    TaskRecord,
    TaskReport,
    search_line,
)
from assay.records.attribution import Attribution
from assay.verbs.fields import Id, Moment, SessionId, Share
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor, row_number
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Verb

SESSIONS = "sessions"
SEARCHES = "searches"
MOST_VERDICTS = 200
ATTRIBUTED_DAYS = 30
Place = tuple[datetime, str]
"""When a session last searched, and its id: sessions have no number of their own."""

TaskId = Annotated[
    Id,
    Field(description="A name of your own for the task, of letters, digits, _ and -; the same before and after."),
]
Knowledge = Annotated[Share, Field(description="How much of what the task needs you know, 0 to 1.")]
Uncertainty = Annotated[Share, Field(description="How unsure you are of what you know, 0 to 1.")]
Context = Annotated[Share, Field(description="How much of what surrounds the task you have in view, 0 to 1.")]
Verdicts = Annotated[tuple[Id, ...], Field(max_length=MOST_VERDICTS)]


class ListSessionsRequest(Request):
    """Which page of sessions."""

    cursor: PageCursor = None
    limit: PageLimit = 20


class ShowSessionRequest(Request):
    """Which session."""

    session_id: Annotated[
        str, Field(min_length=1, max_length=500, description="The session, as the list of sessions has it.")
    ]


class ListSearchesRequest(Request):
    """Which logged searches."""

    origin: Annotated[Origin | None, Field(description="Only searches asked for this reason.")] = None
    cursor: PageCursor = None
    limit: PageLimit = 50


class ShowSearchRequest(Request):
    """Which logged search."""

    query_id: Annotated[Id, Field(description="The search, as the log of searches has it.")]


class AttributionRequest(Request):
    """Over which period."""

    since: Annotated[
        Moment | None,
        Field(description=f"From this time (ISO 8601) on. Left out: {ATTRIBUTED_DAYS} days before the end."),
    ] = None
    until: Annotated[Moment | None, Field(description="Before this time. Left out: now.")] = None


class PreflightRequest(Request):
    """What is known before a task."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"task_id": "fix-login", "knowledge": 0.3, "uncertainty": 0.8, "context": 0.2}]}
    )

    task_id: TaskId
    knowledge: Knowledge
    uncertainty: Uncertainty
    context: Context
    goal: Annotated[str, Field(max_length=4_000, description="What is to be done, up to 4,000 characters.")] = ""
    folder: Annotated[str, Field(max_length=500, description="Where the task belongs.")] = ""
    session_id: SessionId = None


class PostflightRequest(Request):
    """What is known after a task."""

    task_id: TaskId
    knowledge: Knowledge
    uncertainty: Uncertainty
    context: Context
    result: Annotated[str, Field(max_length=4_000, description="How it ended, up to 4,000 characters.")] = ""
    outcome: Annotated[
        TaskOutcome | None, Field(description="How it ended: done, failed or abandoned; null: not said.")
    ] = None
    useful: Annotated[Verdicts, Field(description=f"Ids of memories that helped, up to {MOST_VERDICTS}.")] = ()
    not_useful: Annotated[Verdicts, Field(description=f"Ids of memories that did not, up to {MOST_VERDICTS}.")] = ()
    session_id: SessionId = None


class TaskOutcomesRequest(Request):
    """Nothing: the newest 1,000 ended tasks are looked at."""


def list_sessions(caller: Caller, request: ListSessionsRequest) -> RecentSessions:
    """Read one page of sessions."""
    after = read_cursor(SESSIONS, request.cursor, _check_place, None)
    rows = caller.engine.recent_sessions(caller.scope, limit=request.limit + 1, after=after)
    shown, following = cut_page(SESSIONS, rows, request.limit, _place_of)
    return RecentSessions(sessions=tuple(shown), next_cursor=following)


def _place_of(session: RecentSession) -> tuple[str, str]:
    return session.last_at.isoformat(), session.session_id


def _check_place(place: Any) -> Place | None:
    if not isinstance(place, list) or len(place) != 2 or not all(isinstance(part, str) for part in place):
        raise ValueError(place)
    last_at = datetime.fromisoformat(place[0])
    if last_at.tzinfo is None:
        raise ValueError(place)
    return last_at, place[1]


def show_session(caller: Caller, request: ShowSessionRequest) -> SessionSummary:
    """Join what is written down of a session."""
    return caller.engine.session_summary(caller.scope, request.session_id)


def list_searches(caller: Caller, request: ListSearchesRequest) -> SearchPage:
    """Read one page of the log of searches."""
    caller.engine.store.log.flush()
    before = read_cursor(SEARCHES, request.cursor, row_number, 0)
    with caller.engine.store.reading(caller.scope) as work:
        rows = work.lists.queries(before=before, limit=request.limit + 1, origin=request.origin)
    shown, following = cut_page(SEARCHES, rows, request.limit, lambda numbered: numbered[0])
    return SearchPage(searches=tuple(search_line(query) for _, query in shown), next_cursor=following)


def show_search(caller: Caller, request: ShowSearchRequest) -> LoggedQuery:
    """Read one logged search with its candidates."""
    caller.engine.store.log.make_sure_of(request.query_id)
    with caller.engine.store.reading(caller.scope) as work:
        return work.queries.get(request.query_id)


def attribute_channels(caller: Caller, request: AttributionRequest) -> Attribution:
    """Sum up what each channel gave to the searches of use."""
    from assay.online.attribution import attribute  # noqa: PLC0415 - a client of another machine's server does without

    until = request.until or caller.engine.clock.now()
    try:
        since = request.since or until - timedelta(days=ATTRIBUTED_DAYS)
    except OverflowError:
        since = datetime.min.replace(tzinfo=until.tzinfo)
    return attribute(caller.engine.store, caller.scope, since=since, until=until)


def preflight(caller: Caller, request: PreflightRequest) -> TaskRecord:
    """Begin a task."""
    return caller.engine.preflight(caller.scope, TaskReport(**request.model_dump()))


def postflight(caller: Caller, request: PostflightRequest) -> TaskEnded:
    """End a task, and keep the verdicts that come with it."""
    return caller.engine.postflight(caller.scope, TaskReport(**request.model_dump()))


def compare_outcomes(caller: Caller, _: TaskOutcomesRequest) -> TaskOutcomes:
    """Compare the searches of tasks by how they ended."""
    from assay.analysis.task_outcomes import compare_task_outcomes  # noqa: PLC0415 - loads statistics

    caller.engine.store.log.flush()
    with caller.engine.store.reading(caller.scope) as work:
        return compare_task_outcomes(work)


LIST_SESSIONS = Verb(
    name="session.list",
    summary="List sessions page by page, those with the newest searches first.",
    act=acts.SESSION_READ,
    request=ListSessionsRequest,
    result=RecentSessions,
    call=list_sessions,
    http=HttpRoute("GET", "/api/memory-sessions"),
    command="session list",
    client="sessions",
    python="Memory.sessions",
)
SHOW_SESSION = Verb(
    name="session.show",
    summary="Show a session's searches with what came of each, the memories it met, its tasks and its numbers.",
    act=acts.SESSION_READ,
    request=ShowSessionRequest,
    result=SessionSummary,
    call=show_session,
    http=HttpRoute("GET", "/api/memory-sessions/{session_id}", (404,)),
    command="session show",
    client="session",
    python="Memory.session",
)
LIST_SEARCHES = Verb(
    name="search.list",
    summary="List the log of searches, newest first, page by page.",
    act=acts.SEARCH_READ,
    request=ListSearchesRequest,
    result=SearchPage,
    call=list_searches,
    http=HttpRoute("GET", "/api/searches"),
    client="searches",
    python="Memory.searches",
)
SHOW_SEARCH = Verb(
    name="search.show",
    summary="Show one logged search with what every channel offered: enough to replay any fusion of it.",
    act=acts.SEARCH_READ,
    request=ShowSearchRequest,
    result=LoggedQuery,
    call=show_search,
    http=HttpRoute("GET", "/api/searches/{query_id}", (404,)),
    client="logged_search",
    python="Memory.logged_search",
)
ATTRIBUTION = Verb(
    name="search.attribution",
    summary="Show what each channel gave to the searches of use over a period: results it found, alone, and of those "
    "used.",
    act=acts.SEARCH_READ,
    request=AttributionRequest,
    result=Attribution,
    call=attribute_channels,
    http=HttpRoute("GET", "/api/attribution"),
    command="attribution",
    client="attribution",
    python="Memory.attribution",
)
PREFLIGHT = Verb(
    name="task.preflight",
    summary="Say what is known before a task, so that what it taught can be told afterwards.",
    act=acts.TASK_RECORD,
    request=PreflightRequest,
    result=TaskRecord,
    call=preflight,
    http=HttpRoute("POST", "/api/tasks/preflight"),
    tool=McpTool(
        name="task_preflight",
        title="Before a task",
        description="Say what you know before a task, so that what it taught can be told afterwards.",
    ),
    command="task preflight",
    client="preflight",
    python="Memory.preflight",
)
POSTFLIGHT = Verb(
    name="task.postflight",
    summary="Say what is known after a task and which memories helped; the answer lists what is left to judge.",
    act=acts.TASK_RECORD,
    request=PostflightRequest,
    result=TaskEnded,
    call=postflight,
    http=HttpRoute("POST", "/api/tasks/postflight", (404,)),
    tool=McpTool(
        name="task_postflight",
        title="After a task",
        description="Say what you know after a task and which memories helped; the answer lists what is left to judge.",
    ),
    command="task postflight",
    client="postflight",
    python="Memory.postflight",
)
OUTCOMES = Verb(
    name="task.outcomes",
    summary="Compare the searches of tasks that were done with those of tasks that failed, with intervals.",
    act=acts.SESSION_READ,
    request=TaskOutcomesRequest,
    result=TaskOutcomes,
    call=compare_outcomes,
    http=HttpRoute("GET", "/api/tasks/outcomes"),
    command="task outcomes",
    client="task_outcomes",
    python="Memory.task_outcomes",
)

FAMILY = Family(
    name="sessions",
    verbs=(LIST_SESSIONS, SHOW_SESSION, LIST_SEARCHES, SHOW_SEARCH, ATTRIBUTION, PREFLIGHT, POSTFLIGHT, OUTCOMES),
)
