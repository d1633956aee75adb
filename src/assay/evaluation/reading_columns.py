"""Statuses, times and lists of a run by case, in columns.

Each is a mapping by case, as a baseline has it, so that a `Reading` does not show what it was read from. Comparisons
of two runs read the columns themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.running.case_columns import NO_LIST, STATUS_NUMBER, STATUSES, CaseColumns
from assay.metrics.outcome_columns import CaseOrder, NumberedCases, shrink
from assay.records.evaluations import CaseStatus

Thing = TypeVar("Thing")


class CaseTimes(Mapping[str, tuple[float, ...]]):
    """Milliseconds of each case that has any, one for each repeat that has."""

    def __init__(self, order: CaseOrder, matrix: NDArray[np.float64]) -> None:
        self.order, self.matrix = order, matrix
        """A row for each repeat and a column for each case; NaN: there is none."""

    def _has(self) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = np.logical_or.reduce(~np.isnan(self.matrix), axis=0)
        return there

    def __getitem__(self, case: str) -> tuple[float, ...]:
        times = self.matrix[:, self.order.places[case]]
        if np.isnan(times).all():
            raise KeyError(case)
        return tuple(times[~np.isnan(times)].tolist())

    def __iter__(self) -> Iterator[str]:
        return self.order.iterate_ids(np.flatnonzero(self._has()))

    def __len__(self) -> int:
        return int(np.count_nonzero(self._has()))

    @property
    def known(self) -> NDArray[np.float64]:
        """All times, in no order that means anything."""
        found: NDArray[np.float64] = self.matrix[~np.isnan(self.matrix)]
        return found


class SomeCases(Mapping[str, Thing]):
    """Something of some cases, where others have nothing."""

    def __init__(self, order: CaseOrder, numbers: NDArray[np.int32], things: Sequence[Thing]) -> None:
        self.order, self.numbers, self.things = order, numbers, things
        """`numbers` has the place in `things` of what a case has, below 0 where it has nothing."""

    def __getitem__(self, case: str) -> Thing:
        number = int(self.numbers[self.order.places[case]])
        if number < 0:
            raise KeyError(case)
        return self.things[number]

    def __iter__(self) -> Iterator[str]:
        return self.order.iterate_ids(np.flatnonzero(self.numbers >= 0))

    def __len__(self) -> int:
        return int(np.count_nonzero(self.numbers >= 0))


def read_endings(cases: CaseColumns) -> NumberedCases[tuple[CaseStatus, ...]]:
    """The statuses of each case, one for each repeat."""
    statuses = cases.statuses
    codes = statuses[0].astype(np.int64)
    for row in statuses[1:]:  # numbers stay small: they count the combinations that there are
        codes = np.unique(codes * len(STATUSES) + row, return_inverse=True)[1]
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    endings = [tuple(STATUSES[number] for number in statuses[:, place].tolist()) for place in first.tolist()]
    return NumberedCases(cases.order, shrink(numbers, len(endings)), endings)


def read_times(cases: CaseColumns, status: CaseStatus) -> CaseTimes:
    """The times of the results with this status."""
    chosen = cases.statuses == STATUS_NUMBER[status]
    return CaseTimes(cases.order, cases.times if chosen.all() else np.where(chosen, cases.times, np.nan))


def read_lists(cases: CaseColumns) -> SomeCases[tuple[str, ...]]:
    """What was returned, by the first repeat of each case that returned something."""
    numbers = cases.list_numbers[0]
    for row in cases.list_numbers[1:]:
        numbers = np.where(numbers == NO_LIST, row, numbers)
    return SomeCases(cases.order, numbers, cases.lists)


def count_endings(endings: NumberedCases[tuple[CaseStatus, ...]]) -> Counter[CaseStatus]:
    """How many results there are of each status."""
    counts = np.bincount(endings.numbers, minlength=len(endings.distinct)).tolist()
    found: Counter[CaseStatus] = Counter()
    for statuses, count in zip(endings.distinct, counts, strict=True):
        for status in statuses:
            found[status] += count
    return found
