"""Clicks over expected clicks: how attractive an item is for a query, with the place it was shown at taken out.

Raw click-through rewards whatever was shown first. Here each showing is expected to earn the rate of its place, over
all queries; what an item earned is held against what its places would have earned anyway (Zhang and Jones, WWW 2007).
With a Gamma(1, 1) prior on the ratio, few showings stay near 1, many showings without a click fall below it, and the
chance that the ratio is above 1 is a sum of Poisson terms. 1 therefore means: as good as the average item there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from assay.errors import BadValue

PRIOR_CLICKS = 1.0
PRIOR_EXPECTED = 1.0
"""The prior is worth one expected click, at the average ratio of 1."""


class Showing(NamedTuple):
    """One item shown for one query."""

    query: str
    item: str
    place: int
    """Rank in the list, from 1."""
    clicked: bool


class Attraction(NamedTuple):
    """What is known of one item for one query."""

    shown: int
    clicks: int
    expected: float
    """Clicks that its places would have earned from an average item."""

    @property
    def ratio(self) -> float:
        """Clicks over expected clicks, held near 1 by the prior."""
        return (self.clicks + PRIOR_CLICKS) / (self.expected + PRIOR_EXPECTED)

    @property
    def above_average(self) -> float:
        """The chance that the true ratio is above 1."""
        rate = self.expected + PRIOR_EXPECTED
        terms = (i * math.log(rate) - rate - math.lgamma(i + 1) for i in range(self.clicks + 1))
        return min(math.fsum(map(math.exp, terms)), 1.0)

    @property
    def click_through(self) -> float:
        """Clicks for each showing, wherever it was shown."""
        return self.clicks / self.shown


def place_rates(showings: Sequence[Showing]) -> dict[int, float]:
    """How often an item is clicked at each place, over all queries."""
    shown: dict[int, int] = defaultdict(int)
    clicked: dict[int, int] = defaultdict(int)
    for one in showings:
        shown[one.place] += 1
        clicked[one.place] += one.clicked
    return {place: clicked[place] / shown[place] for place in sorted(shown)}


def attractions(
    showings: Iterable[Showing], rates: Mapping[int, float] | None = None
) -> dict[tuple[str, str], Attraction]:
    """What is known of each item for each query. Without rates of places, they are those of these showings."""
    seen = list(showings)
    if any(one.place < 1 for one in seen):
        worst = min(one.place for one in seen)
        raise BadValue(f"an item was shown at place {worst}", remedy="Count places from 1.")
    rates = place_rates(seen) if rates is None else rates
    found: dict[tuple[str, str], Attraction] = {}
    for one in seen:
        before = found.get((one.query, one.item), Attraction(0, 0, 0.0))
        found[one.query, one.item] = Attraction(
            before.shown + 1, before.clicks + one.clicked, before.expected + rates[one.place]
        )
    return found
