"""Tests with real traffic: interleaving, sample-ratio check, Beta-Binomial comparison, expected clicks.

- Team-draft interleaving.
- Sample-ratio check of a split test.
- Beta-Binomial: the probability that the treatment is better.
- Clicks over expected clicks.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from assay.errors import BadValue
from assay.statistics.inputs import Floats, open_share, whole, within
from assay.statistics.special import beta_cdf, log_beta

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

# --- Team-draft interleaving ---
#
# In each round a coin says which ranking picks first; each then adds its best item that is not yet in the list
# (Radlinski, Kurup and Joachims 2008). An item belongs to the ranking that picked it, and what the reader used (read,
# cited, validated) is credit for its team. Wins over many queries go into a sign test here, or one by one into
# `sequential` as votes of -1, 0 and 1.

Team = Literal["control", "treatment"]


class Drafted(NamedTuple):
    """One place of the merged list."""

    item: str
    team: Team


class Credit(NamedTuple):
    """What each ranking earned on one query."""

    control: int
    treatment: int

    @property
    def vote(self) -> int:
        """1 when the treatment won, -1 when it lost, 0 for a tie: a vote of the e-process."""
        return (self.treatment > self.control) - (self.treatment < self.control)


@dataclass(frozen=True, kw_only=True, slots=True)
class SignTest:
    """Whether wins outnumber losses by more than a fair coin explains."""

    p: float
    """Two-sided, exact; ties are left out."""
    floor: float
    """The smallest p that so many decided queries can give."""
    wins: int
    losses: int
    ties: int


def team_draft(
    control: Sequence[str], treatment: Sequence[str], *, length: int, rng: np.random.Generator
) -> tuple[Drafted, ...]:
    """Merge two rankings into one list of at most so many items."""
    whole(length, "length", least=0)
    queues: dict[Team, list[str]] = {"control": list(control), "treatment": list(treatment)}
    merged: dict[str, Team] = {}
    while len(merged) < length and any(item not in merged for queue in queues.values() for item in queue):
        for team in _round(rng):
            pick = next((item for item in queues[team] if item not in merged), None)
            if pick is not None and len(merged) < length:
                merged[pick] = team
    return tuple(Drafted(item, team) for item, team in merged.items())


def _round(rng: np.random.Generator) -> tuple[Team, Team]:
    return ("control", "treatment") if rng.random() < 0.5 else ("treatment", "control")


def credit(merged: Sequence[Drafted], used: Collection[str]) -> Credit:
    """Count the used items of each team; what was never shown earns nothing."""
    chosen = set(used)
    teams = [drafted.team for drafted in merged if drafted.item in chosen]
    return Credit(control=teams.count("control"), treatment=teams.count("treatment"))


def sign_test(credits_earned: Sequence[Credit]) -> SignTest:
    """Test over queries that neither ranking wins more often."""
    votes = [earned.vote for earned in credits_earned]
    return sign_test_of(wins=votes.count(1), losses=votes.count(-1), ties=votes.count(0))


def sign_test_of(*, wins: int, losses: int, ties: int = 0) -> SignTest:
    """The exact two-sided sign test of counts."""
    n = whole(wins, "wins", least=0) + whole(losses, "losses", least=0)
    most = max(wins, losses)
    # The upper binomial tail P(X >= k) is the incomplete beta function at one half.
    tail = beta_cdf(0.5, most, n - most + 1) if most else 1.0
    return SignTest(
        p=min(1.0, 2.0 * tail),
        floor=min(1.0, math.ldexp(2.0, -n)),
        wins=wins,
        losses=losses,
        ties=whole(ties, "ties", least=0),
    )


# --- Sample-ratio check of a split test ---
#
# A split that is not fair says that something between coin and vote is broken (an arm that fails, is not logged or is
# not asked), and then no outcome of the test means anything. So the ratio is looked at before the evidence: while one
# side has fewer than `FEWEST_PER_ARM` votes, or the split is less likely than `DOUBTFUL`, a test decides nothing; a
# split less likely than `ALARM` pauses it.

FEWEST_PER_ARM = 10
"""Votes that each side of a split needs before the test may decide."""
DOUBTFUL = 0.01
"""While the split is less likely than this by chance, the test decides nothing."""
ALARM = 0.001
"""A split less likely than this by chance pauses the test."""
ALARM_FROM = 20
"""Votes of both sides before the alarm can sound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRatio:
    """How the votes of a split test are divided between the sides."""

    control: int
    treatment: int
    p: float
    """The chance that a fair coin divides so many votes at least as unevenly."""

    @property
    def sentence(self) -> str:
        """The counts and their p, to be read."""
        return f"{self.control} votes of the control to {self.treatment} of the treatment (p = {self.p:.2g})"

    @property
    def withheld(self) -> str:
        """Why the test may not decide yet; empty when it may."""
        if self.p < DOUBTFUL:
            return f"No decision: {self.sentence} is not a fair split."
        if min(self.control, self.treatment) < FEWEST_PER_ARM:
            return f"No decision before each side has {FEWEST_PER_ARM} votes: {self.sentence}."
        return ""

    @property
    def may_decide(self) -> bool:
        """Whether the evidence of the test may be listened to."""
        return not self.withheld

    @property
    def alarming(self) -> bool:
        """Whether the split is so unlikely that the test has to pause."""
        return self.control + self.treatment >= ALARM_FROM and self.p < ALARM


