"""The kill switch: it watches how exposure is spread while learned triggers are applied, and stops them when it grows.

Compared are the last searches before the first term was applied and the newest ones: the same numbers that
`assay simulate feedback` reports. It looks again after every `WINDOW` searches. What it finds is a reason to stop and
look, not a proof of harm: learning goes on when a person has approved it again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.memory.learning.exposure import RESAMPLES, SURE, Growth, first_choice, growth
from assay.memory.learning.noise import CHOICES
from assay.memory.learning.validation import rank_of
from assay.records.learning import TermState
from assay.storage import Work
from assay.storage.repositories.queries import UsedQuery

WINDOW = 100
"""Searches that are compared with as many or more before them."""
REFERENCE = 400
SEED = 7


class Alarm(NamedTuple):
    """Why learning should stop."""

    numbers: tuple[Growth, ...]
    """Those that grew."""

    def __str__(self) -> str:
        return "; ".join(f"{one.name} {one.before:.3f} -> {one.now:.3f}" for one in self.numbers)


def watch(work: Work) -> Alarm | None:
    """Look, if enough was searched since the last look; an alarm when something grew."""
    applied = [one.applied_at for one in work.learned_terms.of(states=(TermState.APPLIED,)) if one.applied_at]
    if not applied:
        return None
    newest = work.usage.queries(limit=WINDOW + REFERENCE, newest_first=True, since=None)
    began = min(applied)
    now = [one for one in newest if one.created_at > began][:WINDOW]
    if len(now) < WINDOW or now[-1].id <= work.learned_terms.progress().last_watched:
        return None
    before = work.usage.queries_before(began, limit=REFERENCE)
    work.learned_terms.put_progress(last_watched=now[0].id)
    if len(before) < WINDOW:
        return None
    grown = tuple(one for one in compare(work, before, now) if one.grown)
    return Alarm(grown) if grown else None


def compare(work: Work, before: list[UsedQuery], now: list[UsedQuery]) -> list[Growth]:
    """Every number, then and now."""
    rng = np.random.default_rng(SEED)
    shown = [[one.result_ids for one in queries if one.result_ids] for queries in (before, now)]
    found = growth(*shown, stale=work.usage.stale(), rng=rng) if all(shown) else []
    drift = _drift(_places(work, before), _places(work, now), rng)
    return [*found, *([] if drift is None else [drift])]


def _places(work: Work, queries: list[UsedQuery]) -> list[int]:
    """The rank of every result that was chosen."""
    shown = {one.query_id: one.result_ids for one in queries}
    chosen = work.usage.events_of(shown, CHOICES)
    return [rank for query, memory in sorted(chosen) if (rank := rank_of(memory, shown[query])) is not None]


def _drift(before: list[int], now: list[int], rng: np.random.Generator) -> Growth | None:
    """How much further down what is chosen stands now, as a number that should not grow."""
    then, later = first_choice(before), first_choice(now)
    if then is None or later is None or len(now) < WINDOW // 10:
        return None
    drawn = [first_choice(rng.choice(before, size=len(now)).tolist()) or 0.0 for _ in range(RESAMPLES)]
    return Growth("first_choice_lost", 1.0 - then, 1.0 - later, 1.0 - float(np.quantile(drawn, 1.0 - SURE)))
