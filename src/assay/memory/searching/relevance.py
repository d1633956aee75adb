"""The relevance cut: below which score a result of a search is taken to be unrelated to the question.

One rule for everything that must not give a worse result in place of a better one: what fills the places of results
that a session holds back, what a context is packed with, and what counts as near the top of a search. A result passes
when it has at least a share of the best score, and at least a least score; a memory whose trigger phrase stands in the
question passes always, since its writer asked for that. The numbers are in `SearchOptions`.

Scores of rank fusion are too flat for a cut: there the cut is not known, and nothing passes but triggers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from assay.memory.searching.options import SearchOptions
from assay.records import Channel, FusionMethod, SearchResult


class Cut(NamedTuple):
    """The least score of a relevant result."""

    least: float | None
    """On the scale that callers see; None: not known on this search's scale."""

    def passes(self, score: float, channels: Collection[Channel]) -> bool:
        """Whether a result with this score, found by these channels, is relevant."""
        return Channel.TRIGGER in channels or (self.least is not None and score >= self.least)


def cut_of(best: float, method: FusionMethod, options: SearchOptions) -> Cut:
    """The cut of a search whose best result has this score."""
    if method is not FusionMethod.CONVEX:
        return Cut(None)
    return Cut(max(options.relevant_share * best, options.relevant_least))


def count_near_top(result: SearchResult, options: SearchOptions) -> int:
    """How many hits, from the first, were near the top: among the first places of all that was found, and relevant.

    Results that were held back take up places too, so that a session does not work its way down the list.
    """
    scores: Sequence[float] = [*(hit.score for hit in result.hits), *(held.score for held in result.held_back)]
    if not scores:
        return 0
    cut = cut_of(max(scores), result.fusion, options)
    count = 0
    for hit in result.hits[: max(options.near_top - _held_above(result), 0)]:
        if not cut.passes(hit.score, hit.channels):
            break
        count += 1
    return count


def _held_above(result: SearchResult) -> int:
    """How many held-back results stand above the first hit."""
    first = result.hits[0].score if result.hits else 0.0
    return sum(held.score >= first for held in result.held_back)
