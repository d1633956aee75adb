"""Sessions and the tasks done in them, and the log of searches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from assay.access import acts
from assay.records import LoggedQuery, Origin
from assay.records.plain import plain
from assay.records.sessions import TaskReport
from assay.server import paging
from assay.server.fields import Id, IdInPath, SessionId, Share
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Body, Resource, Result

RESOURCE = Resource("/api", "sessions")
SEARCHES = "searches"
MOST_VERDICTS = 200

SessionInPath = Annotated[str, Path(min_length=1, max_length=500)]
Verdicts = Annotated[tuple[Id, ...], Field(max_length=MOST_VERDICTS)]


class SessionLine(Result):
    """A session in a list."""

    session_id: str
    searches: int
    began_at: datetime
    last_at: datetime


class SessionsFound(Result):
    """The sessions with the newest searches first."""

    sessions: list[SessionLine]


@RESOURCE.get("/memory-sessions", acts.SESSION_READ)
def list_sessions(asked: Asked, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> SessionsFound:
    """Recent sessions."""
    found = asked.engine.recent_sessions(asked.scope, limit=limit)
    return SessionsFound(sessions=[SessionLine(**one._asdict()) for one in found])


class SessionFound(Result):
    """What happened in one session, and its numbers."""

    session_id: str
    began_at: datetime
    queries: list[dict[str, Any]]
    memories: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    totals: dict[str, Any]


@RESOURCE.get("/memory-sessions/{session_id}", acts.SESSION_READ, 404)
def get_session(asked: Asked, session_id: SessionInPath) -> SessionFound:
    """A session's searches with what came of each, the memories it met, and its tasks."""
    return SessionFound.model_validate(plain(asked.engine.session_summary(asked.scope, session_id)))


class SearchLine(Result):
    """A logged search."""

    query_id: str
    query: str
    tool_name: str
    origin: Origin
    created_at: datetime
    mode: str | None
    intent: str | None
    session_id: str | None
    result_ids: list[str]
    total_latency_ms: float | None
    quality_proxy_score: float | None


class SearchPage(Result):
    """Logged searches, newest first."""

    searches: list[SearchLine]
    next_cursor: str | None


@RESOURCE.get("/searches", acts.SEARCH_READ)
def list_searches(
    asked: Asked,
    cursor: Cursor = None,
    limit: Limit = 50,
    origin: Annotated[Origin | None, Query(description="Only searches asked for this reason.")] = None,
) -> SearchPage:
    """The log of searches, page by page."""
    asked.engine.store.log.flush()
    before = paging.read(SEARCHES, cursor, paging.number, 0)
    with asked.engine.store.reading(asked.scope) as work:
        rows = work.lists.queries(before=before, limit=limit + 1, origin=origin)
    shown, following = paging.page(SEARCHES, rows, limit, lambda one: one[0])
    return SearchPage(searches=[_search_line(one) for _, one in shown], next_cursor=following)


class SearchLogged(SearchLine):
    """One logged search with what every channel offered."""

    channel_contributions: dict[str, Any]
    fusion_weights: dict[str, Any] | None
    trace_id: str | None
    candidates: list[dict[str, Any]]


@RESOURCE.get("/searches/{query_id}", acts.SEARCH_READ, 404)
def get_search(asked: Asked, query_id: IdInPath) -> SearchLogged:
    """One logged search: enough to replay any fusion of it."""
    asked.engine.store.log.make_sure_of(query_id)
    with asked.engine.store.reading(asked.scope) as work:
        found = work.queries.get(query_id)
    return SearchLogged(
        **_search_line(found).model_dump(),
        channel_contributions=dict(found.channel_contributions),
        fusion_weights=None if found.fusion_weights is None else dict(found.fusion_weights),
        trace_id=found.trace_id,
        candidates=plain(found.candidates),
    )


def _search_line(one: LoggedQuery) -> SearchLine:
    told = {name: getattr(one, name) for name in SearchLine.model_fields}
    return SearchLine(**{**told, "result_ids": list(one.result_ids)})


class PreflightBody(Body):
    """What is known before a task."""

    task_id: Id
    knowledge: Share
    uncertainty: Share
    context: Share
    goal: Annotated[str, Field(max_length=4_000)] = ""
    folder: Annotated[str, Field(max_length=500)] = ""
    session_id: SessionId = None


class TaskBegun(Result):
    """The task as it is kept."""

    task_id: str
    session_id: str | None
    begun_at: datetime


@RESOURCE.post("/tasks/preflight", acts.TASK_RECORD, 409)
def begin_task(asked: Asked, body: PreflightBody) -> TaskBegun:
    """Say what is known before a task, so that what it taught can be told afterwards."""
    task = asked.engine.preflight(asked.scope, TaskReport(**body.model_dump()))
    return TaskBegun(task_id=task.task_id, session_id=task.session_id, begun_at=task.begun_at)


class PostflightBody(Body):
    """What is known after it."""

    task_id: Id
    knowledge: Share
    uncertainty: Share
    context: Share
    result: Annotated[str, Field(max_length=4_000)] = ""
    useful: Verdicts = ()
    not_useful: Verdicts = ()
    session_id: SessionId = None


class Unjudged(Result):
    """A memory that the session read and has not judged."""

    memory_id: str
    title: str | None


class TaskDone(Result):
    """What the task changed, by its own numbers; each from -1 to 1, and more is better."""

    task_id: str
    knowledge_delta: float
    uncertainty_reduction: float
    context_gain: float
    learning_index: float
    duration_minutes: float
    validated: int
    to_validate: list[Unjudged]


@RESOURCE.post("/tasks/postflight", acts.TASK_RECORD, 404, 409)
def end_task(asked: Asked, body: PostflightBody) -> TaskDone:
    """Say what is known after a task and which memories helped; the answer lists what is left to judge."""
    ended = asked.engine.postflight(asked.scope, TaskReport(**body.model_dump()))
    return TaskDone(
        task_id=ended.task.task_id,
        **ended.outcome._asdict(),
        validated=ended.validated,
        to_validate=[Unjudged(memory_id=one.memory_id, title=one.title) for one in ended.to_validate],
    )
