"""Feature flags, and the ladder by which a change is tested and promoted.

- Feature flags and their state for a tenant.
- Votes, interleaved lists and promotion steps.
- The state of a change on the ladder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.errors import BadValue
from assay.hashing import bucket
from assay.records import values
from assay.records.evaluations import Interval
from assay.records.evidence import AbTestStatus
from assay.records.fields import allow, one_of, require

# --- Feature flags and their state for a tenant ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """One feature that can be switched."""

    name: str
    meaning: str
    owner: str
    """The part of Assay that answers for it."""
    default: bool
    minimum_samples: int = 100
    """Queries a test needs before the flag can graduate."""
    graduation_threshold: float = 0.02
    """The gain on the evaluation corpus below which it does not graduate."""
    rollout_percent: int = 100
    """Percentage of identities that see it when it is on and no percentage was set."""
    shadow: bool = False
    """Whether it runs beside the control by default, unseen."""
    graduates_itself: bool = False
    """Whether it graduates automatically when its conditions are met, or a person decides."""
    spec: str = ""
    """What a variant searches as, such as `assay:search.fusion=rrf`; empty: a flag of the program."""

    @property
    def is_outside(self) -> bool:
        """Whether it is another system, which can be compared and never served."""
        return bool(self.spec) and self.spec.partition(":")[0] != "assay"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagState:
    """The current state of a flag for one tenant."""

    flag: Flag
    percent: int
    """How many of a hundred identities see it; 0 is off."""
    shadow: bool
    origin: str
    """`environment`, `file`, `stored` or `default`."""
    place: str = ""
    """The variable, the file, or who stored it."""
    activated_at: datetime | None = None
    """When it was first on here; kept when it is switched off and on again."""
    reviewed_at: datetime | None = None
    updated_at: datetime | None = None
    """When it was last switched, activated or reviewed here; None: never."""
    held_off: str = ""
    """Why a flag that is on does nothing yet, and what to do about it; only `Flags.describe` looks for it."""

    @property
    def on(self) -> bool:
        """Whether anybody sees it."""
        return self.percent > 0

    def enabled(self, identity: str = "") -> bool:
        """Whether this identity sees it. Who has no identity is in no partial rollout."""
        if self.percent in (0, 100):
            return self.on
        return bool(identity) and bucket(identity, self.flag.name) < self.percent


@dataclass(frozen=True, kw_only=True, slots=True)
class FlagList:
    """The current state of every flag for one tenant."""

    flags: tuple[FlagState, ...]


# --- Votes, interleaved lists and promotion steps ---


class VoteKind(StrEnum):
    """Where a vote comes from."""

    PAIRED = "paired"
    """Both sides answered the same query, and judgments say which answered better."""
    INTERLEAVED = "interleaved"
    """One merged list; what was used earned credit for its side."""
    SPLIT = "split"
    """One side answered; how well is held against chance."""


class Arm(StrEnum):
    """Which side answered."""

    CONTROL = "control"
    TREATMENT = "treatment"
    BOTH = "both"


class Step(StrEnum):
    """A rung of the ladder."""

    OFFLINE = "offline"
    SHADOW = "shadow"
    INTERLEAVING = "interleaving"
    AB_TEST = "ab_test"
    GRADUATION = "graduation"
    GUARDRAIL = "guardrail"


class StepOutcome(StrEnum):
    """How a step ended, or its current status."""

    BEGUN = "begun"
    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    RECOMMENDED = "recommended"
    GRADUATED = "graduated"
    REJECTED = "rejected"
    PAUSED = "paused"
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, kw_only=True, slots=True)
class AbVote:
    """One distinct query's say in one test: treatment minus control, from -1 to 1."""

    feature_id: str
    attempt: int
    query_key: str
    """The same for every wording that counts as the same query."""
    kind: VoteKind
    arm: Arm
    difference: float
    created_at: datetime
    query_id: str | None = None

    def __post_init__(self) -> None:
        require(self, values.identifier, "feature_id", "query_key")
        require(self, values.count, "attempt")
        require(self, one_of(VoteKind), "kind")
        require(self, one_of(Arm), "arm")
        require(self, values.finite, "difference")
        if not -1.0 <= self.difference <= 1.0:
            raise BadValue(
                f"difference {self.difference:g} is outside -1 to 1", remedy="Give a difference from -1 to 1."
            )
        require(self, values.moment, "created_at")
        allow(self, values.identifier, "query_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Interleaving:
    """A merged list that was shown, and whose each place is."""

    query_id: str
    feature_id: str
    attempt: int
    control_ids: tuple[str, ...]
    """What the control drafted, in the order it was shown."""
    treatment_ids: tuple[str, ...]
    created_at: datetime
    credited_at: datetime | None = None
    """When its vote was cast; None while that is still to come."""

    def __post_init__(self) -> None:
        require(self, values.identifier, "query_id", "feature_id")
        require(self, values.count, "attempt")
        require(self, values.identifiers, "control_ids", "treatment_ids")
        require(self, values.moment, "created_at")
        allow(self, values.moment, "credited_at")


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderStep:
    """One thing that happened to a change on its way up, or down again."""

    feature_id: str
    attempt: int
    step: Step
    outcome: StepOutcome
    sentence: str
    """What happened, to be read."""
    created_at: datetime
    detail: Mapping[str, Any] = field(default_factory=dict)
    """The figures behind it."""
    actor: str = ""

    def __post_init__(self) -> None:
        require(self, values.identifier, "feature_id")
        require(self, values.count, "attempt")
        require(self, one_of(Step), "step")
        require(self, one_of(StepOutcome), "outcome")
        require(self, values.text, "sentence")
        require(self, values.moment, "created_at")
        require(self, values.json_object, "detail")
        require(self, values.optional_short_label, "actor")


# --- The state of a change on the ladder ---
#
# `LadderPage` is everything about one change: its flag, its steps, its shadow runs, its sequential test and the
# conditions of graduation. `Guardrail` is what is watched once it has graduated. The votes and steps themselves are in
# `flags`.


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialState:
    """A sequential test after something was done to it."""

    feature_id: str
    attempt: int
    kind: VoteKind
    status: AbTestStatus
    votes: int
    no_votes_because: str
    """Why no vote can come as things are, and what to do; empty when votes can come."""


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
    """A sequential test with all its figures."""

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
    """The probability of what `treatment_better_means` describes; None without votes."""
    treatment_better_means: str
    split: SampleSplit | None
    """None for tests that ask both sides."""
    withheld: str
    """Why the test may not decide yet; empty when it may."""
    no_votes_because: str
    """Why no vote can come as things are, and what to do; empty when votes come, or the test has ended."""
    outcomes: Mapping[str, Sides]
    """What the results of each side came to on average (`mrr`, `ndcg@10`); empty before the first votes."""
    path: tuple[tuple[int, float, float], ...]
    """After each vote: how many, ln K for better, ln K for worse."""
    log_futility: float
    """The ln K at which a gain that matters is ruled out."""
    graduation_threshold: float
    """The gain on the evaluation corpus that graduation needs."""
    started_at: datetime
    updated_at: datetime
    graduated_at: datetime | None
    newest_votes: tuple[CastVote, ...]
    """The last ten votes, the newest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CastVote:
    """One query's vote, as a test shows it."""

    query_id: str | None
    """The search it comes from; None: it named none."""
    arm: Arm
    difference: float
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """One number of both sides."""

    control: float
    treatment: float
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowAgreement:
    """How alike the lists with and without a change were, on average over the runs that have the number."""

    rank_correlation: float | None
    """Kendall's tau-b of what both lists have; None: never two shared results."""
    set_overlap: float | None
    """Jaccard: shared results / results of either."""
    rbo: float | None
    """Rank-biased overlap: as the overlap, with the first results counting most."""
    order_differences: float | None
    """Pairs of shared results in another order."""
    top_changed: int
    """Runs with another first result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedSearch:
    """A search whose list a change would alter."""

    query_id: str
    classified: str
    rbo: float | None
    entered: tuple[str, ...]
    """Memories that only the list with the change has."""
    left: tuple[str, ...]
    """Memories that only the list without it has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowSummary:
    """What shadow runs came to."""

    runs: int
    """Searches that were run both ways."""
    classes: Mapping[str, int]
    """How many were identical, minor, major, incompatible."""
    problems: int
    """Runs in which the treatment gave no answer."""
    dropped: int
    """Searches of the sample that were not run the other way, because too many were waiting."""
    judged: int
    """Runs of which judgments say who ranked better."""
    mean_mrr_delta: float | None
    mean_ndcg_delta: float | None
    latency_p95_ms: Sides | None
    by_intent: Mapping[str, ShadowGroup]
    """The same by what the searches were after."""
    sessions: int
    """Sessions that the searches came from."""
    changed_sessions: int
    """Sessions in which the treatment changed at least one list."""
    first_at: datetime | None
    """When the oldest of these runs was made; None: there is none."""
    last_at: datetime | None
    agreement: ShadowAgreement | None = None
    """None: no two lists were compared."""
    most_changed: tuple[ChangedSearch, ...] = ()
    """The searches whose lists differ most, at most five; identical ones are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowGroup:
    """What the shadow runs of one kind of search came to."""

    runs: int
    changed: int
    """Lists that are not identical."""
    judged: int
    mean_mrr_delta: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowList:
    """What shadow runs came to, by change."""

    changes: Mapping[str, ShadowSummary]


@dataclass(frozen=True, slots=True)
class GraduationCondition:
    """One condition of graduation."""

    name: str
    holds: bool | None
    """None: it cannot be decided yet."""
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
    no_votes_because: str
    """Why no vote can come as things are, and what to do; empty when votes come."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedChanges:
    """The guardrails of every change that has graduated, by feature; what broke one was taken back."""

    guardrails: Mapping[str, tuple[Guardrail, ...]]
