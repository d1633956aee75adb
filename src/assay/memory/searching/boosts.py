"""Boosts: facts about a memory become factors on its score, after aggregation and within bounds.

- From one fact to one factor.
- The boost stage: facts about each memory, read with few queries.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from assay.errors import BadValue
from assay.memory.learning.policy import beliefs
from assay.memory.learning.votes import Praise, raise_for_question
from assay.memory.searching.channels import GraphNeighbour
from assay.memory.searching.fusion import AggregatedMemory
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import ParsedQuery
from assay.memory.sessions import Turn
from assay.records import Boost, SearchRequest, Tier
from assay.storage import Candidate, Work
from assay.text.terms import normalise_phrase

# --- From one fact to one factor ---
#
# Each function turns one fact into a `Boost`, or into None where the fact says nothing. `combined` multiplies them and
# clamps the product to [1 / bound, bound].
#
# How far all boosts together can move a result: factors lie in [1 / b, b], so a result can pass another only if the
# other's base score is at most b squared times its own. `rank_bounds` counts those: the ranks that each result can
# reach, whatever the boosts say. Two results of which one scores more than b squared times the other never change
# places.

LEAST_CONFIDENCE_FACTOR, NEUTRAL_CONFIDENCE, MOST_CONFIDENCE_FACTOR = 0.3, 0.5, 1.2


class RankBounds(NamedTuple):
    """The best and the worst rank that boosts can give a result; ranks from 1."""

    best: int
    worst: int


def boost_session(attention: float, strength: float) -> Boost | None:
    """The session's attention is on this memory: 1 just now, falling towards 0."""
    if not attention:
        return None
    return _make_boost(
        "session", _share("attention", attention), strength, f"attention {attention:.2f} in this session"
    )


def boost_causal(strength_of_path: float, hops: int, strength: float) -> Boost | None:
    """It is joined to one of the best results by a path of this strength."""
    reason = f"{hops} {'hop' if hops == 1 else 'hops'} from a result, path strength {strength_of_path:.2f}"
    return _make_boost("causal", _share("path strength", strength_of_path), strength, reason)


def boost_named(share: float, rank: int, strength: float) -> Boost | None:
    """A result of this rank, whose score is this share of the best, names it by its title."""
    return _make_boost("named", _share("share", share), strength, f"named by its title in result {rank}")


def boost_coactivation(share: float, strength: float) -> Boost | None:
    """This share of past results that held the best ones held it too."""
    if not share:
        return None
    return _make_boost(
        "coactivation", _share("share", share), strength, f"found together in {share:.0%} of past results"
    )


def boost_learned_triggers(matched: Sequence[str], belief: float, weight: float, strength: float) -> Boost | None:
    """The query holds triggers that were learned from use; belief is 1 when fresh and decays with their age."""
    if not matched:
        return None
    reason = f"learned {', '.join(repr(term) for term in matched)}"
    return _make_boost("learned_triggers", weight * _share("belief", belief), strength, reason)


def boost_confidence(value: float, *, raised: float, negative_feedback: bool = True) -> Boost | None:
    """Boost by confidence: 0 gives 0.3, 0.5 gives 1 and 1 gives 1.2, linear in between.

    Above 0.5 it counts as far as votes on questions like this one raised it. Without negative feedback nothing is
    lowered.
    """
    here = min(_share("confidence", value), max(NEUTRAL_CONFIDENCE + raised, NEUTRAL_CONFIDENCE))
    factor = confidence_factor(here)
    if factor == 1.0 or (factor < 1.0 and not negative_feedback):
        return None
    reason = f"confidence {value:.2f}" + (f", {here:.2f} for questions like this one" if here < value else "")
    return Boost(name="confidence", factor=factor, reason=reason)


