"""The four conditions a change must meet before everybody gets it.

Each is a sentence with its figures, and holds, does not hold, or cannot be told yet; only four that hold let a change
through. A change that does nothing never passes: its gain must reach the flag's threshold with a lower bound above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assay.flags import Flag

SLOWEST = 1.20
"""How much slower the treatment's p95 may be."""
LEAST_LATENCIES = 30
"""Below so many, a p95 says nothing."""


class Condition(NamedTuple):
    """One thing graduation asks for."""

    name: str
    holds: bool | None
    """None: cannot be told yet."""
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gains:
    """What the treatment gained on the evaluation corpus, over queries that both sides answered."""

    queries: int
    mean: float
    low: float
    """The lower end of the 95 % interval."""
    metric: str = "mrr@5"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """One number of both sides."""

    control: float
    treatment: float
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GraduationEvidence:
    """All that is known of a change; None for what was not measured."""

    gains: Gains | None = None
    decision: str | None = None
    """Of the sequential test: better, worse, futile; None while it runs or when there was none."""
    votes: int = 0
    attempt: int = 1
    """Which attempt at the change the test is."""
    alpha: float | None = None
    """The chance of a false decision that this attempt may spend; smaller with each attempt."""
    test_problem: str = ""
    """Why the decision of the test does not count; empty when it does."""
    offline_problem: str = ""
    """Why the offline step forbids graduation; empty when it does not."""
    foreign_corpus: str = ""
    """Why the gain was not measured on this memory's own corpus; empty when it was."""
    constitutional: Sides | None = None
    """The share of searches that gave every constitutional memory."""
    latency_p95_ms: Sides | None = None


def conditions(flag: Flag, evidence: GraduationEvidence) -> tuple[Condition, ...]:
    """The four, in the order they are asked."""
    return (
        _gain(flag, evidence),
        _check_accepted(evidence),
        _constitutional(evidence.constitutional),
        _latency(evidence.latency_p95_ms),
    )


def all_hold(found: tuple[Condition, ...]) -> bool:
    """Whether a change may graduate."""
    return all(one.holds is True for one in found)


def _gain(flag: Flag, evidence: GraduationEvidence) -> Condition:
    name, gains = "gain", evidence.gains
    if evidence.offline_problem:
        return Condition(name, False, evidence.offline_problem)
    wanted = f"at least {flag.graduation_threshold:+g} over {flag.minimum_samples} queries"
    if gains is None:
        return Condition(name, None, f"Not measured on an evaluation corpus; {wanted} are needed.")
    seen = f"{gains.metric} {gains.mean:+.4f} (at least {gains.low:+.4f}) over {gains.queries} queries"
    if evidence.foreign_corpus:
        return Condition(name, None, f"{seen}, which does not count: {evidence.foreign_corpus}")
    if gains.queries < flag.minimum_samples:
        return Condition(name, None, f"{seen}; {wanted} are needed.")
    holds = gains.mean >= flag.graduation_threshold and gains.low > 0.0
    return Condition(name, holds, f"{seen}; needed is {wanted}, with a lower bound above 0.")


def _check_accepted(evidence: GraduationEvidence) -> Condition:
    name = "test"
    which = f"attempt {evidence.attempt}"
    if evidence.alpha is not None:
        which += f", alpha {evidence.alpha:.2g}"
    if evidence.test_problem:
        return Condition(name, None, f"{evidence.test_problem} ({which}, {evidence.votes} votes)")
    if evidence.decision is None:
        return Condition(name, None, f"The sequential test ({which}) has not decided, after {evidence.votes} votes.")
    sentence = f"The sequential test ({which}) says {evidence.decision}, by {evidence.votes} votes."
    return Condition(name, evidence.decision == "better", sentence)


def _constitutional(rates: Sides | None) -> Condition:
    name = "constitutional"
    if rates is None:
        return Condition(name, None, "Whether constitutional memories still surface was not measured.")
    sentence = (
        f"Constitutional memories surface in {rates.treatment:.1%} of searches, in the control {rates.control:.1%}."
    )
    return Condition(name, rates.treatment >= rates.control, sentence)


def _latency(p95: Sides | None) -> Condition:
    name = "latency"
    if p95 is None or p95.n < LEAST_LATENCIES:
        seen = 0 if p95 is None else p95.n
        return Condition(name, None, f"Only {seen} searches were timed on both sides; {LEAST_LATENCIES} are needed.")
    ratio = p95.treatment / p95.control if p95.control > 0.0 else float("inf")
    sentence = f"p95 {p95.treatment:.1f} ms against {p95.control:.1f} ms; at most {SLOWEST - 1:.0%} more is allowed."
    return Condition(name, ratio <= SLOWEST, sentence)
