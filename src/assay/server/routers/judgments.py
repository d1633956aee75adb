"""Judgments: how relevant a memory is to a search, and who said so."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field

from assay.access import Access, acts
from assay.evaluation.manual_grades import annotator_of, keep_grades
from assay.records import Judgment, JudgmentSource
from assay.records.plain import plain
from assay.server import paging
from assay.server.fields import Id, Share
from assay.server.paging import Cursor, Limit
from assay.server.routing import Asked, Body, Resource, Result

RESOURCE = Resource("/api/judgments", "judgments")
LIST = "judgments"
MOST = 500


class JudgmentFound(Result):
    """One grade."""

    query_id: str
    memory_id: str
    relevance: int = Field(description="0 to 3; 0 means judged and not relevant.")
    source: JudgmentSource
    annotator: str
    confidence: float
    created_at: datetime


class JudgmentPage(Result):
    """Judgments in the order of query and memory."""

    judgments: list[JudgmentFound]
    next_cursor: str | None


class Grade(Body):
    """One grade that somebody gives."""

    query_id: Id
    memory_id: Id
    relevance: Annotated[int, Field(strict=True, ge=0, le=3)]
    confidence: Share = 1.0


class GradesBody(Body):
    """Grades of one person. A newer one takes the place of the same person's older one."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"judgments": [{"query_id": "q_1", "memory_id": "m_1", "relevance": 2}]}]}
    )

    judgments: Annotated[tuple[Grade, ...], Field(min_length=1, max_length=MOST)]
    annotator: Annotated[
        str,
        Field(
            max_length=500,
            description="Leave it out: grades are kept under the caller's own identity. An admin may name somebody "
            "else whose grades it imports.",
        ),
    ] = ""


class GradesDone(Result):
    """How many were kept."""

    kept: int
    annotator: str


@RESOURCE.get("", acts.JUDGMENT_READ)
def list_judgments(
    asked: Asked,
    cursor: Cursor = None,
    limit: Limit = 50,
    query_id: Annotated[str | None, Query(max_length=128, description="Only of this search.")] = None,
    source: Annotated[JudgmentSource | None, Query(description="Only from there.")] = None,
) -> JudgmentPage:
    """Every judgment, page by page; or all of one search."""
    with asked.engine.store.reading(asked.scope) as work:
        if query_id is not None:
            found = [one for one in work.judgments.of(query_id) if source in (None, one.source)]
            return JudgmentPage(judgments=[_found(one) for one in found], next_cursor=None)
        after = paging.read(LIST, cursor, _place, None)
        rows = work.lists.judgments(after=after, limit=limit + 1, source=source)
    shown, following = paging.page(LIST, rows, limit, _key)
    return JudgmentPage(judgments=[_found(one) for one in shown], next_cursor=following)


@RESOURCE.post("", acts.JUDGMENT_WRITE, 404)
def put_judgments(asked: Asked, body: GradesBody) -> GradesDone:
    """Keep grades that a person gives. Each must be of a logged search and a stored memory.

    A grade that takes the place of an older one of the same person is written to the audit log with the older one.
    """
    importing = asked.grant.access.includes(Access.ADMIN)
    annotator = annotator_of(asked.scope, body.annotator, may_name_others=importing)
    now = asked.engine.clock.now()
    grades = [
        Judgment(**one.model_dump(), source=JudgmentSource.MANUAL, annotator=annotator, created_at=now)
        for one in body.judgments
    ]
    keep_grades(asked.engine.store, asked.scope, grades)
    return GradesDone(kept=len(grades), annotator=annotator)


def _found(one: Judgment) -> JudgmentFound:
    return JudgmentFound.model_validate(plain(one))


def _key(one: Judgment) -> list[str]:
    return [one.query_id, one.memory_id, str(one.source), one.annotator]


def _place(place: Any) -> tuple[str, str, str, str] | None:
    if not isinstance(place, list) or len(place) != 4 or not all(isinstance(one, str) for one in place):
        raise ValueError(place)
    query, memory, source, annotator = place
    return query, memory, source, annotator
