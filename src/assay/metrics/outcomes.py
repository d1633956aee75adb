"""Short words for the outcomes that metric functions return."""

from __future__ import annotations

from assay.records.outcome import Outcome, OutcomeKind


def not_applicable(reason: str) -> Outcome:
    """The question does not arise."""
    return Outcome.missing(OutcomeKind.NOT_APPLICABLE, reason)


def abstained(reason: str = "the system declined to answer") -> Outcome:
    """There is no answer to measure."""
    return Outcome.missing(OutcomeKind.ABSTAINED, reason)


def judge_failed(reason: str) -> Outcome:
    """Nobody could say."""
    return Outcome.missing(OutcomeKind.JUDGE_FAILED, reason)


def system_failed(reason: str) -> Outcome:
    """The system under test gave nothing to measure."""
    return Outcome.missing(OutcomeKind.SYSTEM_FAILED, reason)


def skipped(reason: str) -> Outcome:
    """What is needed to measure it was not recorded, or it was never tried."""
    return Outcome.missing(OutcomeKind.SKIPPED, reason)


def yes_or_no(answer: bool) -> Outcome:
    """1 for yes, 0 for no."""
    return Outcome.scored(float(answer))


def share(part: float, whole: float, nothing: str) -> Outcome:
    """Part of whole; `nothing` is the reason given when the whole is empty."""
    return Outcome.scored(part / whole) if whole else not_applicable(nothing)
