"""The kill switch: stops learned triggers when exposure concentrates on few memories.

- Exposure: how it is spread over memories, in three numbers that a feedback loop raises.
- The switch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from assay.memory.learning.triggers import CHOICES
from assay.memory.learning.votes import rank_of
from assay.records.learning import TermState
from assay.storage import Work
from assay.storage.repositories.queries import UsedQuery

# --- Exposure: how it is spread over memories, in three numbers that a feedback loop raises ---
#
# `gini`: how unevenly attention is shared out, each place weighing 1 / rank (0: all alike, 1: one has it all).
# `entrenchment`: the share of the first three places held by the tenth of memories that was shown most to begin with.
# `stale_served`: the share of shown results that something has taken the place of. A fourth tells whether it was worth
# it: `first_choice`, the mean of 1 / rank of what was chosen. The simulator and the kill switch read the same numbers.

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
    first = [memory_id for ids in shown for memory_id in ids[:FIRST]]
    every = [memory_id for ids in shown for memory_id in ids]
    return Numbers(
        gini=gini([held.get(memory_id, 0.0) for memory_id in {*known, *held}]),
        entrenchment=_share(first, favoured),
        stale_served=_share(every, stale),
    )


def exposures(shown: Lists) -> dict[str, float]:
    """How much each memory was seen: 1 / rank for every place, since that is about how often a place is looked at."""
    held: dict[str, float] = {}
    for ids in shown:
        for rank, memory_id in enumerate(ids, start=1):
            held[memory_id] = held.get(memory_id, 0.0) + 1.0 / rank
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
    known = {memory_id for ids in (*before, *now) for memory_id in ids}
    favoured = most_shown(before)

    def measure(shown: Lists) -> Numbers:
        return numbers(shown, known=known, favoured=favoured, stale=stale)

    drawn = [measure([before[place] for place in rng.integers(len(before), size=len(now))]) for _ in range(RESAMPLES)]
    bounds = np.quantile(np.asarray(drawn), SURE, axis=0)
    return [
        Growth(name, first, last, float(bound))
        for name, first, last, bound in zip(Numbers._fields, measure(before), measure(now), bounds, strict=True)
    ]


def first_choice(places: Sequence[int]) -> float | None:
    """The mean of 1 / rank of what was chosen; None when nothing was."""
    return float(np.mean([1.0 / place for place in places])) if places else None


def _share(shown: Sequence[str], among: Collection[str]) -> float:
    return sum(memory_id in among for memory_id in shown) / len(shown) if shown else 0.0


# --- The switch ---
#
# Compared are the last searches before the first term was applied and the newest ones: the same numbers that
# `assay simulate feedback` reports. It looks again after every `WINDOW` searches. What it finds is a reason to stop
#   and
# look, not a proof of harm: learning goes on when a person has approved it again.

WINDOW = 100
"""Searches that are compared with as many or more before them."""
REFERENCE = 400
SEED = 7


class Alarm(NamedTuple):
    """Why learning should stop."""

    numbers: tuple[Growth, ...]
    """Those that grew."""

    def __str__(self) -> str:
        return "; ".join(f"{measured.name} {measured.before:.3f} -> {measured.now:.3f}" for measured in self.numbers)


def watch_exposure(work: Work) -> Alarm | None:
    """Look, if enough was searched since the last look; an alarm when something grew."""
    applied = [term.applied_at for term in work.learned_terms.of(states=(TermState.APPLIED,)) if term.applied_at]
    if not applied:
        return None
    newest = work.usage.queries(limit=WINDOW + REFERENCE, newest_first=True, since=None)
    began = min(applied)
    now = [query for query in newest if query.created_at > began][:WINDOW]
    if len(now) < WINDOW or now[-1].id <= work.learned_terms.progress().last_watched:
        return None
    before = work.usage.queries_before(began, limit=REFERENCE)
    work.learned_terms.put_progress(last_watched=now[0].id)
    if len(before) < WINDOW:
        return None
    grown = tuple(growth for growth in compare_exposure(work, before, now) if growth.grown)
    return Alarm(grown) if grown else None


def compare_exposure(work: Work, before: list[UsedQuery], now: list[UsedQuery]) -> list[Growth]:
    """Every number, then and now."""
    rng = np.random.default_rng(SEED)
    shown = [[query.result_ids for query in queries if query.result_ids] for queries in (before, now)]
    found = growth(*shown, stale=work.usage.stale(), rng=rng) if all(shown) else []
    drift = _drift(_places(work, before), _places(work, now), rng)
    return [*found, *([] if drift is None else [drift])]


def _places(work: Work, queries: list[UsedQuery]) -> list[int]:
    """The rank of every result that was chosen."""
    shown = {query.query_id: query.result_ids for query in queries}
    chosen = work.usage.events_of(shown, CHOICES)
    return [rank for query, memory in sorted(chosen) if (rank := rank_of(memory, shown[query])) is not None]


def _drift(before: list[int], now: list[int], rng: np.random.Generator) -> Growth | None:
    """Return how far chosen results have moved down the ranking, as a number that should not grow."""
    then, later = first_choice(before), first_choice(now)
    if then is None or later is None or len(now) < WINDOW // 10:
        return None
    drawn = [first_choice(rng.choice(before, size=len(now)).tolist()) or 0.0 for _ in range(RESAMPLES)]
    return Growth("first_choice_lost", 1.0 - then, 1.0 - later, 1.0 - float(np.quantile(drawn, 1.0 - SURE)))
