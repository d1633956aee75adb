"""What a panel says at a checkpoint: each role's result, the aggregate, an escalation, and what became of it all.

Roles and dimensions are kept as text, since a user may add some. Whatever could not be had is an outcome or a state of
its own with its reason; no score is made up for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from assay.records import values
from assay.records.checked import allow, one_of, require
from assay.records.judging import JudgeKind
from assay.records.research import Checkpoint, Issue, IterationMode


class RoleOutcome(StrEnum):
    """What became of asking one role."""

    SCORED = "scored"
    UNREADABLE = "unreadable"
    """It replied, and no scores could be read, also after it was asked once more."""
    UNAVAILABLE = "unavailable"
    """Its model could not be reached or its budget is spent."""
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    """It raised, or gave what no score can be: a fault of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleResult:
    """One role at one checkpoint."""

    role: str
    evaluator: str
    """Who spoke for it: `builtin-plan/1`, or the model."""
    kind: JudgeKind
    outcome: RoleOutcome = RoleOutcome.SCORED
    scores: Mapping[str, float] = field(default_factory=dict)
    """Empty unless the outcome is `scored`."""
    confidence: float | None = None
    critique: str = ""
    issues: tuple[Issue, ...] = ()
    reason: str = ""
    """Why there are no scores."""
    raw: tuple[str, ...] = ()
    """What a model replied, word for word."""
    flags: tuple[str, ...] = ()
    """What in the material looked as if it spoke to the evaluator."""
    latency_ms: float = 0.0
    tokens: int | None = None
    prompt: str = ""
    """`prompt_id@version` of what was asked; empty: rules."""

    def __post_init__(self) -> None:
        require(self, one_of(RoleOutcome), "outcome")
        allow(self, values.share, "confidence")
        object.__setattr__(self, "scores", {str(key): values.share(one, key) for key, one in self.scores.items()})

    @property
    def scored(self) -> bool:
        """Whether it counts."""
        return self.outcome is RoleOutcome.SCORED


class Trigger(StrEnum):
    """Why a larger model is asked."""

    LOW_CONFIDENCE = "low_confidence"
    DISAGREEMENT = "disagreement"
    BORDERLINE = "borderline"
    EXHAUSTED = "exhausted"
    """The last attempt allowed failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EscalationResult:
    """What the larger model said of the panel."""

    triggers: tuple[Trigger, ...]
    outcome: RoleOutcome
    model: str = ""
    """Empty: none is set up."""
    panel_review: str = ""
    trust: Mapping[str, float] = field(default_factory=dict)
    """How far each role is to be trusted, 0 to 1."""
    verdict: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    raw: tuple[str, ...] = ()
    latency_ms: float = 0.0
    tokens: int | None = None
    prompt: str = ""

    @property
    def scored(self) -> bool:
        """Whether its scores take the place of the panel's."""
        return self.outcome is RoleOutcome.SCORED


class PanelState(StrEnum):
    """How much of a panel stands behind its verdict."""

    FULL = "full"
    DEGRADED = "degraded"
    """Some roles gave nothing, and enough did."""
    NO_QUORUM = "no_quorum"
    """Too few roles scored: there is no verdict."""
    NO_CONFIDENCE = "no_confidence"
    """Every owner has a confidence of 0: there is nothing to weigh by, and no verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelVerdict:
    """What a panel said."""

    checkpoint: Checkpoint
    state: PanelState
    results: tuple[RoleResult, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    """Each dimension's score as it counts: the owner's, or the escalation's."""
    spread: Mapping[str, float] = field(default_factory=dict)
    """Between the highest and the lowest role, by dimension."""
    stood_in: tuple[str, ...] = ()
    """Dimensions whose owner gave nothing and is replaced by what the others said."""
    quiet: tuple[str, ...] = ()
    """Dimensions whose owner had next to no confidence and scored lower than the others; its score counts."""
    aggregate: float | None = None
    confidence: float | None = None
    """Mean of the roles that scored."""
    votes: tuple[int, int] = (0, 0)
    """Roles whose own view passes, and whose does not."""
    triggers: tuple[Trigger, ...] = ()
    escalation: EscalationResult | None = None
    latency_ms: float = 0.0

    @property
    def tied(self) -> bool:
        """As many roles for as against; the aggregate decides all the same."""
        return self.votes[0] == self.votes[1] > 0

    @property
    def contested(self) -> bool:
        """Roles contradict each other, and nobody settled it."""
        return Trigger.DISAGREEMENT in self.triggers and not (self.escalation is not None and self.escalation.scored)

    @property
    def disagreement(self) -> str:
        """Say on what the roles contradict each other; empty where they agree, or where a larger model settled it."""
        if not self.contested and (not self.quiet or (self.escalation is not None and self.escalation.scored)):
            return ""
        told = [self._range(name) for name in self.spread if name in self.quiet or self._apart(name)]
        return f"the evaluators of the {self.checkpoint} disagree: {', '.join(told)}"

    def _apart(self, dimension: str) -> bool:
        return self.contested and self.spread[dimension] == max(self.spread.values())

    def _range(self, dimension: str) -> str:
        given = [one.scores[dimension] for one in self.results if one.scored and dimension in one.scores]
        said = f"{dimension} from {min(given):.2f} to {max(given):.2f}"
        unsure = f" (its owner is unsure of its {self.scores[dimension]:.2f}, which counts all the same)"
        return said + (unsure if dimension in self.quiet else "")

    @property
    def tokens(self) -> int | None:
        """Of every model asked; None: one did not count."""
        asked = [one.tokens for one in self.results if one.kind == "model"]
        asked += [] if self.escalation is None or not self.escalation.model else [self.escalation.tokens]
        known = [one for one in asked if one is not None]
        return sum(known) if len(known) == len(asked) else None


class CheckpointState(StrEnum):
    """What became of a checkpoint."""

    SCORED = "scored"
    SKIPPED = "skipped"
    """It could not be evaluated, and the flow went on."""
    JUDGE_FAILED = "judge_failed"
    """Scores came and could not be read. The flow went on as if it had passed; no pass rate counts it."""
    DISABLED = "disabled"
    """The settings leave it out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointResult:
    """One evaluation at a checkpoint, whatever became of it."""

    checkpoint: Checkpoint
    state: CheckpointState
    passed: bool | None = None
    """None unless it was scored."""
    failed_dimensions: tuple[str, ...] = ()
    """Those below their bar."""
    verdict: PanelVerdict | None = None
    reason: str = ""
    """Why it was not scored, or where scores come from that are not its own."""
    cached: bool = False
    """The same was evaluated before."""
    latency_ms: float = 0.0

    @property
    def score(self) -> float | None:
        """The aggregate, where there is one."""
        return None if self.state is not CheckpointState.SCORED or self.verdict is None else self.verdict.aggregate

    @property
    def scores(self) -> Mapping[str, float]:
        """By dimension; empty unless it was scored."""
        return {} if self.score is None or self.verdict is None else self.verdict.scores

    @property
    def lets_through(self) -> bool:
        """Whether the flow goes on: only a score that was given can stop it."""
        return self.passed is not False


@dataclass(frozen=True, kw_only=True, slots=True)
class IterationDecision:
    """What the critic makes of an attempt that failed."""

    mode: IterationMode
    failure_type: str
    issues: tuple[Issue, ...]
    feedback: str
    """What the planner is told."""
    forced: bool = False
    """The mode is not the critic's: after the second failure everything is planned anew."""
