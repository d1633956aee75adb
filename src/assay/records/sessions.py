"""Sessions and the tasks done in them: an agent's self-assessment before and after a task, and summaries of sessions.

`SessionQuery` is what the session metrics read. `TaskReport` comes in twice, before a task and after it; `TaskRecord`
is what is kept of both, and `TaskRecord.change` the one place where the difference is computed. `SessionSummary` joins
the searches of a session with what was read, what was validated and how its task ended. `SearchPage` is a page of the
log of searches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum

from assay.errors import BadValue
from assay.records import values
from assay.records.evidence import LoggedQuery, Origin
from assay.records.fields import allow, one_of, require

_MEASURED = ("knowledge", "uncertainty", "context")


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionQuery:
    """What one search returned, what it should have, and whether the session had a history."""

    ranking: tuple[str, ...]
    relevant: frozenset[str]
    cold: bool
    """The first query of a new session: no working memory yet."""

    def __post_init__(self) -> None:
        require(self, values.labels, "ranking")
        require(self, values.flag, "cold")


class TaskOutcome(StrEnum):
    """How a task ended, as whoever did it says."""

    DONE = "done"
    FAILED = "failed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskReport:
    """An agent's self-assessment before or after a task; each number from 0 to 1."""

    task_id: str
    knowledge: float
    """The share of the knowledge needed for the task that the agent has."""
    uncertainty: float
    """How unsure the agent is about that knowledge."""
    context: float
    """How much of what surrounds the task (files, decisions, people) it has in view."""
    session_id: str | None = None
    """The session whose searches belong to the task. If given before the task, it can be left out after it."""
    folder: str = ""
    goal: str = ""
    """What is to be done. Before only."""
    result: str = ""
    """How it ended, in words. After only."""
    outcome: TaskOutcome | None = None
    """How it ended. After only; None: not said, and what an earlier report of the task said stays."""
    useful: tuple[str, ...] = ()
    """Memories that helped. After only."""
    not_useful: tuple[str, ...] = ()
    """Memories that did not. After only."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "task_id")
        require(self, values.share, *_MEASURED)
        allow(self, values.short_label, "session_id")
        require(self, values.optional_short_label, "folder")
        require(self, values.optional_label, "goal", "result")
        allow(self, one_of(TaskOutcome), "outcome")
        require(self, values.identifiers, "useful", "not_useful")
        both = sorted({*self.useful} & {*self.not_useful})
        if both:
            raise BadValue(f"{both[0]} is called useful and not useful", remedy="List it as one of the two.")


@dataclass(frozen=True, slots=True)
class TaskChange:
    """What a task changed, by the agent's own numbers; each from -1 to 1, and more is better."""

    knowledge_delta: float
    uncertainty_reduction: float
    context_gain: float
    learning_index: float
    """The mean of the three: nothing is known that would weigh one above another."""
    duration_minutes: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRecord:
    """A stored task. The assessment after the task is None until it is given."""

    task_id: str
    session_id: str | None = None
    folder: str = ""
    goal: str = ""
    knowledge_before: float
    uncertainty_before: float
    context_before: float
    begun_at: datetime
    knowledge_after: float | None = None
    uncertainty_after: float | None = None
    context_after: float | None = None
    ended_at: datetime | None = None
    result: str = ""
    outcome: TaskOutcome | None = None
    """None: it has not ended, or nobody said how."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "task_id")
        allow(self, values.short_label, "session_id")
        require(self, values.optional_short_label, "folder")
        require(self, values.optional_label, "goal", "result")
        require(self, values.share, *(f"{name}_before" for name in _MEASURED))
        allow(self, values.share, *(f"{name}_after" for name in _MEASURED))
        require(self, values.moment, "begun_at")
        allow(self, values.moment, "ended_at")
        allow(self, one_of(TaskOutcome), "outcome")

    @property
    def change(self) -> TaskChange | None:
        """What it changed; None while it has not ended."""
        if (
            self.knowledge_after is None
            or self.uncertainty_after is None
            or self.context_after is None
            or self.ended_at is None
        ):
            return None
        better = (
            self.knowledge_after - self.knowledge_before,
            self.uncertainty_before - self.uncertainty_after,
            self.context_after - self.context_before,
        )
        # A clock that was set back makes no negative durations.
        minutes = max(0.0, (self.ended_at - self.begun_at).total_seconds() / 60)
        return TaskChange(*better, math.fsum(better) / len(better), minutes)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionMemory:
    """One memory as a session met it."""

    memory_id: str
    title: str | None
    """None: the memory is no longer there."""
    shown: int
    """Number of results that contained it."""
    read: bool
    """Whether it was opened, or its words were used."""
    useful: bool | None
    """The last verdict of this session; None: there is none yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SummarisedQuery:
    """One search of a session with what came of it."""

    query_id: str
    query: str
    asked_at: datetime
    intent: str | None
    result_ids: tuple[str, ...]
    selected_ids: tuple[str, ...]
    """Read or used after this search."""
    validated: tuple[tuple[str, bool], ...]
    """Memories with the verdict that was tied to this search."""
    searched_again: bool
    """A later search was for the same need, and nothing had been used before it."""
    pressure_level: str | None
    """How full the caller's context was: `none`, `low`, `high` or `critical`. None: not known."""
    tokens_saved: int | None
    """By not giving again what the session had. None: not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionTotals:
    """The numbers of a session."""

    total_searches: int
    total_memories_accessed: int
    """Distinct memories that were read or used."""
    avg_mrr: float | None
    """Over the searches that were judged; None when none was."""
    re_search_rate: float | None
    """The share of searches that were repeated; None without searches."""
    needs: int
    """What was searched for: searches that repeat an earlier one in vain are for the same need."""
    searches_per_need: float | None
    """Searches that a need took: 1 when the first one always was enough, more with friction; None without searches."""
    session_duration_minutes: float
    """From the first thing known of the session to the last."""
    memories_given: int
    tokens_saved: int
    held_back: int
    """Results that were not given again, because the session had them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentSession:
    """One session in a list."""

    session_id: str
    searches: int
    began_at: datetime
    last_at: datetime
    re_searches: int = 0
    """Searches that were repeated because nothing they returned was used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentSessions:
    """One page of sessions, those with the newest searches first."""

    sessions: tuple[RecentSession, ...]
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchLine:
    """A logged search in a list: without what each channel offered and how it was fused."""

    query_id: str
    query: str
    tool_name: str
    origin: Origin
    created_at: datetime
    mode: str | None
    intent: str | None
    session_id: str | None
    result_ids: tuple[str, ...]
    total_latency_ms: float | None
    quality_proxy_score: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchPage:
    """One page of the log of searches, newest first."""

    searches: tuple[SearchLine, ...]
    next_cursor: str | None
    """What to give as `cursor` for the next page; None on the last page."""


def search_line(query: LoggedQuery) -> SearchLine:
    """Return a logged search as a list shows it."""
    return SearchLine(**{field.name: getattr(query, field.name) for field in fields(SearchLine)})


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionSummary:
    """What happened in one session."""

    session_id: str
    began_at: datetime
    queries: tuple[SummarisedQuery, ...]
    """Oldest first."""
    memories: tuple[SessionMemory, ...]
    """Those that were read first, then by how often they were shown."""
    tasks: tuple[TaskRecord, ...]
    totals: SessionTotals


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEnded:
    """A task after its postflight."""

    task: TaskRecord
    change: TaskChange
    validated: int
    """Verdicts that came with the report and were new."""
    to_validate: tuple[SessionMemory, ...]
    """What the session read and has given no verdict on: for one batch of validations."""


MEASURE_TITLES = {
    "used": "searches with something used",
    "first_used": "reciprocal rank of the first used",
    "asked_again": "searches asked again",
    "quality_proxy": "quality proxy (pipeline health)",
}
"""The measures of a task's searches, as tables name them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupMeasure:
    """The mean of a measure over the tasks of a group that have it."""

    measure: str
    """`used`: share of a task's searches of which a result was used. `first_used`: reciprocal rank of the first result
    used, over those searches. `asked_again`: share of searches that were repeated. `quality_proxy`: pipeline health."""
    mean: float
    tasks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskGroup:
    """Tasks that ended alike, and how well their searches went."""

    name: str
    tasks: int
    searched: int
    """Tasks with at least one search."""
    searches: int
    measures: tuple[GroupMeasure, ...]
    """Measures that no task of the group has are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupDifference:
    """How a measure differs between the first group and the second."""

    measure: str
    difference: float
    """First minus second."""
    low: float | None
    """The intervals of all measures hold together at 95 %. None: too few tasks, or nothing varies."""
    high: float | None
    tasks: tuple[int, int]
    """Tasks of each group that have the measure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupComparison:
    """Groups of tasks, and how the first two differ in their searches."""

    by: str
    """`outcome`: as reported. `learning`: by whether the learning index is above 0."""
    groups: tuple[TaskGroup, ...]
    differences: tuple[GroupDifference, ...]
    conclusion: str
    """What the numbers say, in a sentence; also that they are too few."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOutcomes:
    """Whether tasks that went well had better searches."""

    ended: int
    """Ended tasks that were looked at, the newest first."""
    without_outcome: int
    """Those of which nobody said how they ended."""
    without_searches: int
    comparisons: tuple[GroupComparison, ...]
    caution: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFile:
    """A file outside the database that holds rows of it: erasing must look there too."""

    path: str
    kind: str
    """`archive`, or the name of what else wrote it, such as `export`."""
    noted_at: datetime

    def __post_init__(self) -> None:
        require(self, values.label, "path")
        require(self, values.identifier, "kind")
        require(self, values.moment, "noted_at")
