"""What is written down while a change climbs the ladder: votes, interleaved lists, and the steps it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from assay.errors import BadValue
from assay.records import values
from assay.records.checked import allow, one_of, require


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
    """How a step ended, or where it stands."""

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
            raise BadValue(f"a vote of {self.difference:g}", remedy="Give a difference from -1 to 1.")
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
