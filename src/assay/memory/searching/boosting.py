"""The boost stage: facts about each memory, gathered in few questions, become factors on its score.

Facts come from the row (confidence, context type, age, learned triggers), from the graph (neighbours of the best hits)
and from the session (what it attends to). Attention acts on what surrounds a memory that the session was given:
memories one edge away, and those that other searches gave together with it. It does not raise that memory itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from assay.memory.learning.policy import beliefs
from assay.memory.learning.praise import Praise, raised
from assay.memory.searching import boosts
from assay.memory.searching.channels.graph import Neighbour
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import ParsedQuery
from assay.memory.sessions import Turn
from assay.records import Boost, SearchRequest
from assay.storage import Candidate, Work
from assay.text.terms import normalised_phrase

DAY_S = 86_400.0
Enabled = Callable[[str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What is known about memories from outside their rows, by memory id."""

    attention: Mapping[str, float] = field(default_factory=dict)
    together: Mapping[str, float] = field(default_factory=dict)
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)
    learned: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How much each learned trigger is believed; what is not there has ended."""
    praises: Mapping[str, Sequence[Praise]] = field(default_factory=dict)
    """The questions for which each was found useful."""


def spread(work: Work, attention: Mapping[str, float]) -> dict[str, float]:
    """Attention one edge further: a neighbour has that of the memory it is joined to, times the edge's strength."""
    held: dict[str, float] = {}
    if attention:
        for one in work.edges.around(list(attention), hops=1, limit=200):
            held[one.memory_id] = max(held.get(one.memory_id, 0.0), attention[one.seed] * one.strength)
    return held


def found_together(attended: Iterable[str], past: Sequence[Turn]) -> dict[str, float]:
    """Of the past results that held something attended to, the share that held each other memory."""
    wanted = frozenset(attended)
    holding = [turn.memory_ids for turn in past if not wanted.isdisjoint(turn.memory_ids)]
    counts: dict[str, int] = {}
    for ids in holding:
        for one in frozenset(ids) - wanted:
            counts[one] = counts.get(one, 0) + 1
    return {one: count / len(holding) for one, count in counts.items()}


def learned(work: Work, rows: Iterable[Candidate], now: datetime) -> dict[str, dict[str, float]]:
    """What these memories have learned, and how much of it is still believed."""
    holding = {row.memory_id for row in rows if row.memory.stored_learned_triggers != "[]"}
    return beliefs(work.learned_terms.applied(holding), now)


def praises(work: Work, rows: Iterable[Candidate]) -> dict[str, list[Praise]]:
    """For what these memories were found useful; only those that are trusted more than a new one are looked up."""
    trusted = {row.memory_id for row in rows if row.memory.confidence > boosts.NEUTRAL_CONFIDENCE}
    found: dict[str, list[Praise]] = {}
    for one in work.learning.useful_votes(trusted) if trusted else ():
        found.setdefault(one.memory_id, []).append(Praise(one.question, one.steps))
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

    def most(self) -> float:
        """The largest factor that any memory can have in this search."""
        options, around = self._options, self._around
        strengths = (
            options.session_strength if around.attention else 0.0,
            options.causal_strength if around.neighbours else 0.0,
            options.coactivation_strength if around.together else 0.0,
            options.learned_strength if self._learned and around.learned else 0.0,
            boosts.MOST_CONFIDENCE_FACTOR - 1.0 if around.praises or options.general_votes else 0.0,
            options.context_strength if self._request.context_type is not None else 0.0,
            options.recency_strength,
        )
        return min(math.prod(1.0 + strength for strength in strengths), options.boost_bound)

    def boosts(self, row: Candidate) -> tuple[Boost, ...]:
        """Every boost that says something about a memory."""
        options = self._options
        found = (
            boosts.session(self._around.attention.get(row.memory_id, 0.0), options.session_strength),
            self._causal(row.memory_id),
            boosts.coactivation(self._around.together.get(row.memory_id, 0.0), options.coactivation_strength),
            self._learned_triggers(row),
            self._confidence(row),
            boosts.context_type(self._request.context_type, row.memory.context_type, options.context_strength),
            boosts.recency(
                (self._now - row.memory.updated_at) / DAY_S,
                options.recency_half_life_days,
                options.recency_strength,
            ),
        )
        return tuple(one for one in found if one is not None)

    def _causal(self, memory_id: str) -> Boost | None:
        found = self._around.neighbours.get(memory_id)
        if found is None:
            return None
        return boosts.causal(found.score, found.hops, self._options.causal_strength)

    def _confidence(self, row: Candidate) -> Boost | None:
        trust, votes = row.memory.confidence, self._around.praises.get(row.memory_id, ())
        here = trust if self._options.general_votes else raised(self._question, votes)
        return boosts.confidence(trust, raised=here, negative_feedback=self._negative)

    def _learned_triggers(self, row: Candidate) -> Boost | None:
        if not self._learned:
            return None
        held = self._around.learned.get(row.memory_id, {})
        matched = {one: belief for one, belief in held.items() if normalised_phrase(one) in self._runs}
        belief = max(matched.values(), default=0.0)
        return boosts.learned_triggers(
            tuple(matched), belief, self._options.learned_weight, self._options.learned_strength
        )
