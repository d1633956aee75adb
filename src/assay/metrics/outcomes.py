"""Short words for the outcomes that metric functions return."""

from __future__ import annotations

from assay.records.evaluations import Cause, Outcome, OutcomeKind

NO_JUDGE_ASKED = "no judge was asked for this metric"
"""The reason of a metric that needs a judge, where there was none."""


def not_applicable(reason: str, cause: Cause | None = None) -> Outcome:
    """The question does not arise."""
    return Outcome.missing(OutcomeKind.NOT_APPLICABLE, reason, cause)


def no_judge() -> Outcome:
    """It needs a judge, and there was none."""
    return not_applicable(NO_JUDGE_ASKED, Cause.NO_JUDGE)


def abstained(reason: str = "the system declined to answer") -> Outcome:
    """There is no answer to measure."""
    return Outcome.missing(OutcomeKind.ABSTAINED, reason)


def judge_failed(reason: str) -> Outcome:
    """It cannot be decided."""
    return Outcome.missing(OutcomeKind.JUDGE_FAILED, reason)


def system_failed(reason: str) -> Outcome:
    """The system under test gave nothing to measure."""
    return Outcome.missing(OutcomeKind.SYSTEM_FAILED, reason)


def skipped(reason: str, cause: Cause | None = None) -> Outcome:
    """What is needed to measure it was not recorded, or it was never tried."""
    return Outcome.missing(OutcomeKind.SKIPPED, reason, cause)


def yes_or_no(answer: bool) -> Outcome:
    """1 for yes, 0 for no."""
    return Outcome.scored(float(answer))


def share(part: float, whole: float, nothing: str) -> Outcome:
    """Part of whole; `nothing` is the reason given when the whole is empty."""
    return Outcome.scored(part / whole) if whole else not_applicable(nothing)
