"""What choosing the best of many is really worth: nested cross-validation over cases.

The best of two thousand configurations looks better than it is on the cases it was chosen by. So a fifth of the cases
is put aside; on the others one is chosen; what it gains is counted on the fifth alone, and this five times, and all of
it again with other fifths. Choosing is itself two steps, both without the fifth: the configuration with the best mean,
and an inner cross-validation of the same kind that has to see a gain; else what is in force is kept. A configuration
has nothing to be fitted, so means over the cases are all that there is to learn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import NothingMeasured
from assay.statistics import DIFFERENCE, Interval, bootstrap_mean

Floats = NDArray[np.float64]
IN_FORCE = 0
"""The row of what is in force."""
FOLDS = 5
INNER_FOLDS = 4
REPEATS = 10
FEWEST = 10
"""Cases; with fewer, a fold has too few to tell anything."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Nested:
    """The gain of tuning, as it would be on cases that nobody has seen."""

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
    """[configuration, case]: whether the case is found as things are, and would not be; None: nobody minds."""
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


def nested(trials: Trials, rng: np.random.Generator, *, folds: int = FOLDS, repeats: int = REPEATS) -> Nested:
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
    for one in range(folds):
        yield Split(cases[fold != one], cases[fold == one])