def confidence_factor(value: float) -> float:
    """The piecewise linear multiplier of a confidence from 0 to 1."""
    if value <= NEUTRAL_CONFIDENCE:
        return LEAST_CONFIDENCE_FACTOR + (1.0 - LEAST_CONFIDENCE_FACTOR) * value / NEUTRAL_CONFIDENCE
    return 1.0 + (MOST_CONFIDENCE_FACTOR - 1.0) * (value - NEUTRAL_CONFIDENCE) / (1.0 - NEUTRAL_CONFIDENCE)


def boost_context_type(asked: str | None, found: str, strength: float) -> Boost | None:
    """It is of the type that the caller works on."""
    return _make_boost("context_type", 1.0, strength, f"of type {found!r}") if asked == found else None


def boost_recency(age_days: float, half_life_days: float, strength: float) -> Boost | None:
    """It was updated this long ago; the boost halves with every half-life. What comes from the future is new."""
    freshness = 0.5 ** (max(age_days, 0.0) / half_life_days)
    return _make_boost("recency", freshness, strength, f"updated {max(age_days, 0.0):.1f} days ago")


def boost_tier(tier: Tier, options: SearchOptions) -> Boost | None:
    """Somebody marked it as critical or important, or enough validations did.

    `normal` and `temporary` are neutral: a temporary memory matters as much as any other while it holds. `deprecated`
    has no factor either; such memories are served last, whatever they score (see `pipeline`).
    """
    strength = {Tier.CRITICAL: options.critical_strength, Tier.IMPORTANT: options.important_strength}.get(tier, 0.0)
    return _make_boost("tier", 1.0, strength, f"its tier is {tier.value}")


def combine_boosts(boosts: Iterable[Boost], bound: float) -> float:
    """The factor of all boosts together, from 1 / bound to bound."""
    return min(max(math.prod([boost.factor for boost in boosts]), 1.0 / bound), bound)


def order_by_boosted_score(scores: Sequence[float], factors: Sequence[float]) -> list[int]:
    """The places of the scores after boosting, best first; equals keep their order."""
    boosted = [score * factor for score, factor in zip(scores, factors, strict=True)]
    return sorted(range(len(boosted)), key=boosted.__getitem__, reverse=True)


def rank_bounds(scores: Sequence[float], bound: float) -> list[RankBounds]:
    """For base scores, best first, the ranks that each can have after boosts within the bound."""
    reach = bound * bound
    rising = scores[::-1]
    if any(left > right for left, right in pairwise(rising)):
        raise BadValue("the scores do not fall", remedy="Give base scores, best first.")
    return [
        RankBounds(
            best=len(scores) - bisect_right(rising, score * reach) + 1,
            worst=len(scores) - bisect_left(rising, score / reach),
        )
        for score in scores
    ]


def _make_boost(name: str, amount: float, strength: float, reason: str) -> Boost | None:
    """A factor from 1 to 1 + strength."""
    factor = 1.0 + strength * amount
    return Boost(name=name, factor=factor, reason=reason) if factor > 1.0 else None


