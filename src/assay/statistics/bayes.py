"""Beta-Binomial: the chance that the treatment's success rate is higher than the control's.

The chance is an exact finite sum (Evan Miller's form of it), since whole-number priors keep every term a ratio of
beta functions. It answers "how sure am I now", and looking after every query inflates false decisions like any fixed
test: for stopping early use `sequential`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.statistics.checks import Floats, open_share, whole, within
from assay.statistics.special import log_beta


class Successes(NamedTuple):
    """How many of n tries went well."""

    successes: int
    n: int


class Prior(NamedTuple):
    """Beta(successes, failures) before the first try; (1, 1) holds every rate for equally likely."""

    successes: int = 1
    failures: int = 1


UNIFORM = Prior()
DECISION = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class BayesResult:
    """How sure the data make us, and whether that is enough."""

    treatment_better: float
    """P(treatment rate > control rate)."""
    control_rate: float
    """Posterior mean."""
    treatment_rate: float
    threshold: float
    decision: Literal["better", "worse", "undecided"]


def beta_binomial(
    control: Successes, treatment: Successes, *, prior: Prior = UNIFORM, threshold: float = DECISION
) -> BayesResult:
    """Compare two success rates; decided when one side is more likely than the threshold."""
    open_share(threshold, "threshold")
    before, after = _posterior(control, "control", prior), _posterior(treatment, "treatment", prior)
    chance = chance_greater(after, before)
    # Counted from its own side: 1 - chance has lost its digits when chance is close to 1.
    other = chance_greater(before, after)
    decision: Literal["better", "worse", "undecided"] = "undecided"
    if chance >= threshold:
        decision = "better"
    elif other >= threshold:
        decision = "worse"
    return BayesResult(
        treatment_better=chance,
        control_rate=before.successes / sum(before),
        treatment_rate=after.successes / sum(after),
        threshold=threshold,
        decision=decision,
    )


def chance_greater(first: Prior, second: Prior) -> float:
    """P(X > Y) for X ~ Beta(first), Y ~ Beta(second), all four shapes whole numbers.

    The i-th of `first.successes` terms is B(a2 + i, b1 + b2) / ((b1 + i) B(1 + i, b1) B(a2, b2)); each is the one
    before it times (a2 + i)(b1 + i) / ((a2 + b1 + b2 + i)(1 + i)).
    """
    (a1, b1), (a2, b2) = first, second
    i = np.arange(a1 - 1, dtype=np.float64)
    start = log_beta(a2, b1 + b2) - log_beta(a2, b2)
    steps = np.log(a2 + i) + np.log(b1 + i) - np.log(a2 + b1 + b2 + i) - np.log(1.0 + i)
    terms = np.concatenate([[start], start + np.cumsum(steps)])
    return float(min(1.0, np.exp(terms).sum()))


_GRID = 20_000
"""Cells of [0, 1] over which densities with shapes that are not whole numbers are summed."""


def chance_of_higher_mean(control: Sequence[float], treatment: Sequence[float]) -> float:
    """Return P(the treatment's mean outcome > the control's) of two independent samples of outcomes in [0, 1].

    An outcome y counts as y of a success and 1 - y of a failure. Of all outcomes in [0, 1] with the same mean, those of
    a coin vary most, so the chance is never surer than the data are. Each mean begins uniform.
    """
    samples = [within(sample, name, 0.0, 1.0) for sample, name in ((control, "control"), (treatment, "treatment"))]
    before, after = (_mean_density(float(sample.sum()), len(sample)) for sample in samples)
    below = np.cumsum(before) - before / 2.0
    return float(min(1.0, (after * below).sum()))


def _mean_density(successes: float, n: int) -> Floats:
    """Return Beta(1 + successes, 1 + n - successes) as the mass of each cell of the grid."""
    at = (np.arange(_GRID) + 0.5) / _GRID
    logs = successes * np.log(at) + (n - successes) * np.log1p(-at)
    mass = np.exp(logs - logs.max())
    density: Floats = mass / mass.sum()
    return density


def _posterior(seen: Successes, name: str, prior: Prior) -> Prior:
    n = whole(seen.n, f"{name} n", least=0)
    if whole(seen.successes, f"{name} successes", least=0) > n:
        raise BadValue(f"{name} has {seen.successes} successes of {n}", remedy="Give at most n successes.")
    a, b = whole(prior.successes, "prior successes", least=1), whole(prior.failures, "prior failures", least=1)
    return Prior(a + seen.successes, b + n - seen.successes)
