"""The honest verdict on two systems that answered the same queries.

The p-value is the sign-flip permutation test's, adjusted by Holm over the distinct metrics compared together (metrics
that are functions of each other are one test, see `distinct`); the interval beside it is not adjusted and decides
nothing. `better` and `worse` follow the direction that is good for the metric. `unresolvable` means that no outcome
of this metric could have reached significance with this many queries, the other metrics being as they are: silence
there is no evidence of anything, and the sentence gives how many queries would be.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import BadValue
from assay.records.evaluations import Interval
from assay.statistics.inputs import Floats, Labels, Units, numbers, open_share, positive, same_length, units_of, whole
from assay.statistics.intervals import DIFFERENCE, RESAMPLES, as_bounds, bootstrap_mean
from assay.statistics.paired_tests import (
    FLIPS,
    MOST_QUERIES,
    POWER,
    EffectSize,
    PermutationTest,
    Score,
    effect_size,
    first_of_each_test,
    holm,
    minimum_detectable_effect,
    required_pairs,
    sign_flip_test,
    units_for_p,
    wins_ties_losses,
)

Verdict = Literal["better", "worse", "no_difference_seen", "unresolvable", "too_few", "withheld"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """Per-query values of one metric for two systems, in the same query order."""

    control: ArrayLike
    treatment: ArrayLike
    clusters: Labels | None = None
    higher_is_better: bool = True
    bounds: Sequence[float] | None = DIFFERENCE
    """The range of one difference; None for a metric without limits, such as a latency."""
    over: Hashable = None
    """What identifies the queries, so that metrics which are the same test are found; None: not given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What counts as a finding."""

    alpha: float = 0.05
    power: float = POWER
    effect: float = 0.05
    """The smallest difference that would matter; sentences count the queries that it needs."""
    resamples: int = RESAMPLES
    flips: int = FLIPS

    def __post_init__(self) -> None:
        open_share(self.alpha, "alpha")
        open_share(self.power, "power")
        positive(self.effect, "effect")
        whole(self.resamples, "resamples", least=100)
        whole(self.flips, "flips", least=100)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Everything the pairs say about treatment minus control, and what they do not."""

    verdict: Verdict
    sentence: str
    n: int
    units: int
    """Independent units: clusters where queries share one, else queries."""
    delta: float | None
    interval: Interval | None
    p: float | None
    p_adjusted: float | None
    """After Holm over the distinct metrics compared together."""
    p_floor: float | None
    """The smallest p that this many units can give."""
    score: Score
    effect_size: EffectSize
    minimum_detectable_effect: float | None
    queries_needed: int | None
    """For significance to be possible (unresolvable, too few) or for the effect that matters (no difference seen)."""


_FEWEST_UNITS = 2
"""Without two independent units there is nothing to test."""


class _Measured(NamedTuple):
    """One metric before the correction for the other metrics."""

    pairs: Pairs
    differences: Floats
    units: Units
    test: PermutationTest


class _Standing(NamedTuple):
    """One metric among the others."""

    p_adjusted: float
    best_case: float
    """What `p_adjusted` would be had this metric alone come out as clearly as its units allow."""
    tests: int


def compare(
    control: ArrayLike,
    treatment: ArrayLike,
    *,
    rng: np.random.Generator,
    rules: Rules | None = None,
    clusters: Labels | None = None,
    higher_is_better: bool = True,
    bounds: Sequence[float] | None = DIFFERENCE,
) -> Comparison:
    """Compare two systems on one metric."""
    pairs = Pairs(
        control=control, treatment=treatment, clusters=clusters, higher_is_better=higher_is_better, bounds=bounds
    )
    return compare_all({"metric": pairs}, rng=rng, rules=rules)["metric"]


