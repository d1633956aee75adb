"""Verbs on judgments: how relevant a memory is to a search, and who said so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import Judgment, JudgmentSource
from assay.records.access import Access
from assay.verbs.fields import Id, Share
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

LIST_NAME = "judgments"
MOST = 500
Place = tuple[str, str, str, str]
"""Query, memory, source and annotator: judgments have no number of their own."""


class GivenGrade(Request):
    """One grade that somebody gives."""

    query_id: Annotated[Id, Field(description="The search that was logged.")]
    memory_id: Annotated[Id, Field(description="The memory that is graded.")]
    relevance: Annotated[int, Field(strict=True, ge=0, le=3, description="0 to 3; 0 means judged and not relevant.")]
    confidence: Annotated[Share, Field(description="How sure the annotator is, 0 to 1.")] = 1.0


class AddJudgmentsRequest(Request):
    """Grades of one person. A newer one takes the place of the same person's older one."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"judgments": [{"query_id": "q_1", "memory_id": "m_1", "relevance": 2}]}]}
    )

    judgments: Annotated[
        tuple[GivenGrade, ...], Field(min_length=1, max_length=MOST, description=f"1 to {MOST} grades.")
    ]
    annotator: Annotated[
        str,
        Field(
            max_length=500,
            description="Leave it out: grades are kept under the caller's own identity. An admin may name somebody "
            "else whose grades it imports.",
        ),
    ] = ""


class ListJudgmentsRequest(Request):
    """Which judgments."""

    query_id: Annotated[str | None, Field(max_length=128, description="All of this search, on one page.")] = None
    source: Annotated[JudgmentSource | None, Field(description="Only from there.")] = None
    cursor: PageCursor = None
    limit: PageLimit = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptJudgments:
    """How many grades were kept, and under whose name."""

    kept: int
    annotator: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgmentPage:
    """Judgments in the order of query and memory."""

    judgments: tuple[Judgment, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last."""


def add(caller: Caller, request: AddJudgmentsRequest) -> KeptJudgments:
    """Keep grades of logged searches and stored memories.

    A grade that takes the place of an older one of the same person is written to the audit log with the older one.
    """
    from assay.evaluation.labelling import annotator_of, keep_grades  # noqa: PLC0415 - needs the store

    importing = caller.grant.access.includes(Access.ADMIN)
    annotator = annotator_of(caller.scope, request.annotator, may_name_others=importing)
    now = caller.engine.clock.now()
    grades = [
        Judgment(**grade.model_dump(), source=JudgmentSource.MANUAL, annotator=annotator, created_at=now)
        for grade in request.judgments
    ]
    keep_grades(caller.engine.store, caller.scope, grades)
    return KeptJudgments(kept=len(grades), annotator=annotator)


def list_judgments(caller: Caller, request: ListJudgmentsRequest) -> JudgmentPage:
    """Read one page of judgments, or all of one search."""
    after = read_cursor(LIST_NAME, request.cursor, _check_place, None)
    with caller.engine.store.reading(caller.scope) as work:
        if request.query_id is not None:
            found = work.judgments.of(request.query_id)
            kept = tuple(judgment for judgment in found if request.source in (None, judgment.source))
            return JudgmentPage(judgments=kept, next_cursor=None)
        rows = work.lists.judgments(after=after, limit=request.limit + 1, source=request.source)
    shown, following = cut_page(LIST_NAME, rows, request.limit, _place_of)
    return JudgmentPage(judgments=tuple(shown), next_cursor=following)


def _place_of(judgment: Judgment) -> Place:
    return judgment.query_id, judgment.memory_id, str(judgment.source), judgment.annotator


def _check_place(place: Any) -> Place | None:
    if not isinstance(place, list) or len(place) != 4 or not all(isinstance(part, str) for part in place):
        raise ValueError(place)
    query, memory, source, annotator = place
    return query, memory, source, annotator


ADD = Verb(
    name="judgment.add",
    summary="Keep grades that a person gives to the memories of logged searches.",
    act=acts.JUDGMENT_WRITE,
    request=AddJudgmentsRequest,
    result=KeptJudgments,
    call=add,
    http=HttpRoute("POST", "/api/judgments", (404,)),
    client="add_judgments",
)
LIST = Verb(
    name="judgment.list",
    summary="List judgments page by page, or all of one search.",
    act=acts.JUDGMENT_READ,
    request=ListJudgmentsRequest,
    result=JudgmentPage,
    call=list_judgments,
    http=HttpRoute("GET", "/api/judgments"),
    client="judgments",
)

FAMILY = Family(name="judgments", verbs=(ADD, LIST))
