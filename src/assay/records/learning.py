"""Learning from use: what was seen of results, what a validation did, what a memory learned and from whom.

`Observation` and a validation go in, `Observed` and `Validated` come out. `LearnedTerm` is one word that a memory
learned, with its state; `LearningChange` one change that learning made to a memory, enough to undo it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.errors import BadValue
from assay.records import values
from assay.records.checked import allow, one_of, require
from assay.records.evidence import FeedbackEvent
from assay.records.memory import Tier

MAX_OBSERVED = 1_000_000
"""Characters of one text that an agent wrote."""


class Safeguard(StrEnum):
    """The ten rules that stand between use and a learned trigger."""

    DENYLIST = "denylist"
    RATE = "rate"
    TTL = "ttl"
    FULL_TEXT = "full_text"
    TOP_THREE = "top_three"
    ROLLBACK = "rollback"
    AUDIT = "audit"
    SHADOW = "shadow"
    AGE = "age"
    GATE = "gate"


class TermState(StrEnum):
    """Where a learned term stands."""

    SHADOW = "shadow"
    """Learned, and in no memory: only the log knows what it would have done."""
    APPLIED = "applied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """Taken back by a rollback."""


class ChangeKind(StrEnum):
    """What learning did to a memory."""

    VOTE = "vote"
    PROMOTE = "promote"
    APPLY = "apply"
    EXPIRE = "expire"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What an agent was seen doing in a session: it read a memory (by id or path), or it wrote a text."""

    session_id: str
    memory_id: str | None = None
    path: str | None = None
    wrote: str | None = None
    event_key: str | None = None
    """Whoever sends it may name it: what was sent before under that name counts once. None: made from what was seen."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "session_id")
        allow(self, values.identifier, "memory_id")
        allow(self, values.label, "path")
        if self.wrote is not None:
            values.text(self.wrote, "wrote", longest=MAX_OBSERVED)
        if self.event_key is not None:
            values.text(values.identifier(self.event_key, "event_key"), "event_key", longest=100)
        if sum(one is not None for one in (self.memory_id, self.path, self.wrote)) != 1:
            raise BadValue(
                "an observation says one thing: a memory or a path that was read, or a text that was written",
                remedy="Give exactly one of memory_id, path and wrote.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """What an observation came to. Without events, it had nothing to do with what the session was given."""

    events: tuple[FeedbackEvent, ...] = ()
    new: int = 0
    repeated: int = 0
    """Events that had been recorded before, and were not counted again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedEvents:
    """What several observations came to."""

    recorded: tuple[Observed, ...]
    """For each what followed from it, in their order."""
    new: int
    repeated: int
    """Counted before under the same event key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Validated:
    """What a validation did."""

    memory_id: str
    was_useful: bool
    event_key: str
    repeated: bool
    """It had been recorded before; nothing was counted again."""
    counted: int
    """How many votes count now that did not before: 0 where one voice is heard often enough."""
    confidence_before: float
    confidence: float
    validation_count: int
    tier_before: Tier
    tier: Tier
    query_id: str | None
    """The session's newest query that returned it; None where none did."""
    rank: int | None
    reason: str = ""
    """Why nothing was counted; empty when something was."""

    @property
    def promoted(self) -> bool:
        """Whether it rose to another tier."""
        return self.tier is not self.tier_before


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRating:
    """What the rating of an answer did to each memory that the answer cites."""

    log_id: str
    was_useful: bool
    memories: tuple[Validated, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedTerm:
    """One word that a memory learned from the queries it was chosen for."""

    memory_id: str
    term: str
    state: TermState
    learned_at: datetime
    applied_at: datetime | None = None
    ended_at: datetime | None = None
    writer: str = ""
    """Whose choice completed the evidence."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "memory_id")
        require(self, values.short_label, "term")
        require(self, one_of(TermState), "state")
        require(self, values.moment, "learned_at")
        allow(self, values.moment, "applied_at", "ended_at")
        require(self, values.optional_label, "writer")


@dataclass(frozen=True, kw_only=True, slots=True)
class TermEvidence:
    """One session in which a memory was chosen for a query that holds the term."""

    memory_id: str
    term: str
    session_id: str
    principal: str
    query_id: str
    rank: int
    at: datetime

    def __post_init__(self) -> None:
        require(self, values.identifier, "memory_id", "query_id")
        require(self, values.short_label, "term", "session_id")
        require(self, values.label, "principal")
        require(self, values.count, "rank")
        require(self, values.moment, "at")


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningChange:
    """One change that learning made to a memory: what its learned columns were, and what they became."""

    id: int = 0
    """Given by the store."""
    memory_id: str
    kind: ChangeKind
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    detail: Mapping[str, Any] = field(default_factory=dict)
    writer: str
    at: datetime
    undone_at: datetime | None = None

    def __post_init__(self) -> None:
        require(self, values.identifier, "memory_id")
        require(self, one_of(ChangeKind), "kind")
        require(self, values.json_object, "before", "after", "detail")
        require(self, values.optional_label, "writer")
        require(self, values.moment, "at")
        allow(self, values.moment, "undone_at")
