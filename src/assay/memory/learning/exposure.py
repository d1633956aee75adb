"""How exposure is spread over memories, in three numbers that a feedback loop drives up when it goes wrong.

`gini`: how unevenly attention is shared out, each place weighing 1 / rank (0: all alike, 1: one has it all).
`entrenchment`: the share of the first three places held by the tenth of memories that was shown most to begin with.
`stale_served`: the share of shown results that something has taken the place of. A fourth tells whether it was worth
it: `first_choice`, the mean of 1 / rank of what was chosen. The simulator and the kill switch read the same numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

FIRST = 3
FAVOURED = 0.1
RESAMPLES = 200
SURE = 0.99
"""A value above this share of what chance makes of the beginning is no chance."""
MARGIN = 0.01
"""And it matters when it is that much larger: one place in a hundred, or that much of all attention, in other hands."""

Lists = Sequence[tuple[str, ...]]


class Numbers(NamedTuple):
    """How exposure is spread."""

    gini: float
    entrenchment: float
    stale_served: float


class Growth(NamedTuple):
    """One number at the beginning and now, and what chance alone would make of it."""

    name: str
    before: float
    now: float
    chance: float

    @property
    def grown(self) -> bool:
        """Whether it is larger than chance and the margin allow."""
        return has_grown(self.now - self.before, at_least=self.now - self.chance)


def has_grown(change: float, *, at_least: float, margin: float = MARGIN) -> bool:
    """The one rule for every number, simulated or live: it grew by more than the margin, and that was no chance."""
    return change > margin and at_least > 0.0


def numbers(shown: Lists, *, known: Collection[str], favoured: Collection[str], stale: Collection[str]) -> Numbers:
    """The numbers of some results. `known` are the memories that could have been shown."""
    held = exposures(shown)
    first = [one for ids in shown for one in ids[:FIRST]]
    every = [one for ids in shown for one in ids]
    return Numbers(
        gini=gini([held.get(one, 0.0) for one in {*known, *held}]),
        entrenchment=_share(first, favoured),
        stale_served=_share(every, stale),
    )


def exposures(shown: Lists) -> dict[str, float]:
    """How much each memory was seen: 1 / rank for every place, since that is about how often a place is looked at."""
    held: dict[str, float] = {}
    for ids in shown:
        for rank, one in enumerate(ids, start=1):
            held[one] = held.get(one, 0.0) + 1.0 / rank
    return held


def gini(counts: Sequence[float]) -> float:
    """How unevenly a total is shared out; 0 when there is nothing to share."""
    ordered = np.sort(np.asarray(counts, dtype=np.float64))
    total = float(ordered.sum())
    if not total:
        return 0.0
    places = np.arange(1, len(ordered) + 1)
    return float((2 * (places * ordered).sum()) / (len(ordered) * total) - (len(ordered) + 1) / len(ordered))


def most_shown(shown: Lists) -> frozenset[str]:
    """The tenth of memories that was shown most, at least one."""
    held = exposures(shown)
    wanted = max(1, round(len(held) * FAVOURED))
    # Ties by id: the same lists have the same favourites.
    return frozenset(sorted(held, key=lambda one: (-held[one], one))[:wanted])


def growth(before: Lists, now: Lists, *, stale: Collection[str], rng: np.random.Generator) -> list[Growth]:
    """Each number at the beginning and now, with the bound that resampling the beginning gives."""
    known = {one for ids in (*before, *now) for one in ids}
    favoured = most_shown(before)

    def measured(shown: Lists) -> Numbers:
        return numbers(shown, known=known, favoured=favoured, stale=stale)

    drawn = [measured([before[place] for place in rng.integers(len(before), size=len(now))]) for _ in range(RESAMPLES)]
    bounds = np.quantile(np.asarray(drawn), SURE, axis=0)
    return [
        Growth(name, first, last, float(bound))
        for name, first, last, bound in zip(Numbers._fields, measured(before), measured(now), bounds, strict=True)
    ]


def first_choice(places: Sequence[int]) -> float | None:
    """The mean of 1 / rank of what was chosen; None when nothing was."""
    return float(np.mean([1.0 / place for place in places])) if places else None


def _share(shown: Sequence[str], among: Collection[str]) -> float:
    return sum(one in among for one in shown) / len(shown) if shown else 0.0
