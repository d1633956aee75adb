"""Learning from use: observations, validations, learned terms and evaluation cycles.

- Observations, validations and learned terms.
- The state of learning, and what a round of it or a rollback did.
- Evidence of a stored run for evaluation cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from assay.errors import BadValue
from assay.hashing import HASH_PREFIX, content_hash
from assay.records import values
from assay.records.evidence import FeedbackEvent
from assay.records.fields import allow, one_of, require
from assay.records.memory import Tier

# --- Observations, validations and learned terms ---
#
# `Observation` and a validation go in, `Observed` and `Validated` come out. `LearnedTerm` is one word that a memory
# learned, with its state; `LearningChange` one change that learning made to a memory, enough to undo it.

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
    """The state of a learned term."""

    SHADOW = "shadow"
    """Learned, and not used by any memory: the log alone records what it would have done."""
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
    """A name the sender may give: events with the same name count once. None: made from the content."""

    def __post_init__(self) -> None:
        require(self, values.short_label, "session_id")
        allow(self, values.identifier, "memory_id")
        allow(self, values.label, "path")
        if self.wrote is not None:
            values.text(self.wrote, "wrote", longest=MAX_OBSERVED)
        if self.event_key is not None:
            values.text(values.identifier(self.event_key, "event_key"), "event_key", longest=100)
        if sum(target is not None for target in (self.memory_id, self.path, self.wrote)) != 1:
            raise BadValue(
                "an observation has one of a memory that was read, a path that was read, and a text that was written",
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
    """How many votes count now that did not before: 0 where the same voter has voted often enough."""
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
    """One term that a memory learned from the queries it was chosen for."""

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


# --- How learning stands, and what a round of it or a rollback did ---


@dataclass(frozen=True, slots=True)
class Refusal:
    """The rule that excludes a learned term, and why."""

    safeguard: Safeguard
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TermNoise:
    """How many terms stand, how many of them were tried in 10 later searches, and how many of those are noise."""

    terms: int = 0
    tried: int = 0
    noisy: int = 0
    rate: float | None = None
    """The share of the tried terms; None when none was tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CycleRun:
    """A stored run, and whether it counted for an evaluation cycle."""

    run_id: str
    at: datetime
    """When it was run."""
    dataset: str
    system: str
    counted: bool
    questions: int
    """Questions that it added to a cycle."""
    reason: str
    """Why it did not count; empty if it did."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningStatus:
    """How learned triggers stand: what is on, what was learned, and what keeps it from being applied."""

    on: bool
    applying: bool
    """Whether what is learned moves results."""
    activated_at: datetime | None
    shadow_until: datetime | None
    approved_at: datetime | None
    cycles: int
    """Evaluation cycles that are complete."""
    questions: int
    """Distinct questions of this memory that stored runs measured; each counts once in each 14 days."""
    questions_needed: int
    """How many of them the next cycle takes; those of the last one once no more are needed."""
    runs: tuple[CycleRun, ...]
    """The newest stored runs, newest first: whether each counted for a cycle, and why not."""
    noise: TermNoise
    terms: Mapping[str, int]
    """How many there are in each state."""
    killed_at: datetime | None
    killed_because: str
    closed: tuple[Refusal, ...]
    """What keeps learned terms from being applied; empty when they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaughtUp:
    """What one round of learning did."""

    events: int = 0
    learned: int = 0
    applied: int = 0
    expired: int = 0
    stopped: str = ""
    """Why the kill switch stopped learning; empty if it did not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RolledBack:
    """What was taken back."""

    memories: tuple[str, ...]
    votes: int
    promotions: int
    terms: int
    """Learned terms, those in the shadow included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedTerms:
    """Terms that memories learned, in any state."""

    terms: tuple[LearnedTerm, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningChanges:
    """What learning did to memories, oldest first, what was taken back included."""

    changes: tuple[LearningChange, ...]
    next_cursor: str | None
    """Where the next page begins; None on the last."""


# --- Evidence of a stored run for evaluation cycles ---
#
# It stands in `EvalResult.metrics_json`, since cycles count distinct questions and a row of a run has only their
# number.

KEY = "cycle_evidence"
MOST_QUESTIONS = 2_000
"""Questions of one run that are kept: a cycle needs 100, and a run may have a million."""
_LENGTH = 16
UNCOMPARED = "it was stored before Assay compared its documents with this memory. Run it again."


class CycleEvidence(NamedTuple):
    """What one run counts for evaluation cycles."""

    questions: frozenset[str]
    """One short hash for each distinct question about this memory, ignoring case and spacing."""
    reason: str
    """Why the run does not count; empty if it does."""
    dataset: str
    system: str
    stored_at: datetime | None
    """When the row was stored, by the store's clock; None: not known. The run's own files may say anything."""

    @property
    def own(self) -> bool:
        """Whether the run is one of this memory, and so says something of its quality."""
        return not self.reason


def cycle_evidence(
    texts: Iterable[str], *, stored_at: datetime, reason: str = "", dataset: str = "", system: str = ""
) -> CycleEvidence:
    """Make the evidence of a run from the texts of its questions about this memory."""
    distinct = {" ".join(text.casefold().split()) for text in texts}
    kept = sorted(distinct)[:MOST_QUESTIONS]
    questions = frozenset(content_hash(text).removeprefix(HASH_PREFIX)[:_LENGTH] for text in kept)
    return CycleEvidence(questions, reason, dataset, system, stored_at)


def evidence_to_json(evidence: CycleEvidence) -> dict[str, Any]:
    """Return the part of `metrics_json` that holds the evidence."""
    at = None if evidence.stored_at is None else evidence.stored_at.isoformat()
    return {KEY: {**evidence._asdict(), "questions": sorted(evidence.questions), "stored_at": at}}


def evidence_from_json(metrics: Mapping[str, Any]) -> CycleEvidence:
    """Return the evidence of a stored run; one stored before its documents were compared counts for nothing."""
    found = metrics.get(KEY)
    if not isinstance(found, Mapping) or "stored_at" not in found:
        manifest = metrics.get("manifest") or {}
        dataset, system = str(manifest.get("dataset", "")), str(manifest.get("system", ""))
        return CycleEvidence(frozenset(), UNCOMPARED, dataset, system, None)
    return CycleEvidence(
        questions=frozenset(map(str, found["questions"])),
        reason=str(found["reason"]),
        dataset=str(found["dataset"]),
        system=str(found["system"]),
        stored_at=datetime.fromisoformat(found["stored_at"]),
    )
