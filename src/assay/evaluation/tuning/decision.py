"""Decide whether to change the fusion: cross-validation, channel values, and the verdict.

- Nested cross-validation over cases.
- Shapley values of the channels.
- The verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import NothingMeasured
from assay.records import Channel
from assay.statistics import DIFFERENCE, Interval, bootstrap_mean

if TYPE_CHECKING:
    from assay.evaluation.tuning.choices import FusionChoice
    from assay.evaluation.tuning.replay import Replay

# --- Nested cross-validation over cases ---
#
# The best of two thousand configurations looks better than it is on the cases it was chosen by. So a fifth of the
# cases is put aside; on the others one is chosen; what it gains is counted on the fifth alone, and this five times,
# and all of it again with other fifths. Choosing is itself two steps, both without the fifth: the configuration with
# the best mean, and an inner cross-validation of the same kind that has to see a gain; else what is in force is kept.
# A configuration has nothing to be fitted, so means over the cases are all that there is to learn.

Floats = NDArray[np.float64]
IN_FORCE = 0
"""The row of what is in force."""
FOLDS = 5
INNER_FOLDS = 4
REPEATS = 10
FEWEST = 10
"""The fewest cases; with fewer, a fold is too small to measure anything."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Nested:
    """The gain of tuning, as it would be on unseen cases."""

    gains: Floats
    """By case: the metric with what was chosen without it, minus the metric with what is in force."""
    interval: Interval
    chosen: Mapping[int, int]
    """How often each row was chosen, most often first."""
    folds: int
    repeats: int

    @property
    def gain(self) -> float:
        """The mean over cases."""
        return self.interval.estimate

    @property
    def proven(self) -> bool:
        """Whether the whole interval lies above 0."""
        return self.interval.low is not None and self.interval.low > 0.0


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Trials:
    """What every configuration came to; what is in force is the first row."""

    values: Floats
    """[configuration, case]"""
    lost: NDArray[np.bool_] | None = None
    """[configuration, case]: whether the case is found now and would be lost; None: losses are not limited."""
    may_lose: int = 0

    def best(self, cases: NDArray[np.int64]) -> int:
        """The row with the best mean over some cases that loses no more than it may. Of equals the first."""
        means = self.values[:, cases].mean(axis=1)
        if self.lost is not None:
            means[self.lost[:, cases].sum(axis=1) > self.may_lose] = -np.inf
        return int(np.argmax(means))

    def gains(self, row: int, cases: NDArray[np.int64]) -> Floats:
        """What a row has more than the first, case by case."""
        gained: Floats = self.values[row, cases] - self.values[IN_FORCE, cases]
        return gained


class Split(NamedTuple):
    """Cases to learn from and cases to measure on."""

    learn: NDArray[np.int64]
    measure: NDArray[np.int64]


def cross_validate(trials: Trials, rng: np.random.Generator, *, folds: int = FOLDS, repeats: int = REPEATS) -> Nested:
    """What choosing among the trials gains."""
    cases = trials.values.shape[1]
    if cases < FEWEST:
        raise NothingMeasured(
            f"{cases} cases are too few to tune on", remedy=f"Give a dataset with at least {FEWEST} graded cases."
        )
    gains, chosen = np.zeros(cases), Counter[int]()
    for _ in range(repeats):
        for split in splits(np.arange(cases), folds, rng):
            row = choose(trials, split.learn, rng)
            chosen[row] += 1
            gains[split.measure] += trials.gains(row, split.measure)
    gains /= repeats
    interval = bootstrap_mean(gains, rng=rng, bounds=DIFFERENCE)
    return Nested(gains=gains, interval=interval, chosen=dict(chosen.most_common()), folds=folds, repeats=repeats)


def choose(trials: Trials, cases: NDArray[np.int64], rng: np.random.Generator) -> int:
    """The row to use, learnt from these cases alone; the first where nothing better is to be seen."""
    inner = sum(
        float(trials.gains(trials.best(split.learn), split.measure).sum()) for split in splits(cases, INNER_FOLDS, rng)
    )
    return trials.best(cases) if inner > 0.0 else IN_FORCE


def splits(cases: NDArray[np.int64], folds: int, rng: np.random.Generator) -> Iterator[Split]:
    """Each fold once to measure on, the others to learn from."""
    fold = rng.permutation(len(cases)) % folds
    for held_out in range(folds):
        yield Split(cases[fold != held_out], cases[fold == held_out])


# --- Shapley values of the channels ---
#
# The worth of a set is the metric with only its channels asked, weighed as in force; of no channel it is 0. A
# channel's value is what it adds to a set, averaged over all orders in which channels could join. The values add up to
# the metric with all channels.

Player = TypeVar("Player")


class ChannelValue(NamedTuple):
    """One channel."""

    channel: Channel
    value: float
    """Its share of the metric."""
    alone: float
    """The metric with this channel only."""
    without: float
    """The metric with all the others."""


