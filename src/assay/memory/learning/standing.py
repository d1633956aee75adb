"""How learning stands for one tenant: what is on, what was learned, and what still keeps it from being applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from assay.flags import FlagState
from assay.memory.learning import noise
from assay.memory.learning.cycles import measure_questions
from assay.memory.learning.policy import Opening, Policy, Refusal
from assay.records.learning import TermState
from assay.storage import Work

FLAG = "learn_from_selection"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Where learned triggers stand."""

    on: bool
    activated_at: datetime | None
    shadow_until: datetime | None
    approved_at: datetime | None
    cycles: int
    questions: int
    """Distinct questions of this memory that stored runs measured; each counts once in each 14 days."""
    questions_needed: int
    """How many of them the next cycle takes; those of the last one once no more are needed."""
    noise: noise.Noise
    terms: dict[str, int]
    """How many there are in each state."""
    killed_at: datetime | None
    killed_because: str
    closed: tuple[Refusal, ...]
    """What keeps learned terms from being applied; empty when they are."""

    @property
    def applying(self) -> bool:
        """Whether what is learned moves results."""
        return self.on and not self.closed


def standing(work: Work, policy: Policy, flag: FlagState, now: datetime) -> Standing:
    """How learning stands now."""
    progress = work.learned_terms.progress()
    since = flag.activated_at
    measured = noise.measure(work, since) if since is not None else noise.Noise(0, 0, 0)
    opening = Opening(
        activated_at=since,
        cycles=len(work.learned_terms.cycles()),
        noise=measured.rate,
        approved_at=flag.reviewed_at,
        killed_at=progress.killed_at,
    )
    every = work.learned_terms.of()
    limits = policy.limits
    return Standing(
        on=flag.on,
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
        closed=tuple(policy.closed(opening, now)),
    )
