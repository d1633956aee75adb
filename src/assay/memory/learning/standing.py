"""How learning stands for one tenant: what is on, what was learned, and what still keeps it from being applied."""

from __future__ import annotations

from datetime import datetime

from assay.flags import FlagState
from assay.memory.learning import noise
from assay.memory.learning.cycles import measure_questions
from assay.memory.learning.policy import Opening, Policy
from assay.records.learning import LearningStatus, TermNoise, TermState
from assay.storage import Work

FLAG = "learn_from_selection"


def standing(work: Work, policy: Policy, flag: FlagState, now: datetime) -> LearningStatus:
    """How learning stands now."""
    progress = work.learned_terms.progress()
    since = flag.activated_at
    measured = noise.measure(work, since) if since is not None else TermNoise()
    opening = Opening(
        activated_at=since,
        cycles=len(work.learned_terms.cycles()),
        noise=measured.rate,
        approved_at=flag.reviewed_at,
        killed_at=progress.killed_at,
    )
    every = work.learned_terms.of()
    limits = policy.limits
    closed = tuple(policy.closed(opening, now))
    return LearningStatus(
        on=flag.on,
        applying=flag.on and not closed,
        activated_at=since,
        shadow_until=None if since is None else policy.shadow_until(since),
        approved_at=flag.reviewed_at,
        cycles=opening.cycles,
        questions=measure_questions(work, limits, now).questions,
        questions_needed=min(opening.cycles + 1, limits.cycles) * limits.cycle_queries,
        noise=measured,
        terms={str(state): sum(one.state is state for one in every) for state in TermState},
        killed_at=progress.killed_at,
        killed_because=progress.killed_because,
        closed=closed,
    )
