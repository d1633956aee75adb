"""Verbs on learning from use: how it stands, learn now, terms, changes, approve, take back."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from assay.access import acts
from assay.records.learning import CaughtUp, LearnedTerms, LearningChanges, LearningStatus, RolledBack
from assay.verbs.fields import NAME, Moment
from assay.verbs.paging import PageCursor, PageLimit, cut_page, read_cursor, row_number
from assay.verbs.verb import Caller, Family, HttpRoute, Request, Verb

CHANGES = "learning"
"""The list that cursors of changes lead into."""
OfMemory = Annotated[
    str | None, Field(min_length=1, max_length=128, pattern=NAME, description="Of this memory. Left out: of any.")
]
Since = Annotated[Moment | None, Field(description="From this moment on. Left out: from the beginning.")]


class NothingRequest(Request):
    """Nothing: it concerns all of the tenant's learning."""


class TermsRequest(Request):
    """Whose learned terms."""

    memory_id: OfMemory = None


class ChangesRequest(Request):
    """Which changes."""

    memory_id: OfMemory = None
    since: Since = None
    cursor: PageCursor = None
    limit: PageLimit = 100


class RollBackRequest(Request):
    """What to take back: everything that is given has to hold."""

    memory_id: OfMemory = None
    since: Since = None
    writer: Annotated[
        str | None, Field(min_length=1, max_length=500, description="By this principal. Left out: by anybody.")
    ] = None

    @model_validator(mode="after")
    def check_something_is_given(self) -> Self:
        """Refuse a request that would take back everything."""
        if self.memory_id is None and self.since is None and self.writer is None:
            raise ValueError("give a memory_id, a moment (since) or a writer")
        return self


def show_status(caller: Caller, request: NothingRequest) -> LearningStatus:  # noqa: ARG001 - one shape for all verbs
    """Return how learning stands."""
    return caller.engine.learning.standing(caller.scope)


def learn(caller: Caller, request: NothingRequest) -> CaughtUp:  # noqa: ARG001 - one shape for all verbs
    """Learn from what was recorded since the last time."""
    return caller.engine.learning.catch_up(caller.scope)


def list_terms(caller: Caller, request: TermsRequest) -> LearnedTerms:
    """Return learned terms with their state."""
    return LearnedTerms(terms=tuple(caller.engine.learning.terms(caller.scope, request.memory_id)))


def list_changes(caller: Caller, request: ChangesRequest) -> LearningChanges:
    """Return one page of what learning did to memories."""
    after = read_cursor(CHANGES, request.cursor, row_number, 0)
    rows = caller.engine.learning.changes(
        caller.scope, memory_id=request.memory_id, since=request.since, after=after, limit=request.limit + 1
    )
    shown, following = cut_page(CHANGES, rows, request.limit, lambda change: change.id)
    return LearningChanges(changes=tuple(shown), next_cursor=following)


def approve(caller: Caller, request: NothingRequest) -> LearningStatus:  # noqa: ARG001 - one shape for all verbs
    """Let learned terms into memories."""
    return caller.engine.learning.approve(caller.scope)


def roll_back(caller: Caller, request: RollBackRequest) -> RolledBack:
    """Take back votes, promotions and learned terms."""
    # Needs the store, which a client of another machine's server does without.
    from assay.memory.learning import Which  # noqa: PLC0415

    which = Which(memory_id=request.memory_id, since=request.since, writer=request.writer)
    return caller.engine.learning.roll_back(caller.scope, which)


STATUS = Verb(
    name="learning.status",
    summary="Show the state of learning: what is on, what was learned, and what keeps it from being applied.",
    act=acts.LEARNING_READ,
    request=NothingRequest,
    result=LearningStatus,
    call=show_status,
    http=HttpRoute("GET", "/api/learning"),
    command="learn status",
    client="learning",
    python="Memory.learning",
)
RUN = Verb(
    name="learning.run",
    summary="Learn from what was recorded since the last time; a running program does so by itself.",
    act=acts.LEARNING_CHANGE,
    request=NothingRequest,
    result=CaughtUp,
    call=learn,
    http=HttpRoute("POST", "/api/learning/run", (409,)),
    command="learn run",
    client="learn",
    python="Memory.learn",
)
TERMS = Verb(
    name="learning.terms",
    summary="List learned terms with their state.",
    act=acts.LEARNING_READ,
    request=TermsRequest,
    result=LearnedTerms,
    call=list_terms,
    http=HttpRoute("GET", "/api/learning/terms"),
    command="learn terms",
    client="learned_terms",
    python="Memory.learned_terms",
)
LIST_CHANGES = Verb(
    name="learning.changes",
    summary="List what learning did to memories, oldest first, page by page.",
    act=acts.LEARNING_READ,
    request=ChangesRequest,
    result=LearningChanges,
    call=list_changes,
    http=HttpRoute("GET", "/api/learning/changes"),
    command="learn changes",
    client="learning_changes",
    python="Memory.learning_changes",
)
APPROVE = Verb(
    name="learning.approve",
    summary="Let learned terms into memories; refused while anything else is missing.",
    act=acts.LEARNING_CHANGE,
    request=NothingRequest,
    result=LearningStatus,
    call=approve,
    http=HttpRoute("POST", "/api/learning/approve", (409,)),
    command="learn approve",
    client="approve_learning",
    python="Memory.approve_learning",
)
ROLL_BACK = Verb(
    name="learning.roll_back",
    summary="Take back votes, promotions and learned terms: of a memory, from a moment on, by a writer.",
    act=acts.LEARNING_CHANGE,
    request=RollBackRequest,
    result=RolledBack,
    call=roll_back,
    http=HttpRoute("POST", "/api/learning/rollback", (404, 409)),
    command="learn rollback",
    client="roll_back_learning",
    python="Memory.roll_back_learning",
)

FAMILY = Family(name="learning", verbs=(STATUS, RUN, TERMS, LIST_CHANGES, APPROVE, ROLL_BACK))
