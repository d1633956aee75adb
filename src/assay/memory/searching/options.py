"""Every number that steers a search, with its reason: weights, pools, bounds, strengths and caps, in one frozen value.

`SearchOptions` is what ranking reads; nothing in the modules beside it has a number of its own that moves a result.
`WEIGHTS` is the default table of fusion weights. Weights need not add up to 1: a shown score is divided by the sum of
the weights of the channels that ran.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from assay.errors import BadValue
from assay.records import Channel, FusionMethod, Intent, Mode
from assay.records import values as rules
from assay.records.fields import allow, one_of, require

Weights = Mapping[Channel, float]

BASE_WEIGHTS: Weights = MappingProxyType(
    {
        Channel.VECTOR: 0.7,
        Channel.BM25: 0.3,
        Channel.FTS5: 0.05,
        Channel.TRIGGER: 0.1,
        Channel.GRAPH: 0.05,
    }
)
"""For a query of no particular kind, and for every query when weights do not adapt."""

_SHIFTS: Mapping[Intent, Weights] = {
    Intent.FIX_BUG: {Channel.BM25: 0.35, Channel.VECTOR: 0.65},
    Intent.FIND_SPEC: {Channel.FTS5: 0.1},
    Intent.FIND_DECISION: {Channel.GRAPH: 0.1},
}
"""Weights that an intent changes: error messages are found by exact words, specifications by their terms, decisions by
what they led to. The shifts are small because they were reasoned, not measured for each kind of query."""


def weights_over(base: Weights) -> Mapping[Intent, Weights]:
    """The weights of every intent over another base: an intent shifts it in the proportion in which it shifts ours."""
    return MappingProxyType(
        {intent: MappingProxyType(_shift_weights(base, _SHIFTS.get(intent, {}))) for intent in Intent}
    )


def _shift_weights(base: Weights, shifts: Weights) -> dict[Channel, float]:
    # Over our own base a shift stands as it is written, not as rounding would give it back.
    return {
        channel: weight
        if channel not in shifts
        else shifts[channel]
        if weight == BASE_WEIGHTS[channel]
        else weight * shifts[channel] / BASE_WEIGHTS[channel]
        for channel, weight in base.items()
    }


WEIGHTS: Mapping[Intent, Weights] = weights_over(BASE_WEIGHTS)

ALL_CHANNELS = tuple(Channel)
QUICK_SHARE = 2 / 3
"""Share of the weight of `bm25` that `fts5` gets instead: with 0.2 beside vector 0.7 no collection lost against vectors
alone, with 0.3 and more the smallest one did."""
QUICK_CHANNELS = (Channel.VECTOR, Channel.FTS5, Channel.TRIGGER)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchOptions:
    """How searching weighs and bounds. Every default can be replaced; none is hidden elsewhere."""

    method: FusionMethod = FusionMethod.CONVEX
    """Scores say more than ranks when they are on a known scale; RRF lost .02 nDCG to it on average."""
    weights: Mapping[Intent, Weights] = field(default_factory=lambda: WEIGHTS)
    rrf_k: int = 60
    """The constant of the original publication; results hardly depend on it between 20 and 100."""
    coefficient: float = 0.3
    """What further passages of a memory add to its best one (MPAB)."""

    pools: Mapping[Mode, int] = field(
        default_factory=lambda: MappingProxyType({Mode.QUICK: 30, Mode.FOCUSED: 100, Mode.DEEP: 200})
    )
    """Passages read from each channel. Ten results rarely need more than the first 30 of a channel."""
    compare_found: bool = True
    """Whether what other channels find has its cosine and its BM25 counted; False, as up to version 0.1, only to see
    what is lost (`design/retrieval-quality.md`)."""
    nearest_share: float = 0.5
    """Of its pool, what the vector channel lists beside `bm25`, whose hits are compared with the query too: with 30 of
    100 passages every ranking of eight collections was the same."""
    full_text_always: bool = False
    """Whether `fts5` is asked beside `bm25` for every question. For one without a quoted phrase or the beginning of a
    word it changed no mean and took 8 % longer (`design/retrieval-quality.md`)."""
    fallback_minimum: int = 3
    """Fewer results than this, and a search that may widen does."""

    boost_bound: float = 10 / 3
    """The least bound under which a memory that was marked useless throughout (factor 0.3) keeps that factor."""
    session_strength: float = 0.15
    causal_strength: float = 0.1
    named_strength: float = 0.3
    named_seeds: int = 3
    named_depth: int = 30
    """What the passages of so many first results name by its title is raised, among so many first results: a question
    in two steps asks for what its first answer names. See `design/retrieval-quality.md`."""
    coactivation_strength: float = 0.1
    learned_strength: float = 0.2
    learned_weight: float = 0.7
    """A learned trigger is believed this much, compared with one that a person wrote."""
    context_strength: float = 0.05
    recency_strength: float = 0.05
    """Recency and context only part near-equals: relevance that is 5 % higher wins against either."""
    recency_half_life_days: float = 30.0
    important_strength: float = 0.0025
    critical_strength: float = 0.005
    """Far below recency and context: a tier parts near-equals, and relevance that is 0.5 % higher wins against any
    tier. With more, fewer of the critical memories shown were relevant; see `design/tiers-in-ranking.md`."""

    mmr_lambda: float = 0.9
    """The share of relevance against newness. With .7, nDCG@10 fell by .08 where a question has many good answers."""
    mmr_alike: float = 0.85
    """Results repeat each other from this cosine on. The bundled embedder sees one subject from .75 on, but two answers
    about one subject are not one answer twice."""
    rerank_depth: int = 50
    """Reranking looks at this many; a cross-encoder costs some milliseconds for each."""
    rerank_threshold: float | None = None
    """With a cross-encoder, results that it scores lower, or does not look at, are not returned; None: all are."""

    previous_weight: float = 0.3
    """What the previous question of a conversation counts beside the question itself, in words and in meaning. With .2
    follow-ups gained less, with .5 questions on another subject lost (`design/follow-up-questions.md`)."""
    expansion_documents: int = 10
    expansion_terms: int = 20
    expansion_weight: float = 0.12
    """What the best expansion term weighs beside an original one. With .15 two results that are nearly equal change
    places, with .10 a critical memory of the bundled agent-memory is missed (`design/query-expansion.md`)."""
    expansion_least: int = 30
    """Words of a passage, in the mean of the first ones, from which they have any to give: what titles and turns of a
    chat share leads elsewhere."""

    common_least: int = 1_000
    common_share: float = 0.05
    """A word in more passages than both limits is not looked up: it costs the most and helps the least."""
    ordinary_least: int = 20
    ordinary_share: float = 0.05
    """A trigger of one word does not fire if more passages than both limits contain it."""
    ordinary_fire: bool = False
    """Whether such triggers fire all the same: only to see, in a simulation, what the rule is for."""
    praised_depth: int = 20
    """Useful votes raise only results among this many first places: each costs a lookup, and a raise of 20 %
    hardly brings a lower result into the first ten."""
    general_votes: bool = False
    """Whether a useful vote raises its memory for every question: only to see, in a simulation, what comes of it."""
    full_text_limit: int = 100
    """Matches of the precise channel that are scored where no other channel ranks passages; 50 lose .02 nDCG."""
    full_text_beside: int = 50
    """The same beside `bm25` or `vector`. Over six collections the fused nDCG is .7072 with 50 and .7073 with 100."""

    relevant_share: float = 0.5
    """A result below this share of the best score is below the relevance cut. Of what is relevant among the first 20 of
    three datasets, 89 to 98 % is above it; of the rest 42 to 55 %."""
    relevant_least: float = 0.2
    """Below this score nothing is relevant, even if all are low: 97 % and more of what is relevant is above it."""
    near_top: int = 3
    """A session may hold back results that were among this many first places and above the relevance cut."""
    in_view: int = 5
    """For so many further searches a result is taken to be in the caller's view, and may be held back."""

    low_pressure: float = 0.5
    high_pressure: float = 0.75
    critical_pressure: float = 0.9
    """Shares of the token budget; from the second on, a search does less."""

    def __post_init__(self) -> None:
        require(self, one_of(FusionMethod), "method")
        require(self, rules.count, "rrf_k", "fallback_minimum", "rerank_depth", "common_least")
        require(self, rules.count, "full_text_limit", "full_text_beside")
        require(
            self,
            rules.count,
            "expansion_documents",
            "expansion_terms",
            "expansion_least",
            "ordinary_least",
            "praised_depth",
        )
        require(self, rules.count, "near_top", "in_view", "named_seeds", "named_depth")
        require(self, rules.share, "relevant_share", "relevant_least")
        require(
            self,
            rules.share,
            "coefficient",
            "learned_weight",
            "mmr_lambda",
            "mmr_alike",
            "expansion_weight",
            "previous_weight",
            "nearest_share",
            "common_share",
            "ordinary_share",
        )
        require(self, rules.share, "session_strength", "causal_strength", "coactivation_strength", "named_strength")
        require(self, rules.share, "learned_strength", "context_strength", "recency_strength")
        require(self, rules.share, "important_strength", "critical_strength")
        require(self, rules.share, "low_pressure", "high_pressure", "critical_pressure")
        allow(self, rules.share, "rerank_threshold")
        require(self, _positive, "recency_half_life_days")
        require(self, _bound, "boost_bound")
        require(self, _weights, "weights")
        require(self, _pools, "pools")
        if not self.low_pressure <= self.high_pressure <= self.critical_pressure:
            raise BadValue(
                f"the pressures {self.low_pressure}, {self.high_pressure}, {self.critical_pressure} do not grow",
                remedy="Give low <= high <= critical.",
            )

    def weights_for(
        self, intent: Intent, *, adaptive: bool = True, channels: Collection[Channel] = ALL_CHANNELS
    ) -> Weights:
        """Return the weights of an intent for the channels that will run.

        Without adaptive fusion they are those of `understand`. If `bm25` does not run, `fts5` is the only channel for
        exact words and gets a share of its weight. The weight of a channel that fails is not given to others.
        """
        weights = self.weights[intent if adaptive else Intent.UNDERSTAND]
        if Channel.BM25 in channels:
            return weights
        return {**weights, Channel.FTS5: max(weights[Channel.FTS5], QUICK_SHARE * weights[Channel.BM25])}

    def too_ordinary(self, document_count: int) -> int:
        """Return the number of passages above which a single word does not fire as a trigger."""
        return max(self.ordinary_least, math.floor(self.ordinary_share * document_count))

    def too_common(self, document_count: int) -> int:
        """Return the number of passages above which a word is left out of full-text queries."""
        return max(self.common_least, math.floor(self.common_share * document_count))


