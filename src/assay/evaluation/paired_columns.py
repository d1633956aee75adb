"""Two runs side by side in columns: values, kinds, times and lists of the cases that both have.

Every function returns None where a side is not in columns, as a baseline is not, or where it would have to look at
cases that only one side has; the caller then goes case by case, which gives the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.reading_columns import CaseTimes, SomeCases
from assay.evaluation.readings import Reading
from assay.metrics.aggregate import KIND_NUMBER, KINDS, SCORED
from assay.metrics.outcome_columns import CaseSet, NumberedCases, SharedCases
from assay.records.evaluations import OutcomeKind
from assay.records.run_results import ListAgreement
from assay.statistics import jaccard, rank_biased_overlap

Floats = NDArray[np.float64]


class PairedValues(NamedTuple):
    """The values of one metric over the cases that have one on both sides, in the order of their ids."""

    control: Floats
    treatment: Floats
    shared: SharedCases
    chosen: NDArray[np.int64] | slice
    """Which of the shared cases have both values."""

    @property
    def over(self) -> CaseSet:
        """The cases."""
        return CaseSet(self.shared.order, self.shared.left[self.chosen])

    def ids(self, places: NDArray[np.int64] | slice = slice(None)) -> Iterator[str]:
        """The ids of some of the pairs."""
        return self.shared.order.iterate_ids(self.shared.left[self.chosen][places])

    def find_clusters(self, clusters: Mapping[str, str]) -> NDArray[np.int64] | None:
        """The number of each pair's cluster; a case without one is its own. None where all cases are alone."""
        if not clusters:
            return None
        numbers: dict[str, int] = {}
        # A case that is alone has the label that `comparison` gives it, which a cluster may have, too.
        labels = (clusters.get(case, f"case {case}") for case in self.ids())
        found = np.fromiter(
            (numbers.setdefault(label, len(numbers)) for label in labels), dtype=np.int64, count=len(self.control)
        )
        return found if len(numbers) < len(found) else None


def are_in_columns(*readings: Reading) -> bool:
    """Whether all outcomes are columns in which no case is twice."""
    return all(reading.column(metric) is not None for reading in readings for metric in reading.metrics)


def pair_columns(before: Reading, after: Reading, metric: str) -> PairedValues | None:
    """The pairs of one metric."""
    left, right = before.column(metric), after.column(metric)
    if left is None or right is None or not are_in_columns(before, after):
        return None
    shared = left.order.align(right.order)
    control, treatment = left.values_at(shared.left), right.values_at(shared.right)
    both = ~(np.isnan(control) | np.isnan(treatment))
    if both.all():
        return PairedValues(control, treatment, shared, slice(None))
    return PairedValues(control[both], treatment[both], shared, np.flatnonzero(both))


def find_moved(pairs: PairedValues, most: int) -> list[tuple[str, float, float]]:
    """The cases whose value changed most, the biggest change first, each with both values."""
    moved = np.flatnonzero(pairs.control != pairs.treatment)
    sizes = np.abs(pairs.treatment[moved] - pairs.control[moved])
    # Pairs are in the order of their ids: equal changes stay in it.
    if most < len(moved):
        least = np.partition(sizes, len(sizes) - most)[len(sizes) - most] if most else np.inf
        moved, sizes = moved[sizes >= least], sizes[sizes >= least]
    moved = moved[np.argsort(-sizes, kind="stable")[:most]]
    values = zip(pairs.control[moved].tolist(), pairs.treatment[moved].tolist(), strict=True)
    return [(case, *both) for case, both in zip(pairs.ids(moved), values, strict=True)]


def find_one_sided(before: Reading, after: Reading, metric: str) -> Iterator[tuple[str, str, str]] | None:
    """The cases that have a value on one side only, with both kinds of outcome."""
    left, right = before.column(metric), after.column(metric)
    if left is None or right is None:
        return None
    shared = left.order.align(right.order)
    if not shared.whole:
        return None
    was, now = left.kinds_at(shared.left), right.kinds_at(shared.right)
    places = np.flatnonzero((was == SCORED) != (now == SCORED))
    kinds = zip(was[places].tolist(), now[places].tolist(), strict=True)
    names = ((KINDS[old].value, KINDS[new].value) for old, new in kinds)
    return ((case, *both) for case, both in zip(shared.ids(places), names, strict=True))