def sample_ratio(*, control: int, treatment: int) -> SampleRatio:
    """Return the ratio of a split test from the number of votes of each side."""
    return SampleRatio(control=control, treatment=treatment, p=sign_test_of(wins=treatment, losses=control).p)


# --- Beta-Binomial: the probability that the treatment is better ---
#
# The chance is an exact finite sum (Evan Miller's form of it), since whole-number priors keep every term a ratio of
# beta functions. It answers "how sure am I now", and looking after every query inflates false decisions like any fixed
# test: for stopping early use `sequential`.


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


# --- Clicks over expected clicks ---
#
# Raw click-through rewards whatever was shown first. Here each showing is expected to earn the rate of its place, over
# all queries; what an item earned is held against what its places would have earned anyway (Zhang and Jones, WWW
# 2007). With a Gamma(1, 1) prior on the ratio, few showings stay near 1, many showings without a click fall below it,
# and the chance that the ratio is above 1 is a sum of Poisson terms. 1 therefore means: as good as the average item
# there.

PRIOR_CLICKS = 1.0
PRIOR_EXPECTED = 1.0
"""The prior is worth one expected click, at the average ratio of 1."""


class Showing(NamedTuple):
    """One item shown for one query."""

    query: str
    item: str
    place: int
    """Rank in the list, from 1."""
    clicked: bool


class Attraction(NamedTuple):
    """What is known of one item for one query."""

    shown: int
    clicks: int
    expected: float
    """Clicks that its places would have earned from an average item."""

    @property
    def ratio(self) -> float:
        """Clicks over expected clicks, held near 1 by the prior."""
        return (self.clicks + PRIOR_CLICKS) / (self.expected + PRIOR_EXPECTED)

    @property
    def above_average(self) -> float:
        """The chance that the true ratio is above 1."""
        rate = self.expected + PRIOR_EXPECTED
        terms = (i * math.log(rate) - rate - math.lgamma(i + 1) for i in range(self.clicks + 1))
        return min(math.fsum(map(math.exp, terms)), 1.0)

    @property
    def click_through(self) -> float:
        """Clicks for each showing, wherever it was shown."""
        return self.clicks / self.shown


def place_rates(showings: Sequence[Showing]) -> dict[int, float]:
    """How often an item is clicked at each place, over all queries."""
    shown: dict[int, int] = defaultdict(int)
    clicked: dict[int, int] = defaultdict(int)
    for showing in showings:
        shown[showing.place] += 1
        clicked[showing.place] += showing.clicked
    return {place: clicked[place] / shown[place] for place in sorted(shown)}


def attractions(
    showings: Iterable[Showing], rates: Mapping[int, float] | None = None
) -> dict[tuple[str, str], Attraction]:
    """What is known of each item for each query. Without rates of places, they are those of these showings."""
    seen = list(showings)
    if any(showing.place < 1 for showing in seen):
        worst = min(showing.place for showing in seen)
        raise BadValue(f"an item was shown at place {worst}", remedy="Count places from 1.")
    rates = place_rates(seen) if rates is None else rates
    found: dict[tuple[str, str], Attraction] = {}
    for showing in seen:
        before = found.get((showing.query, showing.item), Attraction(0, 0, 0.0))
        found[showing.query, showing.item] = Attraction(
            before.shown + 1, before.clicks + showing.clicked, before.expected + rates[showing.place]
        )
    return found