def _positive(value: object, name: str) -> float:
    number = rules.finite(value, name)
    if number <= 0.0:
        raise BadValue(f"{name} {number} is not above 0", remedy="Give a number above 0.")
    return number


def _bound(value: object, name: str) -> float:
    number = rules.finite(value, name)
    if number < 1.0:
        raise BadValue(f"{name} {number} is below 1", remedy="Give 1 (boosts change nothing) or more.")
    return number


def _weights(value: Mapping[Intent, Weights], name: str) -> Mapping[Intent, Weights]:
    missing = [
        f"{intent}.{channel}" for intent in Intent for channel in Channel if channel not in value.get(intent, {})
    ]
    if missing:
        raise BadValue(f"{name} lacks {', '.join(missing)}", remedy="Give every intent a weight for every channel.")
    # Zero would leave no scale when its channel runs alone.
    return MappingProxyType(
        {
            intent: MappingProxyType(
                {channel: _positive(value[intent][channel], f"{name}.{intent}.{channel}") for channel in Channel}
            )
            for intent in Intent
        }
    )


def _pools(value: Mapping[Mode, int], name: str) -> Mapping[Mode, int]:
    needed = (Mode.QUICK, Mode.FOCUSED, Mode.DEEP)
    if any(mode not in value or rules.count(value[mode], f"{name}.{mode}") < 1 for mode in needed):
        raise BadValue(f"{name} has no pool for each mode", remedy="Give quick, focused and deep a pool of 1 or more.")
    return MappingProxyType({mode: value[mode] for mode in needed})
