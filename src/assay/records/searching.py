"""A search: the request, what each channel offered, the results, and the explanation of every score.

`SearchRequest` goes in, `SearchResult` comes out, or a `PackedContext` within a token budget. A `Hit` is one memory;
its `Explanation` holds every number that made its score, and `Explanation.recompute` computes the score from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.errors import BadValue
from assay.records import values
from assay.records.answers import FolderMode
from assay.records.evidence import Origin
from assay.records.facts import OutdatedFact
from assay.records.fields import allow, one_of, require
from assay.records.memory import Author, Tier

MAX_QUERY = 100_000
"""Characters in one query."""
MAX_RESULTS = 1_000
ORDINARY_MEAN, ORDINARY_DEVIATION, ORDINARY_PASSAGES = 0.1, 0.12, 100
"""Cosines of an ordinary store with a question. They count as much as this many passages of the store that is
searched: the few passages of a small store say little about their own spread."""
LARGEST_LOG_ODDS = 30.0
"""Log-odds beyond this make no difference to a probability that anybody reads."""


class Channel(StrEnum):
    """One way of finding passages."""

    VECTOR = "vector"
    FTS5 = "fts5"
    """Precise full text: phrases, all terms, prefixes. On PostgreSQL too it keeps this name."""
    BM25 = "bm25"
    GRAPH = "graph"
    TRIGGER = "trigger"

    @classmethod
    def _missing_(cls, value: object) -> Channel | None:
        """Find a channel that was added; a package's is loaded now."""
        name = str(value)
        if name not in _ADDED and name.isascii() and _LOADERS:
            _LOADERS[0](name)
        return _ADDED.get(name)


_BUILTIN = tuple(Channel)
_ADDED: dict[str, Channel] = {}
"""Channels that packages and programs added. Iterating over `Channel` gives the built-in ones only."""
_LOADERS: list[Callable[[str], object]] = []


def add_channel(name: str) -> Channel:
    """Make a channel beside the built-in ones, or return the one that has the name."""
    if name in Channel._value2member_map_ or name in _ADDED:
        return _ADDED.get(name) or Channel(name)
    # An enum cannot grow. This is how the enums of the standard library make members that were not declared.
    member = str.__new__(Channel, name)
    member._name_, member._value_ = name, name
    return _ADDED.setdefault(name, member)


def load_channels_by(loader: Callable[[str], object]) -> None:
    """Say what looks for a channel whose name is not known yet."""
    _LOADERS[:] = [loader]


def in_channel_order(channels: Iterable[Channel]) -> list[Channel]:
    """Return channels as they are listed everywhere: the built-in ones in their order, then the others by name."""
    given = set(channels)
    builtin = [channel for channel in _BUILTIN if channel in given]
    return builtin if len(builtin) == len(given) else [*builtin, *sorted(given.difference(_BUILTIN))]


MATCH_TRIGGERS = "memory_match_triggers"
"""How the search log names matching of trigger phrases on every surface: a text that was matched is not a question."""
TRIGGER_TOOLS = frozenset({MATCH_TRIGGERS, "match_triggers"})
"""The same, and how a program in Python that uses the searcher itself is named."""


class Mode(StrEnum):
    """How much work a search may do."""

    QUICK = "quick"
    FOCUSED = "focused"
    DEEP = "deep"
    AUTO = "auto"
    """Chosen from the query; what was chosen is in the result."""


class Intent(StrEnum):
    """What a query is after; it sets the fusion weights."""

    ADD_FEATURE = "add_feature"
    FIX_BUG = "fix_bug"
    REFACTOR = "refactor"
    SECURITY_AUDIT = "security_audit"
    UNDERSTAND = "understand"
    FIND_SPEC = "find_spec"
    FIND_DECISION = "find_decision"


class FusionMethod(StrEnum):
    """How the channels' lists become one. A score of one method means nothing on the scale of the other."""

    CONVEX = "convex"
    RRF = "rrf"


