"""Conditions for graduating a change, and guardrails after it has graduated.

- The four conditions of graduation.
- Guardrails after graduation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.records.flags import GraduationCondition, Guardrail, Sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.flags import Flag
    from assay.records import LoggedQuery
    from assay.statistics.inputs import Floats

# --- The four conditions of graduation ---
#
# Each is a sentence with its figures, and holds, does not hold, or cannot be told yet; only four that hold let a
# change through. A change that does nothing never passes: its gain must reach the flag's threshold with a lower bound
# above 0.

SLOWEST = 1.20
"""How much slower the treatment's p95 may be."""
LEAST_LATENCIES = 30
"""Latencies needed for a p95."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gains:
    """What the treatment gained on the evaluation corpus, over queries that both sides answered."""

    queries: int
    mean: float
    low: float
    """The lower end of the 95 % interval."""
    metric: str = "mrr@5"


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


def conditions(flag: Flag, evidence: GraduationEvidence) -> tuple[GraduationCondition, ...]:
    """Return the four conditions in order."""
    return (
        _gain(flag, evidence),
        _check_accepted(evidence),
        _constitutional(evidence.constitutional),
        _check_latency(evidence.latency_p95_ms),
    )


def all_hold(found: tuple[GraduationCondition, ...]) -> bool:
    """Whether a change may graduate."""
    return all(condition.holds is True for condition in found)


def _gain(flag: Flag, evidence: GraduationEvidence) -> GraduationCondition:
    name, gains = "gain", evidence.gains
    if evidence.offline_problem:
        return GraduationCondition(name, False, evidence.offline_problem)
    wanted = f"at least {flag.graduation_threshold:+g} over {flag.minimum_samples} queries"
    if gains is None:
        return GraduationCondition(name, None, f"Not measured on an evaluation corpus; {wanted} are needed.")
    seen = f"{gains.metric} {gains.mean:+.4f} (at least {gains.low:+.4f}) over {gains.queries} queries"
    if evidence.foreign_corpus:
        return GraduationCondition(name, None, f"{seen}, which does not count: {evidence.foreign_corpus}")
    if gains.queries < flag.minimum_samples:
        return GraduationCondition(name, None, f"{seen}; {wanted} are needed.")
    holds = gains.mean >= flag.graduation_threshold and gains.low > 0.0
    return GraduationCondition(name, holds, f"{seen}; needed is {wanted}, with a lower bound above 0.")


def _check_accepted(evidence: GraduationEvidence) -> GraduationCondition:
    name = "test"
    which = f"attempt {evidence.attempt}"
    if evidence.alpha is not None:
        which += f", alpha {evidence.alpha:.2g}"
    if evidence.test_problem:
        return GraduationCondition(name, None, f"{evidence.test_problem} ({which}, {evidence.votes} votes)")
    if evidence.decision is None:
        return GraduationCondition(
            name, None, f"The sequential test ({which}) has not decided, after {evidence.votes} votes."
        )
    sentence = f"The sequential test ({which}) says {evidence.decision}, by {evidence.votes} votes."
    return GraduationCondition(name, evidence.decision == "better", sentence)


def _constitutional(rates: Sides | None) -> GraduationCondition:
    name = "constitutional"
    if rates is None:
        return GraduationCondition(name, None, "Whether constitutional memories still surface was not measured.")
    sentence = (
        f"Constitutional memories surface in {rates.treatment:.1%} of searches, in the control {rates.control:.1%}."
    )
    return GraduationCondition(name, rates.treatment >= rates.control, sentence)


def _check_latency(p95: Sides | None) -> GraduationCondition:
    name = "latency"
    if p95 is None or p95.n < LEAST_LATENCIES:
        seen = 0 if p95 is None else p95.n
        return GraduationCondition(
            name, None, f"Only {seen} searches were timed on both sides; {LEAST_LATENCIES} are needed."
        )
    ratio = p95.treatment / p95.control if p95.control > 0.0 else float("inf")
    sentence = f"p95 {p95.treatment:.1f} ms against {p95.control:.1f} ms; at most {SLOWEST - 1:.0%} more is allowed."
    return GraduationCondition(name, ratio <= SLOWEST, sentence)


# --- Guardrails after graduation ---
#
# Three numbers of the searches since graduation are held against those before: p95 latency (not more than 20 % worse,
# and the interval of the ratio must exclude that), the quality proxy (a fall of 5 % or more that is no chance), and
# whether every constitutional memory still surfaces. A guardrail that cannot be told yet holds nothing up.

LEAST = 50
"""Searches needed on each side before a guardrail is checked."""
FALL = 0.05
"""The share of the quality proxy that may be lost."""
CHANCE = 0.01
"""A break less likely than this by chance is one."""
RESAMPLES = 2_000


def guardrails(
    before: Sequence[LoggedQuery], after: Sequence[LoggedQuery], surfacing: float | None, *, rng: np.random.Generator
) -> tuple[Guardrail, ...]:
    """What is watched, by the searches before and after graduation and by a look at constitutional memories now."""
    return (
        _watch_latency(_latencies(before), _latencies(after), rng),
        _proxy(_proxies(before), _proxies(after), rng),
        _surfacing(surfacing),
    )


def _latencies(queries: Sequence[LoggedQuery]) -> Floats:
    return np.asarray(
        [query.total_latency_ms for query in queries if query.total_latency_ms is not None], dtype=np.float64
    )


def _proxies(queries: Sequence[LoggedQuery]) -> Floats:
    return np.asarray(
        [query.quality_proxy_score for query in queries if query.quality_proxy_score is not None], np.float64
    )


def _too_few(name: str, before: Floats, after: Floats) -> Guardrail | None:
    if min(before.size, after.size) >= LEAST:
        return None
    return Guardrail(name, None, f"{before.size} searches before and {after.size} after; {LEAST} of each are needed.")


def _watch_latency(before: Floats, after: Floats, rng: np.random.Generator) -> Guardrail:
    if few := _too_few("latency", before, after):
        return few
    ratios = _p95s(after, rng) / np.maximum(_p95s(before, rng), 1e-9)
    low = float(np.quantile(ratios, CHANCE))
    was, now = float(np.quantile(before, 0.95)), float(np.quantile(after, 0.95))
    sentence = f"p95 {now:.1f} ms, before {was:.1f} ms; the ratio is at least {low:.2f}, allowed is {SLOWEST:.2f}."
    return Guardrail("latency", low > SLOWEST, sentence)


def _p95s(values: Floats, rng: np.random.Generator) -> Floats:
    rows = rng.integers(0, values.size, (RESAMPLES, values.size))
    p95s: Floats = np.quantile(values[rows], 0.95, axis=1)
    return p95s


def _proxy(before: Floats, after: Floats, rng: np.random.Generator) -> Guardrail:
    if few := _too_few("quality proxy", before, after):
        return few
    was, now = float(before.mean()), float(after.mean())
    together = np.concatenate([before, after])
    shuffled = rng.permuted(np.tile(together, (RESAMPLES, 1)), axis=1)
    falls = shuffled[:, : before.size].mean(axis=1) - shuffled[:, before.size :].mean(axis=1)
    p = (int(np.sum(falls >= was - now)) + 1) / (RESAMPLES + 1)
    broken = now < was * (1.0 - FALL) and p < CHANCE
    return Guardrail("quality proxy", broken, f"{now:.3f}, before {was:.3f} (p = {p:.3f}); {FALL:.0%} may be lost.")


def _surfacing(rate: float | None) -> Guardrail:
    if rate is None:
        return Guardrail("constitutional", None, "There is no constitutional memory to look for.")
    return Guardrail("constitutional", rate < 1.0, f"{rate:.0%} of constitutional memories surface.")
