"""One metric over many cases, in columns: a value where there is one, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.metrics.spec import MetricSpec
from assay.records.outcome import Outcome, OutcomeKind

KINDS = tuple(OutcomeKind)
"""Outcomes by the small number that stands for them in a column."""
KIND_NUMBER = {kind: np.uint8(number) for number, kind in enumerate(KINDS)}
SCORED = KIND_NUMBER[OutcomeKind.SCORED]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Scores:
    """The outcomes of one metric."""

    spec: MetricSpec
    values: NDArray[np.float64]
    """By definition, also where the case is not scored: the recall of a query with nothing to find is 1. Never NaN."""
    kinds: NDArray[np.uint8]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which cases have a value that counts."""
        scored: NDArray[np.bool_] = self.kinds == SCORED
        return scored

    def count(self, kind: OutcomeKind) -> int:
        """How many cases ended so."""
        return int(np.count_nonzero(self.kinds == KIND_NUMBER[kind]))

    def outcome(self, case: int) -> Outcome:
        """What became of one case."""
        kind = KINDS[self.kinds[case]]
        return Outcome.scored(float(self.values[case])) if kind is OutcomeKind.SCORED else Outcome(kind=kind)

    def take(self, cases: NDArray[np.int64] | NDArray[np.bool_] | Sequence[int]) -> Scores:
        """Some of the cases."""
        return Scores(spec=self.spec, values=self.values[cases], kinds=self.kinds[cases])


def scores_of(spec: MetricSpec, outcomes: Iterable[Outcome]) -> Scores:
    """The same from outcomes that were computed case by case."""
    found = list(outcomes)
    values = np.array([0.0 if one.value is None else one.value for one in found], dtype=np.float64)
    kinds = np.array([KIND_NUMBER[one.kind] for one in found], dtype=np.uint8)
    return Scores(spec=spec, values=values, kinds=kinds)