def find_lost(before: Reading, after: Reading, metric: str) -> list[tuple[str, float]] | None:
    """Cases above 0 before that are 0 or failed after, each with the value it had; in the order of their ids."""
    left, right = before.column(metric), after.column(metric)
    if left is None or right is None:
        return None
    shared = left.order.align(right.order)
    was, now = left.values_at(shared.left), right.values_at(shared.right)
    failed = right.kinds_at(shared.right) == KIND_NUMBER[OutcomeKind.SYSTEM_FAILED]
    places = np.flatnonzero((was > 0.0) & ((now == 0.0) | failed))
    return list(zip(shared.ids(places), was[places].tolist(), strict=True))


def find_missing(run: Reading, baseline: Reading) -> set[str]:
    """The cases of the baseline that the run does not have."""
    if isinstance(run.statuses, NumberedCases) and isinstance(baseline.statuses, NumberedCases):
        ours, theirs = run.statuses.order, baseline.statuses.order
        if ours.is_unique and theirs.is_unique and theirs.align(ours).whole:
            return set()
    return set(baseline.statuses) - set(run.statuses)


def pair_times(before: Reading, after: Reading) -> tuple[Floats, Floats] | None:
    """Times and waiting times of the cases that have any on both sides, in the order of their ids: [case, repeat]."""
    if not isinstance(before.times, CaseTimes) or not isinstance(after.times, CaseTimes):
        return None
    shared = before.times.order.align(after.times.order)
    left, right = _join_times(before, shared.left), _join_times(after, shared.right)
    if left is None or right is None:
        return None
    both = ~(np.isnan(left).all(axis=1) | np.isnan(right).all(axis=1))
    return (left, right) if both.all() else (left[both], right[both])


def _join_times(reading: Reading, places: NDArray[np.int32]) -> Floats | None:
    """A repeat was answered or ran out of time: it has one of the two times, or none."""
    if not isinstance(reading.times, CaseTimes) or not isinstance(reading.waited, CaseTimes):
        return None
    if reading.times.order is not reading.waited.order:
        return None
    joined: Floats = reading.times.matrix[:, places].T
    untimed = np.isnan(joined)
    if untimed.any():
        joined[untimed] = reading.waited.matrix[:, places].T[untimed]
    return joined


def compare_lists(before: SomeCases[tuple[str, ...]], after: SomeCases[tuple[str, ...]]) -> ListAgreement | None:
    """How much the lists agree over the cases that have one on both sides; None: no case has."""
    shared = before.order.align(after.order)
    left, right = before.numbers[shared.left], after.numbers[shared.right]
    both = (left >= 0) & (right >= 0)
    # Two lists are compared once, however many cases have them.
    codes = left[both].astype(np.int64) * len(after.things) + right[both]
    pairs, counts = np.unique(codes, return_counts=True)
    if not len(pairs):
        return None
    overlaps, shares, changed = np.empty(len(pairs)), np.empty(len(pairs)), 0
    lists = ListComparison()
    for place, (code, count) in enumerate(zip(pairs.tolist(), counts.tolist(), strict=True)):
        old, new = divmod(code, len(after.things))
        first, second = before.things[old], after.things[new]
        overlaps[place], shares[place] = lists.compare(first, second)
        changed += count if first[:1] != second[:1] else 0
    cases = int(counts.sum())
    return ListAgreement(
        cases=cases,
        rbo=_weigh(overlaps, counts) / cases or 0.0,
        jaccard=_weigh(shares, counts) / cases or 0.0,
        top_changed=changed,
    )


class ListComparison:
    """Overlap and shared items of two lists."""

    def __init__(self) -> None:
        self._overlap_of_same: dict[int, float] = {}

    def compare(self, first: tuple[str, ...], second: tuple[str, ...]) -> tuple[float, float]:
        """Rank-biased overlap and Jaccard index."""
        if first != second:
            return rank_biased_overlap(first, second), jaccard(first, second)
        # Of a list with itself it depends on the length alone, and most lists stay as they are.
        length = len(set(first))
        if length not in self._overlap_of_same:
            self._overlap_of_same[length] = rank_biased_overlap(first, second)
        return self._overlap_of_same[length], 1.0


def _weigh(values: Floats, counts: NDArray[np.int64]) -> float:
    """The exact sum of values that come so often."""
    repeated = np.repeat(values, counts)
    parts = np.array_split(repeated, len(repeated) // _PART + 1)
    return math.fsum(chain.from_iterable(part.tolist() for part in parts))


_PART = 1 << 16
