"""What became of one case: a value, or one of five reasons why there is none. Missing is never zero."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assay.errors import BadValue
from assay.records import values
from assay.records.checked import allow, one_of, require


class OutcomeKind(StrEnum):
    """What became of one case."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    """The question does not arise: recall of a query with nothing relevant."""
    ABSTAINED = "abstained"
    """The system declined to answer."""
    JUDGE_FAILED = "judge_failed"
    """There was an answer, and whoever should have judged it could not."""
    SYSTEM_FAILED = "system_failed"
    """The system under test raised, timed out, or returned what cannot be read."""
    SKIPPED = "skipped"
    """It was never tried: sampling, a budget, an unresolved anchor."""


class Cause(StrEnum):
    """Why a case has no value, where a program has to know; `reason` says it to people."""

    NO_JUDGE = "no_judge"
    """Only a judge can decide the metric, and none was asked."""
    UNTOLD = "untold"
    """The system does not tell what the metric needs."""
    UNPLACED = "unplaced"
    """Results could not be placed among the dataset's documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One case under one metric."""

    kind: OutcomeKind
    value: float | None = None
    reason: str = ""
    cause: Cause | None = None

    def __post_init__(self) -> None:
        require(self, one_of(OutcomeKind), "kind")
        allow(self, values.finite, "value")
        require(self, values.optional_label, "reason")
        allow(self, one_of(Cause), "cause")
        if (self.kind is OutcomeKind.SCORED) != (self.value is not None):
            raise BadValue(
                f"outcome {self.kind} has the value {self.value}", remedy="A scored case has a value, no other has."
            )

    @staticmethod
    def scored(value: float) -> Outcome:
        """A case with a value."""
        return Outcome(kind=OutcomeKind.SCORED, value=value)

    @staticmethod
    def missing(kind: OutcomeKind, reason: str, cause: Cause | None = None) -> Outcome:
        """A case without one, and why."""
        return Outcome(kind=kind, reason=reason, cause=cause)
