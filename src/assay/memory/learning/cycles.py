"""Evaluation cycles: one is complete with every 100 queries scored by completed runs *and* 14 days since the first run.

Two are complete with 200 queries and 28 days, whichever comes last: nothing that was learned is applied before what it
would change has been measured, twice. Runs count when they are stored here (`assay run DATASET --store`).
"""

from __future__ import annotations

from datetime import datetime

from assay.memory.learning.policy import Limits
from assay.storage import Work
from assay.storage.repositories.learned_terms import Cycle


def complete_cycles(work: Work, limits: Limits, now: datetime) -> list[Cycle]:
    """Write down every cycle that is complete by now; all of them, oldest first."""
    done = work.learned_terms.cycles()
    while (found := _next(work, limits, now, done)) is not None:
        work.learned_terms.add_cycle(found)
        detail = {"queries": found.queries, "ended_at": found.ended_at.isoformat()}
        work.audit.append("learning.cycle", f"cycle-{found.number}", detail)
        done.append(found)
    return done


def _next(work: Work, limits: Limits, now: datetime, done: list[Cycle]) -> Cycle | None:
    number = len(done) + 1
    began = done[0].began_at if done else work.usage.first_scored_at()
    if began is None or now - began < number * limits.cycle_time:
        return None
    fresh = work.usage.scored(after=done[-1].ended_at if done else None, until=now)
    if sum(one.queries for one in done) + fresh < number * limits.cycle_queries:
        return None
    return Cycle(number, began, now, fresh)
