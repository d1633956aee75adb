"""Verbs on judgments: how relevant a memory is to a search, who said so, and which of it counts for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from assay.access import acts
from assay.records import Judgment, JudgmentSource
from assay.records.access import Access
from assay.records.evidence import ACCEPTED_SOURCES
from assay.records.judging import ModelAdmission
from assay.verbs.fields import Id, Share, YesNo
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor
from assay.verbs.verb import Caller, Family, HttpRoute, McpTool, Request, Surface, Verb

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
    by_model: Annotated[
        YesNo,
        Field(
            description="Whether a model made these grades. They count only while its grades agree with people's; an"
            " agent's always do so."
        ),
    ] = False


class CollectRequest(Request):
    """Nothing: all that use says is collected."""


class GradeRequest(Request):
    """How much the model is to grade."""

    most: Annotated[
        int, Field(strict=True, ge=1, le=MOST, description=f"The most pairs to grade, 1 to {MOST}; 100 if left out.")
    ] = 100


class StatusRequest(Request):
    """Nothing: every source is shown."""


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
    source: JudgmentSource
    """`manual`, or `llm_judge` for grades of a model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgmentPage:
    """Judgments in the order of query and memory."""

    judgments: tuple[Judgment, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedJudgments:
    """How many judgments use gave, by source."""

    validated: int
    """Memories that somebody called useful, or not."""
    implicit: int
    """Memories that were read or referred to."""
    click_model: int
    """Memories that were used clearly more, or less, than their places explain."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelGrades:
    """What a model's grading came to."""

    annotator: str
    """The model, as its grades are kept."""
    graded: int
    failed: int
    """Pairs without a grade: the model could not be asked, or gave no grade that can be read."""
    problems: tuple[str, ...]
    admission: ModelAdmission | None
    """Whether its grades count; None: it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgmentStatus:
    """How many judgments there are, what reads them, and which models' grades count."""

    sources: Mapping[str, int]
    """Judgments by source."""
    readers: Mapping[str, tuple[str, ...]]
    """The sources that each reader accepts."""
    models: tuple[ModelAdmission, ...]


def add(caller: Caller, request: AddJudgmentsRequest) -> KeptJudgments:
    """Keep grades of logged searches and stored memories.

    A grade that takes the place of an older one of the same person is written to the audit log with the older one.
    """
    from assay.evaluation.stored_grades import annotator_of, keep_grades  # noqa: PLC0415 - needs the store

    importing = caller.grant.access.includes(Access.ADMIN)
    annotator = annotator_of(caller.scope, request.annotator, may_name_others=importing)
    now = caller.engine.clock.now()
    # An agent is a model, whatever it says of itself.
    by_model = request.by_model or (caller.surface is Surface.MCP and caller.is_program)
    source = JudgmentSource.LLM_JUDGE if by_model else JudgmentSource.MANUAL
    grades = [
        Judgment(**grade.model_dump(), source=source, annotator=annotator, created_at=now)
        for grade in request.judgments
    ]
    keep_grades(caller.engine.store, caller.scope, grades)
    return KeptJudgments(kept=len(grades), annotator=annotator, source=source)


def collect(caller: Caller, request: CollectRequest) -> CollectedJudgments:  # noqa: ARG001 - one shape for all verbs
    """Keep what use says of results as judgments."""
    from assay.online.labels import collect_from_use  # noqa: PLC0415 - needs the store

    found = collect_from_use(caller.engine.store, caller.scope, at=caller.engine.clock.now())
    return CollectedJudgments(**found._asdict())


def grade(caller: Caller, request: GradeRequest) -> ModelGrades:
    """Let the model of the settings grade what searches found."""
    from assay import wiring  # noqa: PLC0415 - needs the store
    from assay.judging.persistence import guard_of  # noqa: PLC0415 - the same
    from assay.judging.relevance import RelevanceGrader, name_grader  # noqa: PLC0415 - the same
    from assay.online.labels import grade_by_model  # noqa: PLC0415 - the same

    engine, scope, settings = caller.engine, caller.scope, caller.settings
    name = name_grader(settings.judge_model or settings.model_name)

    def open_grader() -> RelevanceGrader:
        model = wiring.open_model(settings, engine.store, scope, name=settings.judge_model, clock=engine.clock)
        return RelevanceGrader(model, guard=guard_of(engine.store, scope))

    found = grade_by_model(engine.store, scope, open_grader, name, most=request.most, at=engine.clock.now())
    admitted = {admission.annotator: admission for admission in status(caller, StatusRequest()).models}
    return ModelGrades(annotator=name, admission=admitted.get(name), **found._asdict())


def status(caller: Caller, request: StatusRequest) -> JudgmentStatus:  # noqa: ARG001 - one shape for all verbs
    """Return how many judgments each source gave, what each reader accepts, and which models count."""
    from assay.judging.admission import admit_models  # noqa: PLC0415 - needs the store

    with caller.engine.store.reading(caller.scope) as work:
        counts = work.judgments.count_by_source()
        judged = work.judgments.with_texts((JudgmentSource.MANUAL, JudgmentSource.LLM_JUDGE))
    return JudgmentStatus(
        sources={source.value: counts.get(source.value, 0) for source in JudgmentSource},
        readers={
            reader.value: tuple(source.value for source in JudgmentSource if source in accepted)
            for reader, accepted in ACCEPTED_SOURCES.items()
        },
        models=tuple(admit_models(judged).values()),
    )


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
    tool=McpTool(
        name="memory_grade",
        title="Grade search results",
        description="Grade how relevant memories are to a search that you made: 0 not at all, 3 answers it. Grades of"
        " an agent count only while they agree with people's.",
        without=frozenset({"annotator", "by_model"}),
    ),
    command="judgments add",
    client="add_judgments",
    python="Memory.add_judgments",
)
LIST = Verb(
    name="judgment.list",
    summary="List judgments page by page, or all of one search.",
    act=acts.JUDGMENT_READ,
    request=ListJudgmentsRequest,
    result=JudgmentPage,
    call=list_judgments,
    http=HttpRoute("GET", "/api/judgments"),
    command="judgments list",
    client="judgments",
    python="Memory.judgments",
)
COLLECT = Verb(
    name="judgment.collect",
    summary="Keep what use says of results as judgments: votes, reads, and what the click model makes of them.",
    act=acts.LEARNING_CHANGE,
    request=CollectRequest,
    result=CollectedJudgments,
    call=collect,
    http=HttpRoute("POST", "/api/judgments/collect"),
    command="judgments collect",
    client="collect_judgments",
    python="Memory.collect_judgments",
)
GRADE = Verb(
    name="judgment.grade",
    summary="Let the model of the settings grade what searches found, pairs that people graded first.",
    act=acts.LEARNING_CHANGE,
    request=GradeRequest,
    result=ModelGrades,
    call=grade,
    http=HttpRoute("POST", "/api/judgments/grade"),
    command="judgments grade",
    client="grade_by_model",
    python="Memory.grade_by_model",
)
STATUS = Verb(
    name="judgment.status",
    summary="Show how many judgments each source gave, what reads them, and which models' grades count.",
    act=acts.JUDGMENT_READ,
    request=StatusRequest,
    result=JudgmentStatus,
    call=status,
    http=HttpRoute("GET", "/api/judgments/status"),
    command="judgments status",
    client="judgment_status",
    python="Memory.judgment_status",
)

FAMILY = Family(name="judgments", verbs=(ADD, LIST, COLLECT, GRADE, STATUS))