class Pressure(StrEnum):
    """How much of the caller's token budget is already spent."""

    NONE = "none"
    LOW = "low"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Which memories may be returned. Constitutional memories are pinned regardless of filters."""

    folder: str | None = None
    """The folder and everything below it."""
    tiers: tuple[Tier, ...] = ()
    tags: tuple[str, ...] = ()
    """Every one of them."""
    entity_type: str | None = None
    context_type: str | None = None
    since: datetime | None = None
    """Valid from this moment or later."""
    until: datetime | None = None
    """Valid from before this moment."""
    as_of: datetime | None = None
    """What was current then: valid from before, and not yet superseded."""
    include_superseded: bool = False

    def __post_init__(self) -> None:
        allow(self, values.short_label, "folder")
        if isinstance(self.tiers, str):
            raise BadValue(f"tiers {self.tiers!r} is not a list of tiers", remedy="Give a tuple of tiers.")
        object.__setattr__(self, "tiers", tuple(one_of(Tier)(tier, "tiers") for tier in self.tiers))
        require(self, values.labels, "tags")
        allow(self, values.label, "entity_type", "context_type")
        allow(self, values.moment, "since", "until", "as_of")
        require(self, values.flag, "include_superseded")
        if self.since and self.until and self.since >= self.until:
            raise BadValue(
                f"since {self.since.isoformat()} is not before until {self.until.isoformat()}",
                remedy="Give the earlier moment as since.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRequest:
    """One question to the memory."""

    query: str
    k: int = 10
    mode: Mode = Mode.AUTO
    intent: Intent | None = None
    """None: the classifier decides."""
    filters: Filters = field(default_factory=Filters)
    folder_mode: FolderMode = FolderMode.OFF
    channels: tuple[Channel, ...] | None = None
    """None: those of the mode."""
    previous_query: str | None = None
    """The question before this one in the same conversation: its words and its meaning count a little, so that "and
    how much is it?" finds what the conversation is about."""
    session_id: str | None = None
    working_memory: tuple[str, ...] = ()
    """Memories that the caller holds already, as if the session's last search had given them."""
    without: tuple[str, ...] = ()
    """Flags that this one search does without, so that it can be compared with one that has them."""
    token_budget: int | None = None
    """At most this many tokens of text in the hits, less those that are used already."""
    tokens_used: int = 0
    """How many tokens of its budget the caller's context already holds."""
    context_type: str | None = None
    """What the caller works on; memories of that type are raised a little."""
    relevant_only: bool = False
    """Leave out results below the relevance cut, instead of always returning k."""
    min_relevance: float | None = None
    """Leave out results whose relevance is lower, 0 to 1; None: leave none out for it."""
    explain: bool = False
    origin: Origin = Origin.USE
    tool_name: str = "search"

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", values.text(self.query, "query", longest=MAX_QUERY, empty=False))
        if self.previous_query is not None:
            previous = values.text(self.previous_query, "previous_query", longest=MAX_QUERY, empty=False)
            object.__setattr__(self, "previous_query", previous)
        require(self, values.count, "k", "tokens_used")
        if not 1 <= self.k <= MAX_RESULTS:
            raise BadValue(f"k {self.k} is not from 1 to {MAX_RESULTS}", remedy=f"Ask for 1 to {MAX_RESULTS} results.")
        require(self, one_of(Mode), "mode")
        allow(self, one_of(Intent), "intent")
        require(self, one_of(FolderMode), "folder_mode")
        require(self, one_of(Origin), "origin")
        allow(self, values.short_label, "session_id")
        require(self, values.labels, "working_memory", "without")
        allow(self, values.label, "context_type")
        require(self, values.short_label, "tool_name")
        allow(self, values.count, "token_budget")
        if self.tokens_used and self.token_budget is None:
            raise BadValue(
                f"tokens_used is {self.tokens_used:,}, but no token_budget says of how many",
                remedy="Give the token_budget of your context too, or leave tokens_used out.",
            )
        require(self, values.flag, "explain", "relevant_only")
        allow(self, values.share, "min_relevance")
        if self.channels is not None:
            chosen = tuple(dict.fromkeys(one_of(Channel)(channel, "channels") for channel in self.channels))
            if not chosen:
                raise BadValue("channels is empty", remedy="Name at least one channel, or leave it out.")
            object.__setattr__(self, "channels", chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """The rank and score of one passage in one channel."""

    channel: Channel
    rank: int
    """From 1."""
    score: float
    """On the channel's own scale."""
    scaled: float
    """On the scale fusion adds up: 0 to 1 for convex, 1 / (60 + rank) for RRF."""
    weight: float

    @property
    def contribution(self) -> float:
        """What it adds to the fused score."""
        return self.weight * self.scaled


@dataclass(frozen=True, kw_only=True, slots=True)
class Boost:
    """One factor on a memory's score, always within its stated bounds."""

    name: str
    factor: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PassageScore:
    """The fused score of one passage and the votes that make it up."""

    position: int
    votes: tuple[Vote, ...]
    fused: float

    def sum_votes(self) -> float:
        """Return the weighted sum of the votes."""
        return math.fsum(vote.weight * vote.scaled for vote in self.votes)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrustMove:
    """Why trust moved a result: a program's note is ranked below a person's note that it contradicts."""

    raised: bool
    """Brought up above the program's note that contradicts it; otherwise held below the person's note."""
    from_rank: int | None
    """The rank it had before; None: no channel found it."""
    other_id: str
    """The other note of the two."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FactMove:
    """Why a result stands above its score: it states what holds now, and the other what held before."""

    from_rank: int
    """The rank it had before."""
    other_id: str
    """The older note."""
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HopStep:
    """One step of a question in several steps: a fact about something, and what it leads to."""

    hop: int
    """0 for a fact about what the question names, 1 for a fact about its value, 2 for the next."""
    from_rank: int | None
    """The rank it had before; None: no channel found it."""
    about: str
    leads_to: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RelevanceClue:
    """One clue to the relevance of a hit."""

    name: str
    """`best_share`, `standing`, `words`, `title` or `trigger`."""
    value: float
    weight: float
    """What one unit of the clue adds to the log-odds."""

    @property
    def contribution(self) -> float:
        """What it adds to the log-odds."""
        return self.weight * self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class RelevanceReason:
    """How the relevance of a hit came about: clues add up to log-odds, and these are a probability."""

    profile: str
    """`meaning`, or `words` where no cosine of the fitted embedder was compared."""
    bias: float
    """The log-odds before any clue."""
    clues: tuple[RelevanceClue, ...]

    def recompute(self) -> float:
        """Compute the relevance from the numbers above."""
        odds = self.bias + math.fsum(clue.contribution for clue in self.clues)
        return 1.0 / (1.0 + math.exp(-min(max(odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Where a hit's score comes from: votes add up to passages, passages to the memory, boosts multiply."""

    method: FusionMethod
    passages: tuple[PassageScore, ...]
    """Best first, ties in document order."""
    aggregated: bool
    """Whether further passages add to the best one."""
    coefficient: float
    """What a further passage is worth (MPAB)."""
    boosts: tuple[Boost, ...]
    bound: float
    """No set of boosts moves the factor outside 1 / bound to bound."""
    scale: float
    """The highest fused score possible; divides, so that a shown score lies in 0 to 1."""
    score: float
    floor: float = 0.0
    """What a further passage has to be above to count."""
    reranked_from: int | None = None
    """The rank before reranking; None when nothing reranked."""
    rerank_score: float | None = None
    """What the cross-encoder gave, from 0 to 1; None when none looked at it."""
    trust: TrustMove | None = None
    """Why it was held below a person's note or raised above a program's; None when trust did not move it."""
    served_last_from: int | None = None
    """The rank it would have if it were not deprecated; None when it is not."""
    current_fact: FactMove | None = None
    """Why it was put above an older note on the same topic; None when it was not."""
    step: HopStep | None = None
    """Its place in a chain of facts that answers a question in several steps; None when it is in none."""
    relevance: RelevanceReason | None = None
    """How the hit's relevance came about; None when it is not known."""

    def recompute(self) -> float:
        """Compute the score from the numbers above."""
        base, rest = (
            self.passages[0].sum_votes(),
            [max(passage.sum_votes() - self.floor, 0.0) for passage in self.passages[1:]],
        )
        if self.aggregated and rest:
            base += self.coefficient * math.fsum(rest) / math.sqrt(len(self.passages))
        return self._scale_score(base)

    def passage_scores(self) -> dict[int, float]:
        """What each passage would score as a memory of its own, by position: by these, passages of all hits compare."""
        return {passage.position: self._scale_score(passage.fused) for passage in self.passages}

    def _scale_score(self, base: float) -> float:
        factor = math.prod(boost.factor for boost in self.boosts)
        factor = min(max(factor, 1.0 / self.bound), self.bound)
        return min(max(base / self.scale * factor, 0.0), 1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class HitPassage:
    """One passage of a hit, verbatim from the document."""

    position: int
    text: str
    heading_path: str
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Another memory that contradicts this one, and its author."""

    memory_id: str
    author: Author


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One memory that was found."""

    memory_id: str
    rank: int
    score: float
    title: str
    passages: tuple[HitPassage, ...]
    """Those that matched, in document order."""
    best_position: int
    """The position of the passage that matched best."""
    tier: Tier
    folder: str
    rel_path: str
    tags: tuple[str, ...]
    channels: tuple[Channel, ...]
    """Which found it; none when it was brought in because a result contradicts it."""
    updated_at: datetime
    author: Author
    """Who wrote it, and whether a person or a program."""
    contradicts: tuple[Contradiction, ...] = ()
    """Current memories that it was saved against, at most 10."""
    contradicted_by: tuple[Contradiction, ...] = ()
    """Current memories that were saved against it, at most 10."""
    outdated: tuple[OutdatedFact, ...] = ()
    """What it states that holds no longer, and what holds instead."""
    superseded_at: datetime | None = None
    relevance: float | None = None
    """The probability that it is relevant, fitted on labelled searches; None: not known, as under rank fusion."""
    explanation: Explanation | None = None

    @property
    def text(self) -> str:
        """The passages in document order."""
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def tokens(self) -> int:
        """Of all passages together."""
        return sum(passage.tokens for passage in self.passages)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldBack:
    """A result named without its text, because the session was given the text a few searches ago."""

    memory_id: str
    title: str
    score: float
    tokens: int
    """Of the passages that were not given again."""
    given_by: str | None = None
    """The search that returned it; None: the caller reported having it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pinned:
    """A constitutional memory: with every result, outside ranking and filters."""

    memory_id: str
    title: str
    body: str
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One step of a search."""

    name: str
    """`folder-choice`, `candidate`, `filter`, `fusion`, `aggregate`, `boost`, `rerank`, `trust`, `final-rank`,
    `fallback`."""
    duration_ms: float
    inputs: int
    outputs: int
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Telemetry:
    """How the search went, in the terms that dashboards keep. A health number is not a measure of relevance."""

    total_latency_ms: float
    embedding_latency_ms: float
    candidate_latency_ms: float
    fusion_latency_ms: float
    rerank_latency_ms: float
    boost_latency_ms: float
    selected_mode: Mode
    mode_override_applied: bool
    pressure_level: Pressure
    """How full the caller's context was; a fuller one is searched with less work."""
    token_usage_ratio: float | None
    """The share of the token budget that was used before the search, 0 to 1; None: no budget was given."""
    fallback_triggered: bool
    fallback_reason: str | None
    degraded_mode_active: bool
    result_count: int
    avg_relevance_score: float | None
    """None: nothing was returned."""
    top_result_score: float | None
    boost_impact_delta: float | None
    """The mean of final minus unboosted score over the hits."""
    extraction_count_in_session: int
    quality_proxy_score: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CosineSpread:
    """How near a query is to the passages it may find as a whole: what a single cosine is held against."""

    mean: float
    deviation: float
    """The standard deviation; 0 for a single passage."""
    passages: int
    """How many were compared: all of them, or an even sample of a large store."""

    def standing_of(self, cosine: float) -> float:
        """By how many standard deviations a cosine is above those of the whole store.

        A vague question is a little like everything; a passage answers when it is nearer than that.
        """
        mean, deviation = self.with_prior()
        return (cosine - mean) / deviation

    def with_prior(self) -> tuple[float, float]:
        """The mean and the standard deviation that a cosine is held against: those of few passages say little."""
        count, prior = self.passages, ORDINARY_PASSAGES
        mean = (count * self.mean + prior * ORDINARY_MEAN) / (count + prior)
        of_store = count * (self.deviation**2 + (self.mean - mean) ** 2)
        of_prior = prior * (ORDINARY_DEVIATION**2 + (ORDINARY_MEAN - mean) ** 2)
        return mean, math.sqrt((of_store + of_prior) / (count + prior))


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """What a search returns."""

    query_id: str
    trace_id: str
    hits: tuple[Hit, ...]
    pinned: tuple[Pinned, ...]
    mode: Mode
    intent: Intent
    fusion: FusionMethod
    weights: Mapping[str, float]
    stages: tuple[Stage, ...]
    telemetry: Telemetry
    degraded: tuple[str, ...] = ()
    """Why a channel that should have been searched was not, one sentence each."""
    excluded_folders: tuple[str, ...] = ()
    """What folder choice left out."""
    chosen_folders: tuple[str, ...] | None = None
    """None: the search was not narrowed."""
    cold_start: bool = False
    """The session has no history yet."""
    held_back: tuple[HeldBack, ...] = ()
    """Results whose text the session still has in view, best first: named, not given again."""
    tokens_saved: int = 0
    """By not giving them again."""
    below_cut: int = 0
    """Results left out because they were below the relevance cut; 0 unless only relevant results were requested."""
    cosines: CosineSpread | None = None
    """The query's cosines with all passages; None: no explanation was requested, or no vector was compared."""
    below_threshold: int = 0
    """Results left out because the cross-encoder scored them below `rerank.threshold`."""
    min_relevance: float | None = None
    """The relevance below which results were left out; None: none was left out for it."""
    below_relevance: int = 0
    """Results among the first k left out because their relevance was lower than `min_relevance`."""
    beyond_budget: int = 0
    """Results left out because the token budget was full before them."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    @property
    def ids(self) -> tuple[str, ...]:
        """The memories found, best first."""
        return tuple([hit.memory_id for hit in self.hits])


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedContext:
    """What to have in view for a task: constitutional memories first, then what is relevant of a search."""

    query_id: str
    pinned: tuple[Pinned, ...]
    hits: tuple[Hit, ...]
    held_back: tuple[HeldBack, ...]
    """What is relevant too and whose text this session was given a few searches ago."""
    below_cut: int
    """Results left out because they are hardly related to the question."""
    tokens: int
    """Of the pinned memories and the hits together."""
    token_budget: int
    tokens_used: int
    """Of the budget, before this context was packed."""
    over_budget: int
    """Tokens above the budget: not 0 only when what must be given is more than what is left of the budget."""
    mode: Mode
    """How much work the search did; token pressure lowers it."""
    pressure_level: Pressure
    token_usage_ratio: float
    """The share of the budget that was taken before the search, by `tokens_used` and the constitutional memories."""
    degraded: tuple[str, ...]
    """Why a channel that should have been searched was not, one sentence each."""


def channels_of(votes: Sequence[Vote]) -> tuple[Channel, ...]:
    """Which channels voted, each once, in the order of the votes."""
    return tuple(dict.fromkeys(vote.channel for vote in votes))
