"""What a search knows of its results between fusion and the final list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.memory.searching.aggregation import AggregatedMemory
from assay.memory.searching.channels.ask import Offer
from assay.memory.searching.scales import shown
from assay.memory.searching.trust import NONE, Contradictions
from assay.records import Boost, Channel, FusionMethod, TrustMove
from assay.storage import Candidate


class Rules(NamedTuple):
    """The numbers that every score of one search was made with."""

    method: FusionMethod
    ceiling: float
    """The highest fused score possible."""
    floor: float
    """What a further passage has to be above to count."""
    aggregated: bool
    coefficient: float
    bound: float


class Ranked(NamedTuple):
    """One memory in the ranking."""

    memory: AggregatedMemory
    row: Candidate
    """Of its best passage; all its rows tell the same of the memory."""
    boosts: tuple[Boost, ...] = ()
    factor: float = 1.0
    reranked_from: int | None = None
    trust: TrustMove | None = None

    @property
    def worth(self) -> float:
        """What it is ranked by. A shown score ends at 1 and would make equals of the best."""
        return self.memory.score * self.factor


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Memories, best first, and what made their scores."""

    order: Sequence[Ranked]
    """As far down as anything can be shown or reranked."""
    found: int
    """How many there are in all."""
    lists: Mapping[Channel, Offer]
    """What was fused."""
    rows: Mapping[int, Candidate]
    """By passage."""
    rules: Rules
    contradictions: Contradictions = NONE

    def score(self, ranked: Ranked) -> float:
        """As a caller sees it."""
        return shown(ranked.memory.score, ceiling=self.rules.ceiling, factor=ranked.factor)

    def unboosted(self, ranked: Ranked) -> float:
        """What the score would be without boosts."""
        return shown(ranked.memory.score, ceiling=self.rules.ceiling)