def compare_all(
    metrics: Mapping[str, Pairs], *, rng: np.random.Generator, rules: Rules | None = None
) -> dict[str, Comparison]:
    """Compare two systems on several metrics at once, with Holm over the distinct ones that can be tested."""
    rules = rules or Rules()
    firsts = first_of_each_test(metrics)
    for name, pairs in metrics.items():
        _differences(name, pairs)  # what cannot be compared is refused before anything is drawn
    # Metrics that are functions of each other share one test, and count once for Holm.
    tests = {
        name: test
        for name, pairs in metrics.items()
        if firsts[name] == name
        and (test := _test(_differences(name, pairs), pairs, rules, len(set(firsts.values())), rng)) is not None
    }
    standings = _standings(tests)
    # The differences of millions of queries are made again for each metric, so that one metric's are held at a time.
    return {
        name: _judge(_measure(name, pairs, tests[firsts[name]]), standings[firsts[name]], rules, rng)
        if firsts[name] in tests
        else _too_few(name, pairs, len(tests) + 1, rules)
        for name, pairs in metrics.items()
    }


def _test(
    differences: Floats, pairs: Pairs, rules: Rules, tests: int, rng: np.random.Generator
) -> PermutationTest | None:
    """The test of one metric; None: there are fewer than two units."""
    if units_of(differences, pairs.clusters).count < _FEWEST_UNITS:
        return None
    # Drawn flips must never be what hides a finding, however many metrics share the alpha.
    flips = max(rules.flips, math.ceil(10 * tests / rules.alpha))
    return sign_flip_test(differences, rng=rng, flips=flips, clusters=pairs.clusters)


def _measure(name: str, pairs: Pairs, test: PermutationTest) -> _Measured:
    differences = _differences(name, pairs)
    units = units_of(differences, pairs.clusters)
    return _Measured(pairs, differences, units, _in_own_unit(test, units))


def _in_own_unit(test: PermutationTest, units: Units) -> PermutationTest:
    """The test of the first metric of its kind, with the mean that this one has on its own scale."""
    return test if test.mean == units.mean else replace(test, mean=units.mean)


def _standings(tests: Mapping[str, PermutationTest]) -> dict[str, _Standing]:
    p_values = [test.p for test in tests.values()]
    adjusted = holm(p_values).tolist()
    best = [
        float(holm([*p_values[:place], test.floor, *p_values[place + 1 :]])[place])
        for place, test in enumerate(tests.values())
    ]
    return {name: _Standing(adjusted[place], best[place], len(tests)) for place, name in enumerate(tests)}


def _differences(name: str, pairs: Pairs) -> Floats:
    before = numbers(pairs.control, f"{name} control", least=0)
    after = numbers(pairs.treatment, f"{name} treatment", least=0)
    same_length(before, f"{name} control", after, f"{name} treatment")
    if pairs.clusters is not None:
        same_length(before, f"{name} control", pairs.clusters, f"{name} clusters")
    limits, found = as_bounds(pairs.bounds), after - before
    if limits is not None and len(found) and not limits.low <= found.min() <= found.max() <= limits.high:
        raise BadValue(
            f"{name} has differences from {found.min():g} to {found.max():g}, outside {tuple(limits)!r}",
            remedy="Give bounds=None for a metric without limits.",
        )
    return found


def _judge(found: _Measured, standing: _Standing, rules: Rules, rng: np.random.Generator) -> Comparison:
    units, test, alpha = found.units, found.test, rules.alpha / standing.tests
    verdict = _verdict(test.mean, standing, rules.alpha, higher_is_better=found.pairs.higher_is_better)
    sigma = units.standard_error * math.sqrt(units.count) if units.vary else None
    smallest = minimum_detectable_effect(units.count, sigma, alpha=alpha, power=rules.power) if sigma else None
    needed = _count_needed(verdict, sigma, alpha, rules)
    interval = _interval(found, rules, rng)
    limits = _Limits(smallest, needed)
    return Comparison(
        verdict=verdict,
        sentence=_sentence(verdict, _describe_difference(interval, test, standing), units, limits, rules),
        n=len(found.differences),
        units=units.count,
        delta=test.mean,
        interval=interval,
        p=test.p,
        p_adjusted=standing.p_adjusted,
        p_floor=test.floor,
        score=_score(found.differences, higher=found.pairs.higher_is_better),
        effect_size=effect_size(found.differences),
        minimum_detectable_effect=smallest,
        queries_needed=needed,
    )


