"""What a gate on this dataset can see: how often it raises a false alarm, and how small a drop it cannot see.

Two readings of the same cases are made exchangeable: for each case a coin decides which side counts as the baseline.
Nothing got worse then, so every replay that fails is a false alarm. A case's values, outcomes, repeats and times swap
sides together, so that the replays are as correlated as the real thing, and each replay is judged by every rule of the
gate. What fails for both readings by itself, such as a floor that neither reaches, is not an alarm about a change and
is left out; channels belong to a whole run and are not swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.errors import NothingMeasured
from assay.evaluation.comparison import (
    Compared,
    MetricChange,
    comparable_metrics,
    metric_changes,
    pair_values,
)
from assay.evaluation.gating.rules import answer
from assay.evaluation.gating.verdict import GateOptions, Question, Status, Verdict
from assay.evaluation.latency_comparison import latency_changes
from assay.evaluation.readings import Reading
from assay.statistics import Interval, Rules, wilson

REPLAYS = 200
_DRAWS = Rules(resamples=100, flips=2_000)
"""Of each replay's test; a single verdict draws more. Intervals are not looked at here."""
_LATENCY_RESAMPLES = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """The smallest drop of one metric that the gate would show."""

    metric: str
    mean: float
    """Of the control."""
    smallest: float | None
    """With 80 % power; None: the two readings never differ in it."""
    cases: int

    @property
    def share(self) -> float | None:
        """The same as a share of the mean."""
        return None if self.smallest is None or self.mean == 0.0 else self.smallest / self.mean


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleAlarms:
    """How often one rule failed or could not be decided although nothing had changed."""

    rule: str
    alarms: int
    undecided: int
    rate: Interval
    """Of false alarms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTest:
    """What the replays showed."""

    replays: int
    alarms: int
    undecided: int
    """Replays that were inconclusive."""
    rate: Interval
    """Of false alarms."""
    rules: tuple[RuleAlarms, ...]
    """Every rule that applied to some replay."""
    left_out: tuple[str, ...]
    """Rules that fail for both readings by themselves."""
    sights: tuple[Sight, ...]
    between: tuple[str, str]

    def as_json(self) -> dict[str, object]:
        """The one shape of a self-test on every surface."""
        return {
            "between": list(self.between),
            "replays": self.replays,
            "false_alarms": self.alarms,
            "inconclusive": self.undecided,
            "false_alarm_rate": self.rate.estimate,
            "interval": [self.rate.low, self.rate.high],
            "rules": {
                alarms.rule: {
                    "false_alarms": alarms.alarms,
                    "inconclusive": alarms.undecided,
                    "false_alarm_rate": alarms.rate.estimate,
                    "interval": [alarms.rate.low, alarms.rate.high],
                }
                for alarms in self.rules
            },
            "left_out": list(self.left_out),
            "minimum_detectable": {
                sight.metric: {
                    "absolute": sight.smallest,
                    "share": sight.share,
                    "mean": sight.mean,
                    "cases": sight.cases,
                }
                for sight in self.sights
            },
        }

    def sentences(self) -> list[str]:
        """What a reader must know."""
        alarms = (
            f"{self.alarms} false alarms in {self.replays} replays of nothing having changed: "
            f"{_percent(self.rate)}; {self.undecided} inconclusive."
        )
        by_rule = [
            f"  {rule.rule}: {rule.alarms} false alarms, {_percent(rule.rate)}; {rule.undecided} inconclusive."
            for rule in self.rules
        ]
        left_out = [f"Left out, since both runs fail it by themselves: {rule}." for rule in self.left_out]
        return [alarms, *by_rule, *left_out, *(_sight(sight) for sight in self.sights)]


def _percent(rate: Interval) -> str:
    low, high = rate.low or 0.0, 1.0 if rate.high is None else rate.high
    return f"{rate.estimate * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]"


def self_test(
    reading: Reading, other: Reading, *, replays: int = REPLAYS, options: GateOptions | None = None
) -> SelfTest:
    """Replay the whole gate over two readings with the sides of each case drawn at random."""
    options = options or GateOptions()
    metrics = comparable_metrics(reading, other)
    deciding = _deciding(metrics, options)
    _refuse_twins(reading, other, deciding)
    rng = np.random.default_rng(options.seed)
    changes = metric_changes({metric: pair_values(reading, other, metric) for metric in deciding}, rng=rng)
    standing = _failing(reading, options) & _failing(other, options)
    own, foreign = reading.in_tables(), other.in_tables()
    verdicts = [_replay(own, foreign, metrics, options, rng) for _ in range(replays)]
    found = [_statuses(verdict, standing) for verdict in verdicts]
    alarms = sum(Status.FAIL in of.values() for of in found)
    return SelfTest(
        replays=replays,
        alarms=alarms,
        undecided=sum(Status.FAIL not in of.values() and Status.INCONCLUSIVE in of.values() for of in found),
        rate=wilson(alarms, replays),
        rules=_by_rule(found),
        left_out=tuple(sorted(standing)),
        sights=tuple(_sight_of(metric, change) for metric, change in changes.items()),
        between=(reading.name, other.name),
    )


def _deciding(metrics: Sequence[str], options: GateOptions) -> Sequence[str]:
    """The metrics that could raise an alarm."""
    return [metric for metric in metrics if options.metric in (None, metric)]


def _failing(reading: Reading, options: GateOptions) -> set[str]:
    """The rules that a reading fails without any baseline."""
    verdict = answer(Question(run=reading, compared=None, options=options))
    return {rule.title for rule in verdict.of(Status.FAIL)}


def _replay(
    reading: Reading, other: Reading, metrics: Sequence[str], options: GateOptions, rng: np.random.Generator
) -> Verdict:
    """One gate in which nothing changed."""
    cluster_of = {**reading.clusters, **other.clusters}
    labels = {case: cluster_of.get(case, f"case {case}") for case in reading.cases if case in other.statuses}
    units = sorted(set(labels.values()))
    coins = dict(zip(units, rng.random(len(units)) < 0.5, strict=True))
    swapped = {case for case, label in labels.items() if coins[label]}
    before, after = _swap(reading, other, swapped), _swap(other, reading, swapped)
    compared = Compared(
        control=before,
        treatment=after,
        metrics=metric_changes(
            {metric: pair_values(before, after, metric) for metric in metrics}, rng=rng, rules=_DRAWS
        ),
        movers=(),
        agreement=None,
        latency=latency_changes(before, after, rng=rng, resamples=_LATENCY_RESAMPLES),
        one_sided=(),
        changed=(),
    )
    return answer(Question(run=after, compared=compared, options=options, draws=_DRAWS))


def _swap(own: Reading, foreign: Reading, swapped: set[str]) -> Reading:
    """A reading with everything that the other one has of some cases."""
    return replace(
        own,
        outcomes=_swap_tables(own.outcomes, foreign.outcomes, swapped),
        noise=_swap_tables(own.noise, foreign.noise, swapped),
        statuses=_swap_cases(own.statuses, foreign.statuses, swapped),
        times=_swap_cases(own.times, foreign.times, swapped),
        waited=_swap_cases(own.waited, foreign.waited, swapped),
        scoped=_swap_cases(own.scoped, foreign.scoped, swapped),
        channels={},
    )


def _swap_tables(
    own: Mapping[str, Mapping[str, Any]], foreign: Mapping[str, Mapping[str, Any]], swapped: set[str]
) -> dict[str, dict[str, Any]]:
    return {
        metric: _swap_cases(own.get(metric, {}), foreign.get(metric, {}), swapped)
        for metric in dict.fromkeys([*own, *foreign])
    }


def _swap_cases(own: Mapping[str, Any], foreign: Mapping[str, Any], swapped: set[str]) -> dict[str, Any]:
    kept = {case: value for case, value in own.items() if case not in swapped}
    return {**kept, **{case: foreign[case] for case in swapped if case in foreign}}


def _statuses(verdict: Verdict, standing: set[str]) -> dict[str, Status]:
    """The worst status of each rule, without the rules that fail for both readings."""
    found: dict[str, Status] = {}
    for rule in verdict.rules:
        if rule.title not in standing and rule.status is not Status.NOT_APPLICABLE:
            found[rule.rule] = min(found.get(rule.rule, Status.PASS), rule.status, key=_ORDER.index)
    return found


_ORDER = [Status.FAIL, Status.INCONCLUSIVE, Status.PASS]


def _by_rule(found: Sequence[Mapping[str, Status]]) -> tuple[RuleAlarms, ...]:
    alarms = Counter(rule for of in found for rule, status in of.items() if status is Status.FAIL)
    undecided = Counter(rule for of in found for rule, status in of.items() if status is Status.INCONCLUSIVE)
    names = dict.fromkeys(rule for of in found for rule in of)
    return tuple(
        RuleAlarms(rule=rule, alarms=alarms[rule], undecided=undecided[rule], rate=wilson(alarms[rule], len(found)))
        for rule in names
    )


def _refuse_twins(reading: Reading, other: Reading, metrics: Sequence[str]) -> None:
    pairs = [pair_values(reading, other, metric) for metric in metrics]
    if all(np.array_equal(np.asarray(pair.control), np.asarray(pair.treatment)) for pair in pairs):
        raise NothingMeasured(
            f"{reading.name} and {other.name} do not differ in a single case: replays of them show nothing",
            remedy="Give runs of two configurations that answer differently, or repeats of a system that varies.",
        )


def _sight_of(metric: str, change: MetricChange) -> Sight:
    seen = change.comparison
    return Sight(metric=metric, mean=change.before or 0.0, smallest=seen.minimum_detectable_effect, cases=seen.n)


def _sight(sight: Sight) -> str:
    if sight.smallest is None:
        return f"{sight.metric}: the two never differ, so nothing is known of what can be seen."
    part = "" if sight.share is None else f" ({sight.share * 100:.1f} % of {sight.mean:.2f})"
    seen = f"this set cannot see less than {sight.smallest:.3f}{part}"
    return f"{sight.metric}: {seen} with {sight.cases} cases and 80 % power."