def channel_values(replay: Replay, choice: FusionChoice) -> list[ChannelValue]:
    """Every channel, the most valuable first."""
    worths: dict[frozenset[Channel], float] = {frozenset(): 0.0}
    for size in range(1, len(Channel) + 1):
        for some in combinations(Channel, size):
            worths[frozenset(some)] = float(replay.measure([choice], channels=some).mean())
    everybody = frozenset(Channel)
    values = shapley(tuple(Channel), lambda some: worths[frozenset(some)])
    found = [
        ChannelValue(channel, value, worths[frozenset({channel})], worths[everybody - {channel}])
        for channel, value in values.items()
    ]
    return sorted(found, key=lambda item: item.value, reverse=True)


def shapley(players: Sequence[Player], worth: Callable[[Collection[Player]], float]) -> Mapping[Player, float]:
    """The Shapley value of each player; `worth` is called for every set of them."""
    count = len(players)
    found: dict[Player, float] = {}
    for player in players:
        others = [other for other in players if other != player]
        added = []
        for size in range(count):
            share = 1.0 / (count * math.comb(count - 1, size))
            added += [share * (worth((*some, player)) - worth(some)) for some in combinations(others, size)]
        found[player] = math.fsum(added)
    return found


# --- The verdict ---


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Tuned:
    """What tuning came to."""

    metric: str
    cases: int
    tried: int
    incumbent: FusionChoice
    before: float
    """The replayed metric with what is in force."""
    chosen: FusionChoice
    """What is in force, where nothing better was seen."""
    after: float
    """The same with what was chosen, on the cases it was chosen by: too good by what choosing gains."""
    nested: Nested
    channels: tuple[ChannelValue, ...]

    @property
    def keep(self) -> bool:
        """Whether nothing should be changed."""
        return self.chosen == self.incumbent or not self.nested.proven

    @property
    def sentence(self) -> str:
        """The answer in words."""
        limits = f"[{self.nested.interval.low:+.4f}, {self.nested.interval.high:+.4f}]"
        gain = f"{self.nested.gain:+.4f} {limits} in {self.metric} on cases it had not seen"
        if self.chosen == self.incumbent:
            return f"Keep what you have: none of {self.tried:,} configurations is better."
        if not self.nested.proven:
            return f"Keep what you have: choosing among {self.tried:,} configurations gained {gain}."
        return f"Choosing among {self.tried:,} configurations gained {gain}."

    def as_json(self) -> dict[str, object]:
        """Everything, for machines."""
        return {
            "metric": self.metric,
            "cases": self.cases,
            "tried": self.tried,
            "in_force": {"choice": str(self.incumbent), "replayed": self.before},
            "chosen": {
                "choice": str(self.chosen),
                "replayed": self.after,
                "settings": self.chosen.settings(self.incumbent),
            },
            "nested": {
                "gain": self.nested.gain,
                "interval": [self.nested.interval.low, self.nested.interval.high],
                "method": self.nested.interval.method,
                "folds": self.nested.folds,
                "repeats": self.nested.repeats,
            },
            "shapley": [{**channel._asdict(), "channel": channel.channel.value} for channel in self.channels],
            "keep": self.keep,
            "sentence": self.sentence,
        }


MeasureChoices = Callable[["Replay", Sequence["FusionChoice"]], Floats]
"""Replays every choice (rows) over every case (columns)."""


def _measure_here(replay: Replay, choices: Sequence[FusionChoice]) -> Floats:
    return replay.measure(choices)


def tune(
    replay: Replay,
    choices: Sequence[FusionChoice],
    rng: np.random.Generator,
    *,
    finding: Replay | None = None,
    may_lose: int = 0,
    measure: MeasureChoices | None = None,
) -> Tuned:
    """Choose among some ways to fuse, the first of which is in force.

    `finding` replays the metric by which a gate decides whether a case is found: a choice that loses more than it may
    is not chosen, since no gate would let it in. `measure` replays the choices elsewhere, such as on workers.
    """
    measure = measure or _measure_here
    values = measure(replay, choices)
    lost = None if finding is None else _find_lost(measure(finding, choices), finding.case_ids, replay.case_ids)
    trials = Trials(values=values, lost=lost, may_lose=may_lose)
    validated = cross_validate(trials, rng)
    row = choose(trials, np.arange(values.shape[1]), rng)
    means = values.mean(axis=1)
    return Tuned(
        metric=str(replay.metric),
        cases=len(replay.case_ids),
        tried=len(choices) - 1,
        incumbent=choices[IN_FORCE],
        before=float(means[IN_FORCE]),
        chosen=choices[row],
        after=float(means[row]),
        nested=validated,
        channels=tuple(channel_values(replay, choices[IN_FORCE])),
    )


def _find_lost(found: NDArray[np.float64], of: Sequence[str], wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Return the cases each choice would lose; a case that is not found cannot be lost."""
    gone = (found[IN_FORCE] > 0.0) & (found == 0.0)
    place = {case: at for at, case in enumerate(of)}
    lost = np.zeros((len(found), len(wanted)), dtype=bool)
    both = [(at, place[case]) for at, case in enumerate(wanted) if case in place]
    if both:
        to, by = map(list, zip(*both, strict=True))
        lost[:, to] = gone[:, by]
    return lost
