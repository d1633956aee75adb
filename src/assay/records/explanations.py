"""Why queries of a run lost their gold: what was recorded, what asking the system again showed, and what to try.

- Reasons, and changes of a query that were tried.
- One query explained.
- All lost queries of a run in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

# --- Reasons, and changes of a query that were tried ---


class LossReason(StrEnum):
    """Why a gold item is not among the first k results."""

    FOUND = "found"
    SYSTEM_FAILED = "the system failed"
    NOT_INDEXED = "not indexed"
    SEEMS_NOT_INDEXED = "seems not indexed"
    """Its own words do not find it."""
    OUT_OF_SCOPE = "filtered by scope"
    NEVER_OFFERED = "never a candidate"
    LOST_IN_FUSION = "lost in fusion"
    LOST_AFTER_FUSION = "lost in rerank or truncation"
    MISLEADING_WORD = "a word of the question leads elsewhere"
    OTHER_WORDS = "the question uses other words"
    RANKED_TOO_LOW = "ranked too low"
    BEYOND_DEPTH = "deeper than was asked for"
    """It is indexed, and not in the longest list that the system gave."""
    NOT_KNOWN = "not known"


class ProbeKind(StrEnum):
    """What a further call of the system was for."""

    DEPTH = "more results"
    OWN_WORDS = "the gold item's own words"
    WITHOUT = "without a word"
    WITH = "with a word of the gold item"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeCall:
    """One further call of the system, and where the gold items stood in its list."""

    kind: ProbeKind
    query: str
    k: int
    """How many results were asked for."""
    words: tuple[str, ...] = ()
    """Words that were left out or added."""
    about: str = ""
    """The gold item whose words were asked with; empty: all of them."""
    status: str
    returned: int
    ranks: Mapping[str, int | None] = field(default_factory=dict)
    """Where each gold item stood; None: not in the list."""
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Probing:
    """How often the system was asked again."""

    allowed: int
    """Calls at most; 0: it was not to be asked."""
    made: int = 0
    calls: tuple[ProbeCall, ...] = ()
    notes: tuple[str, ...] = ()
    """Why it was not asked or asked no further, and what differs from the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryChange:
    """A change of the query, and where the gold item then stood."""

    kind: ProbeKind
    words: tuple[str, ...]
    rank: int | None
    """None: not in the list."""


# --- One query explained ---


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownDocument:
    """One result of the run, beside the query."""

    rank: int
    id: str
    title: str = ""
    score: float | None = None
    grade: int | None = None
    """None: unjudged."""
    gold: bool = False
    in_dataset: bool = True
    """Whether the dataset has a document of that id."""
    text: str = ""
    """The part of its text with the most words of the query; empty: its text is not known."""
    common: tuple[str, ...] = ()
    """Words of the query that its text has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldExplanation:
    """What became of one gold item, and why."""

    item: str
    title: str = ""
    grade: int | None = None
    found: bool
    """Whether it is among the first k results."""
    stage: str
    """The step at which it was lost, as far as the run recorded it."""
    may_be: tuple[str, ...] = ()
    passed: Mapping[str, bool | None] = field(default_factory=dict)
    channels: Mapping[str, int | None] | None = None
    channel_scores: Mapping[str, float] = field(default_factory=dict)
    fused_rank: int | None = None
    dropped_by: str = ""
    rank: int | None = None
    """Where the run showed it; None: it did not."""
    score: float | None = None
    depth: int | None = None
    """Where it stands in the longest list that is known; None: not in it."""
    searched_to: int | None = None
    """How many results that list has; None: the system gave no list."""
    indexed: bool | None = None
    """None: not known."""
    indexed_by: str = ""
    """How that is known."""
    changes: tuple[QueryChange, ...] = ()
    """Changes of the query that were tried; those that lift it most first."""
    common: tuple[str, ...] = ()
    """Words of the query that its text has."""
    missing: tuple[str, ...] = ()
    """Words of the query that its text does not have."""
    outranked_by: tuple[ShownDocument, ...] = ()
    """The first results that came before it and are not gold."""
    reason: LossReason
    suggestion: str | None = None
    text: str = ""
    """The part of its text with the most words of the query."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueryExplanation:
    """Why a query of a run got its results."""

    run_id: str
    query_id: str
    query: str
    status: str
    failure: str = ""
    """What went wrong, where the system failed."""
    k: int
    """How far down a reader looks."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    lost: bool
    """Whether it failed, or shows fewer gold items within k than it could."""
    gold: tuple[GoldExplanation, ...] = ()
    shown: tuple[ShownDocument, ...] = ()
    """The first k results."""
    below: tuple[ShownDocument, ...] = ()
    """The next results after k."""
    stages: tuple[tuple[str, int | None, int | None], ...] = ()
    """Stages that the system reports: name, how many came in, how many went on."""
    notes: tuple[str, ...] = ()
    """What the adapter noted, such as repeated results that were dropped."""
    probing: Probing = field(default_factory=lambda: Probing(allowed=0))


# --- All lost queries of a run in a table ---


@dataclass(frozen=True, kw_only=True, slots=True)
class LostQuery:
    """One lost query in a line: its first gold item that was missed."""

    query_id: str
    query: str
    gold: str
    """Empty: the system failed, and the query has no gold item."""
    missed: int
    """Gold items that were missed."""
    of: int
    """Gold items of the query."""
    depth: int | None
    searched_to: int | None
    outranked_by: tuple[str, ...]
    """Ids, best first."""
    reason: LossReason
    remedy: str = ""
    calls: int = 0
    """Further calls that were made for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LostQueries:
    """Every lost query of a run."""

    run_id: str
    k: int
    queries: int
    """Queries that have gold items, or on which the system failed."""
    lost: tuple[LostQuery, ...]
    reasons: Mapping[str, int]
    """How many queries were lost for each reason, the most frequent first."""
    allowed: int = 0
    """Further calls at most, over all queries; 0: the system was not to be asked."""
    made: int = 0
    notes: tuple[str, ...] = ()
