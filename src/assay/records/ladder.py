"""How a change on the ladder stands: its test, its shadow runs, the conditions of graduation and the guardrails.

`LadderPage` is everything about one change: its flag, its steps, its shadow runs, its sequential test and the
conditions of graduation. `Guardrail` is what is watched once it has graduated. The votes and steps themselves are in
`flags`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.records.evidence import AbTestStatus
from assay.records.flags import FlagState, LadderStep, VoteKind
from assay.records.interval import Interval


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialState:
    """A sequential test after something was done to it."""

    feature_id: str
    attempt: int
    kind: VoteKind
    status: AbTestStatus
    votes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleSplit:
    """How a split test divides its votes between the sides."""

    control: int
    treatment: int
    p: float
    """The chance that a fair coin divides so many votes at least as unevenly."""
    sentence: str
    """The counts and their p, to be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialStanding:
    """A sequential test with everything that can be said of it."""

    feature_id: str
    attempt: int
    kind: VoteKind
    status: AbTestStatus
    decision: str | None
    """How it ended: better, worse or futile; None while it runs."""
    votes: int
    min_samples: int
    """Votes that it needs before the flag can graduate."""
    repeats: int
    """Searches without a vote, because their query had voted."""
    arms: Mapping[str, int]
    """Votes by the side that answered."""
    mean: float | None
    """The gain of the treatment; None: no votes say so yet."""
    interval: Interval | None
    log_evidence: float
    """ln K that the treatment is better."""
    log_bound: float
    """The ln K that decides."""
    alpha: float
    """The chance of a false decision that this attempt may spend."""
    treatment_better: float | None
    """The chance of what `treatment_better_means` says; None without votes."""
    treatment_better_means: str
    split: SampleSplit | None
    """None for tests that ask both sides."""
    withheld: str
    """Why the test may not decide yet; empty when it may."""
    path: tuple[tuple[int, float, float], ...]
    """After each vote: how many, ln K for better, ln K for worse."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """One number of both sides."""

    control: float
    treatment: float
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowSummary:
    """What shadow runs came to."""

    runs: int
    """Searches that were asked both ways."""
    classes: Mapping[str, int]
    """How many were identical, minor, major, incompatible."""
    problems: int
    """Runs in which the treatment gave no answer."""
    dropped: int
    """Searches of the sample that were not asked the other way, because too many waited."""
    judged: int
    mean_mrr_delta: float | None
    latency_p95_ms: Sides | None


@dataclass(frozen=True, slots=True)
class GraduationCondition:
    """One thing graduation asks for."""

    name: str
    holds: bool | None
    """None: cannot be told yet."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Guardrail:
    """One number that is watched after graduation."""

    name: str
    broken: bool | None
    """None: too little is known."""
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderPage:
    """One change with everything that is known of it."""

    state: FlagState
    steps: tuple[LadderStep, ...]
    shadow: ShadowSummary
    test: TrialStanding | None
    """Its newest sequential test; None: there was none."""
    conditions: tuple[GraduationCondition, ...]
    may_graduate: bool
    """Whether all four conditions hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderList:
    """Every change that ever took a step, each with its last one."""

    changes: tuple[LadderStep, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedVotes:
    """What was new, and what it decided."""

    votes: int
    step: LadderStep | None
    """None: nothing was decided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedChanges:
    """The guardrails of every change that has graduated, by feature; what broke one was taken back."""

    guardrails: Mapping[str, tuple[Guardrail, ...]]