def _verdict(mean: float, standing: _Standing, alpha: float, *, higher_is_better: bool) -> Verdict:
    if standing.best_case > alpha:
        return "unresolvable"
    if standing.p_adjusted > alpha:
        return "no_difference_seen"
    return "better" if (mean > 0) == higher_is_better else "worse"


def _count_needed(verdict: Verdict, sigma: float | None, alpha: float, rules: Rules) -> int | None:
    """Units for significance to be possible, or for the effect that matters to be seen."""
    if verdict == "unresolvable":
        return units_for_p(alpha)
    if verdict != "no_difference_seen" or sigma is None or sigma > rules.effect * math.sqrt(MOST_QUERIES) / 10:
        return None
    return required_pairs(rules.effect, sigma, alpha=alpha, power=rules.power)


def _interval(found: _Measured, rules: Rules, rng: np.random.Generator) -> Interval:
    return bootstrap_mean(
        found.differences,
        rng=rng,
        level=1.0 - rules.alpha,
        resamples=rules.resamples,
        clusters=found.pairs.clusters,
        bounds=found.pairs.bounds,
    )


def _score(differences: Floats, *, higher: bool) -> Score:
    return wins_ties_losses(differences if higher else -differences)


class _Limits(NamedTuple):
    """What these queries cannot show."""

    smallest: float | None
    needed: int | None


def _sentence(verdict: Verdict, seen: str, units: Units, limits: _Limits, rules: Rules) -> str:
    kind = _kind(units)
    if verdict == "unresolvable":
        silent = f"No outcome of {units.count} {kind} could have been significant at {rules.alpha:g}"
        return f"{silent}; it takes at least {limits.needed}."
    if verdict != "no_difference_seen":
        return f"{verdict.capitalize()}: {seen} over {units.count} {kind}."
    if limits.smallest is None:
        return f"No difference seen: {seen}; all {units.count} {kind} changed alike."
    sight = f"{units.count} {kind} see differences of {limits.smallest:.3g} or more ({rules.power:.0%} power)"
    lacking = limits.needed is not None and limits.needed > units.count
    more = f"; {limits.needed} would be needed to see {rules.effect:g}" if lacking else ""
    return f"No difference seen: {seen}; {sight}{more}."


def _kind(units: Units) -> str:
    return "clusters" if units.clustered else "queries"


def _describe_difference(interval: Interval, test: PermutationTest, standing: _Standing) -> str:
    limits = "(no interval)"
    if interval.low is not None and interval.high is not None:
        limits = f"[{interval.low:+.3g}, {interval.high:+.3g}]"
    floor = " (no smaller p is possible)" if test.p == test.floor else ""
    return f"{interval.estimate:+.3g} {limits}, p = {standing.p_adjusted:.3g}{floor}"


def _too_few(name: str, pairs: Pairs, tests: int, rules: Rules) -> Comparison:
    differences = _differences(name, pairs)
    units = units_of(differences, pairs.clusters)
    needed = units_for_p(rules.alpha / tests)
    return Comparison(
        verdict="too_few",
        sentence=f"{units.count} {_kind(units)} cannot be compared; it takes at least {needed}.",
        n=len(differences),
        units=units.count,
        delta=units.mean if units.count else None,
        interval=None,
        p=None,
        p_adjusted=None,
        p_floor=None,
        score=_score(differences, higher=pairs.higher_is_better),
        effect_size=EffectSize(cohen_dz=None, hedges_gz=None),
        minimum_detectable_effect=None,
        queries_needed=needed,
    )
