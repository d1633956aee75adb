"""What a gate on this dataset can see: how often it would cry wolf, and how small a drop it cannot see.

Two readings of the same cases are made exchangeable: for each case a coin decides which side counts as the baseline.
Nothing got worse then, so every replay that fails is a false alarm. The flips keep what the cases really differ by, and
all metrics of a case flip together, so that the replays are as correlated as the real thing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import NothingMeasured
from assay.evaluation.comparing import comparable_metrics
from assay.evaluation.gating.question import GateOptions
from assay.evaluation.gating.relative import status_of, worsening
from assay.evaluation.gating.verdict import Status
from assay.evaluation.pairing import MetricChange, metric_changes, paired
from assay.evaluation.readings import Reading
from assay.statistics import Interval, Pairs, Rules, first_of_each_test, holm, sign_flip_test, wilson

REPLAYS = 200
_ALPHA = Rules().alpha
_FLIPS = 2_000
"""Of each replay's test; a single verdict draws more."""


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
class SelfTest:
    """What the replays showed."""

    replays: int
    alarms: int
    undecided: int
    """Replays that were inconclusive."""
    rate: Interval
    """Of false alarms."""
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
            "minimum_detectable": {
                one.metric: {"absolute": one.smallest, "share": one.share, "mean": one.mean, "cases": one.cases}
                for one in self.sights
            },
        }

    def sentences(self) -> list[str]:
        """What a reader must know."""
        low, high = self.rate.low or 0.0, self.rate.high or 1.0
        alarms = (
            f"{self.alarms} false alarms in {self.replays} replays of nothing having changed: "
            f"{self.rate.estimate * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]; {self.undecided} inconclusive."
        )
        return [alarms, *(_sight(one) for one in self.sights)]


def self_test(one: Reading, other: Reading, *, replays: int = REPLAYS, options: GateOptions | None = None) -> SelfTest:
    """Replay two readings with the sides of each case drawn at random."""
    options = options or GateOptions()
    metrics = _deciding(comparable_metrics(one, other), options)
    rng = np.random.default_rng(options.seed)
    duels = {metric: _duel(one, other, metric) for metric in metrics}
    _refuse_twins(one, other, duels)
    changes = metric_changes({metric: duel.pairs for metric, duel in duels.items()}, rng=rng)
    found = [_replay(duels, len(one.cases), options, rng) for _ in range(replays)]
    alarms = found.count(Status.FAIL)
    return SelfTest(
        replays=replays,
        alarms=alarms,
        undecided=found.count(Status.INCONCLUSIVE),
        rate=wilson(alarms, replays),
        sights=tuple(_sight_of(metric, change) for metric, change in changes.items()),
        between=(one.name, other.name),
    )


def _deciding(metrics: Sequence[str], options: GateOptions) -> Sequence[str]:
    """The metrics that could raise an alarm."""
    return [metric for metric in metrics if options.metric in (None, metric)]


class _Duel(NamedTuple):
    """The pairs of one metric, and the place of each among the cases."""

    pairs: Pairs
    places: NDArray[np.int64]


def _duel(one: Reading, other: Reading, metric: str) -> _Duel:
    place, right = {case: at for at, case in enumerate(one.cases)}, other.values(metric)
    places = [place[case] for case in one.values(metric) if case in right]
    return _Duel(paired(one, other, metric), np.array(places, dtype=np.int64))


def _replay(duels: Mapping[str, _Duel], cases: int, options: GateOptions, rng: np.random.Generator) -> Status:
    """One gate in which nothing changed: as the relative rule decides, without the intervals it prints."""
    coins = rng.random(cases) < 0.5
    sides = {metric: _sides(duel, coins[duel.places]) for metric, duel in duels.items() if len(duel.places) > 1}
    # A case's metrics swap sides together, so metrics that are one test stay one test in every replay.
    firsts = first_of_each_test({metric: duels[metric].pairs for metric in sides})
    distinct = [metric for metric in sides if firsts[metric] == metric]
    flips = max(_FLIPS, math.ceil(10 * len(distinct) / _ALPHA))
    tests = [sign_flip_test(after - before, rng=rng, flips=flips) for before, after in map(sides.__getitem__, distinct)]
    adjusted = dict(zip(distinct, holm([test.p for test in tests]), strict=True))
    worse = {metric: bool(adjusted[firsts[metric]] <= _ALPHA) for metric in sides}
    found = {
        status_of(worsening(metric, before.mean(), after.mean()), options, significant=worse[metric])
        for metric, (before, after) in sides.items()
    }
    return next((status for status in (Status.FAIL, Status.INCONCLUSIVE) if status in found), Status.PASS)


def _sides(duel: _Duel, swap: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, right = np.asarray(duel.pairs.control, dtype=float), np.asarray(duel.pairs.treatment, dtype=float)
    return np.where(swap, right, left), np.where(swap, left, right)


def _refuse_twins(one: Reading, other: Reading, duels: Mapping[str, _Duel]) -> None:
    if all(np.array_equal(np.asarray(duel.pairs.control), duel.pairs.treatment) for duel in duels.values()):
        raise NothingMeasured(
            f"{one.name} and {other.name} do not differ in a single case: replays of them show nothing",
            remedy="Give runs of two configurations that answer differently, or repeats of a system that varies.",
        )


def _sight_of(metric: str, change: MetricChange) -> Sight:
    seen = change.comparison
    return Sight(metric=metric, mean=change.before or 0.0, smallest=seen.minimum_detectable_effect, cases=seen.n)


def _sight(one: Sight) -> str:
    if one.smallest is None:
        return f"{one.metric}: the two never differ, so nothing is known of what can be seen."
    share = "" if one.share is None else f" ({one.share * 100:.1f} % of {one.mean:.2f})"
    return (
        f"{one.metric}: this set cannot see less than {one.smallest:.3f}{share} with {one.cases} cases and 80 % power."
    )
