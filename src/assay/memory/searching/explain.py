"""Why a hit has its score: every number that made it, so that it can be made again by hand."""

from __future__ import annotations

from assay.memory.searching.ranking import Ranked, Ranking
from assay.records import Explanation, PassageScore


def explanation(one: Ranked, ranking: Ranking) -> Explanation:
    """The explanation of one memory's score."""
    rules = ranking.rules
    return Explanation(
        method=rules.method,
        passages=tuple(
            PassageScore(position=ranking.rows[passage.number].position, votes=passage.votes, fused=passage.fused)
            for passage in one.memory.ranked
        ),
        aggregated=rules.aggregated,
        coefficient=rules.coefficient,
        floor=rules.floor,
        boosts=one.boosts,
        bound=rules.bound,
        scale=rules.ceiling,
        score=ranking.score(one),
        reranked_from=one.reranked_from,
        trust=one.trust,
    )