def _share(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{name} {value} is outside 0 to 1", remedy="Give a number from 0 to 1.")
    return value


# --- The boost stage: facts about each memory, read with few queries ---
#
# Facts come from the row (confidence, context type, tier, age, learned triggers), from the graph (neighbours of the
# best hits) and from the session (what it attends to). Attention acts on what surrounds a memory that the session was
# given: memories one edge away, and those that other searches gave together with it. It does not raise that memory
# itself. Names come from the text: what the passage of a first result calls by its title is often what the question is
# after in its second step. A title that the question holds itself is no second step, and one of ordinary words, as for
# triggers, names nothing.

DAY_S = 86_400.0
_RAISED = frozenset({Tier.CRITICAL.value, Tier.IMPORTANT.value})
Enabled = Callable[[str], bool]


class NamedBy(NamedTuple):
    """The result that names a memory."""

    rank: int
    share: float
    """Of the best score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is known about memories from outside their rows, by memory id."""

    attention: Mapping[str, float] = field(default_factory=dict)
    together: Mapping[str, float] = field(default_factory=dict)
    neighbours: Mapping[str, GraphNeighbour] = field(default_factory=dict)
    learned: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How much each learned trigger is believed; what is not there has ended."""
    praises: Mapping[str, Sequence[Praise]] = field(default_factory=dict)
    """The questions for which each was found useful."""
    named: Mapping[int, NamedBy] = field(default_factory=dict)
    """By number of the memory: what a first result calls by its title."""


def find_named(
    memories: Sequence[AggregatedMemory],
    lines: Mapping[int, str],
    says_nothing: Callable[[str], bool],
    seeds: int,
) -> dict[int, NamedBy]:
    """Return which of these memories, best first, the passages of the first ones name by their titles.

    `lines` has the analysed words of their best passages; `says_nothing` tells the titles that do not count. A memory
    that several name is named by the best of them.
    """
    own_lines = [lines.get(memory.best_number, " \n \n ") for memory in memories]
    titles = [text.partition("\n")[0].strip() for text in own_lines]
    # A title that several of them have, such as that of a page in parts, names none of them.
    alone = {title for title, times in Counter(titles).items() if title and times == 1}
    found: dict[int, NamedBy] = {}
    bodies = [text.rpartition("\n")[2] for text in own_lines[:seeds]]
    every = "\n".join(bodies)
    # Most titles stand in none of the bodies.
    pairs = zip(memories, titles, strict=True)
    called = [(memory, title) for memory, title in pairs if title in alone and f" {title} " in every]
    for place, (seed, own, body) in enumerate(zip(memories[:seeds], titles, bodies, strict=False)):
        for memory, title in called:
            named = title != own and f" {title} " in body
            if named and memory.memory not in found and not says_nothing(title):
                found[memory.memory] = NamedBy(place + 1, seed.score / memories[0].score)
    return found


def spread_attention(work: Work, attention: Mapping[str, float]) -> dict[str, float]:
    """Attention one edge further: a neighbour has that of the memory it is joined to, times the edge's strength."""
    held: dict[str, float] = {}
    if attention:
        for reached in work.edges.around(list(attention), hops=1, limit=200):
            held[reached.memory_id] = max(held.get(reached.memory_id, 0.0), attention[reached.seed] * reached.strength)
    return held


def find_together(attended: Iterable[str], past: Sequence[Turn]) -> dict[str, float]:
    """Of the past results that held something attended to, the share that held each other memory."""
    wanted = frozenset(attended)
    holding = [turn.memory_ids for turn in past if not wanted.isdisjoint(turn.memory_ids)]
    counts: dict[str, int] = {}
    for ids in holding:
        for other_id in frozenset(ids) - wanted:
            counts[other_id] = counts.get(other_id, 0) + 1
    return {memory_id: count / len(holding) for memory_id, count in counts.items()}


def load_learned(work: Work, memory_ids: Collection[str], now: datetime) -> dict[str, dict[str, float]]:
    """Return the learned terms of these memories, with the belief that is left in each."""
    return beliefs(work.learned_terms.list_applied(memory_ids), now)


def praises(work: Work, rows: Iterable[Candidate]) -> dict[str, list[Praise]]:
    """For what these memories were found useful; only those that are trusted more than a new one are looked up."""
    trusted = {row.memory_id for row in rows if row.memory.confidence > NEUTRAL_CONFIDENCE}
    found: dict[str, list[Praise]] = {}
    for vote in work.learning.useful_votes(trusted) if trusted else ():
        found.setdefault(vote.memory_id, []).append(Praise(vote.question, vote.steps))
    return found


class Booster:
    """Makes the boosts of one search."""

    def __init__(
        self,
        request: SearchRequest,
        parsed: ParsedQuery,
        *,
        around: Surroundings,
        enabled: Enabled,
        options: SearchOptions,
        now: datetime,
    ) -> None:
        self._request = request
        self._question = parsed.text
        self._runs = frozenset(parsed.runs)
        self._around = around
        self._options = options
        self._now = now.timestamp()
        self._learned = enabled("learn_from_selection")
        self._negative = enabled("negative_feedback")
        self._tiers = enabled("tier_boost")

    def most(self) -> float:
        """The largest factor that any memory can have in this search."""
        options, around = self._options, self._around
        strengths = (
            options.session_strength if around.attention else 0.0,
            options.causal_strength if around.neighbours else 0.0,
            options.named_strength if around.named else 0.0,
            options.coactivation_strength if around.together else 0.0,
            options.learned_strength if self._learned and around.learned else 0.0,
            MOST_CONFIDENCE_FACTOR - 1.0 if around.praises or options.general_votes else 0.0,
            options.context_strength if self._request.context_type is not None else 0.0,
            options.recency_strength,
            max(options.critical_strength, options.important_strength) if self._tiers else 0.0,
        )
        return min(math.prod(1.0 + strength for strength in strengths), options.boost_bound)

    def find_factor(self, row: Candidate) -> float:
        """Return the factor of all boosts of a memory together, without the reasons: few results are explained."""
        options, around, memory = self._options, self._around, row.memory
        if (
            around.attention
            or around.together
            or memory.id in around.neighbours
            or memory.number in around.named
            or memory.id in around.learned
            or memory.confidence != NEUTRAL_CONFIDENCE
            or memory.context_type == self._request.context_type
            or memory.tier in _RAISED
        ):
            return combine_boosts(self.boosts(row), options.boost_bound)
        # Only its age speaks for it, as for most.
        age_days = max((self._now - memory.updated_at) / DAY_S, 0.0)
        freshness: float = 0.5 ** (age_days / options.recency_half_life_days)
        factor = 1.0 + options.recency_strength * freshness
        return min(max(factor, 1.0, 1.0 / options.boost_bound), options.boost_bound)

    def boosts(self, row: Candidate) -> tuple[Boost, ...]:
        """Return every boost that applies to a memory. What says nothing in this search is not asked at all."""
        options, around, memory = self._options, self._around, row.memory
        recency = boost_recency(
            (self._now - memory.updated_at) / DAY_S, options.recency_half_life_days, options.recency_strength
        )
        found = (
            boost_session(around.attention.get(memory.id, 0.0), options.session_strength) if around.attention else None,
            self._causal(memory.id) if memory.id in around.neighbours else None,
            self._named(memory.number) if memory.number in around.named else None,
            boost_coactivation(around.together.get(memory.id, 0.0), options.coactivation_strength)
            if around.together
            else None,
            self._boost_by_learned_triggers(row) if self._learned and memory.id in around.learned else None,
            # Neutral confidence has the factor 1, whatever votes say.
            self._confidence(row) if memory.confidence != NEUTRAL_CONFIDENCE else None,
            boost_context_type(self._request.context_type, memory.context_type, options.context_strength),
            recency,
            boost_tier(Tier(memory.tier), options) if self._tiers and memory.tier in _RAISED else None,
        )
        return tuple([boost for boost in found if boost is not None])

    def _causal(self, memory_id: str) -> Boost | None:
        found = self._around.neighbours[memory_id]
        return boost_causal(found.score, found.hops, self._options.causal_strength)

    def _named(self, memory_number: int) -> Boost | None:
        by = self._around.named[memory_number]
        return boost_named(by.share, by.rank, self._options.named_strength)

    def _confidence(self, row: Candidate) -> Boost | None:
        trust, votes = row.memory.confidence, self._around.praises.get(row.memory_id, ())
        here = trust if self._options.general_votes else raise_for_question(self._question, votes)
        return boost_confidence(trust, raised=here, negative_feedback=self._negative)

    def _boost_by_learned_triggers(self, row: Candidate) -> Boost | None:
        held = self._around.learned[row.memory_id]
        matched = {term: belief for term, belief in held.items() if normalise_phrase(term) in self._runs}
        belief = max(matched.values(), default=0.0)
        return boost_learned_triggers(
            tuple(matched), belief, self._options.learned_weight, self._options.learned_strength
        )
