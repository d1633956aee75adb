"""The outcomes of one metric by case, in a few bytes a case.

Most outcomes of many cases are equal: a column has every distinct outcome once, and for each case its number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assay.metrics.aggregate import KIND_NUMBER, KINDS, Scores
from assay.records.evaluations import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.metrics.spec import MetricSpec

Thing = TypeVar("Thing")
_PART = 1 << 16
"""Cases that are read at once: a list of the numbers of all cases would take ten times the column."""


class CaseOrder:
    """The cases of a run, in order; the columns of all its metrics share one."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = ids

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each case."""
        return {case: place for place, case in enumerate(self.ids)}

    @cached_property
    def sorted_places(self) -> NDArray[np.int64]:
        """The places of the cases in the order of their ids."""
        return np.array(sorted(range(len(self.ids)), key=self.ids.__getitem__), dtype=np.int64)


class NumberedCases(Mapping[str, Thing]):
    """Something of each case, where many cases have the same."""

    def __init__(self, order: CaseOrder, numbers: NDArray[np.int32], distinct: Sequence[Thing]) -> None:
        self.order = order
        self.numbers = numbers
        """For each case, the place in `distinct` of what it has."""
        self.distinct = distinct
        """What some case has, once."""

    def write(self, text: Callable[[Thing], str], *, by_id: bool = False) -> Iterator[tuple[str, str]]:
        """Each case with the text of what it has, in the order of the cases or of their ids."""
        written = NumberedCases(self.order, self.numbers, list(map(text, self.distinct)))
        return written.by_id() if by_id else iter(written.items())

    def by_id(self) -> Iterator[tuple[str, Thing]]:
        """The cases with what they have, in the order of their ids."""
        places = self.order.sorted_places
        for start in range(0, len(places), _PART):
            part = places[start : start + _PART]
            cases = map(self.order.ids.__getitem__, part.tolist())
            yield from zip(cases, _pick(self.distinct, self.numbers[part]), strict=True)

    def __getitem__(self, case: str) -> Thing:
        return self.distinct[int(self.numbers[self.order.places[case]])]

    def __iter__(self) -> Iterator[str]:
        return iter(self.order.ids)

    def __len__(self) -> int:
        return len(self.order.ids)

    def values(self) -> ValuesView[Thing]:
        """What the cases have, in their order."""
        return _Values(self)

    def items(self) -> ItemsView[str, Thing]:
        """The cases with what they have, in order."""
        return _Items(self)

    def each(self) -> Iterator[Thing]:
        """What the cases have, one by one."""
        return _pick(self.distinct, self.numbers)


# Both read by place: by id it would take a table of all ids first.


class _Values(ValuesView[Thing]):
    _mapping: NumberedCases[Thing]

    def __iter__(self) -> Iterator[Thing]:
        return self._mapping.each()


class _Items(ItemsView[str, Thing]):
    _mapping: NumberedCases[Thing]

    def __iter__(self) -> Iterator[tuple[str, Thing]]:
        return zip(self._mapping, self._mapping.each(), strict=True)


class OutcomeColumn(NumberedCases[Outcome]):
    """What became of each case under one metric."""

    @staticmethod
    def make(order: CaseOrder, outcomes: Iterable[Outcome]) -> OutcomeColumn:
        """A column of outcomes that come in the order of the cases."""
        numbering = _Numbering()
        numbers = np.fromiter(map(numbering.find, outcomes), dtype=np.int32, count=len(order.ids))
        return OutcomeColumn(order, numbers, numbering.distinct)

    @staticmethod
    def of(per_case: Mapping[str, Outcome]) -> OutcomeColumn:
        """The same outcomes as a column."""
        if isinstance(per_case, OutcomeColumn):
            return per_case
        return OutcomeColumn.make(CaseOrder(tuple(per_case)), per_case.values())

    @staticmethod
    def of_scores(order: CaseOrder, scores: Scores) -> OutcomeColumn:
        """The outcomes of a column of values."""
        # By the bits of a value: 0.0 and -0.0 are equal, and are written differently.
        keys = scores.values.view(np.int64)
        if not scores.scored.all():
            _, numbers = np.unique(np.where(scores.scored, keys, 0), return_inverse=True)
            keys = numbers * len(KINDS) + scores.kinds
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        return OutcomeColumn(order, numbers.astype(np.int32), [scores.outcome(place) for place in first.tolist()])

    def scores(self, spec: MetricSpec) -> Scores:
        """The values and kinds of all cases."""
        values = np.array([0.0 if one.value is None else one.value for one in self.distinct], dtype=np.float64)
        kinds = np.array([KIND_NUMBER[one.kind] for one in self.distinct], dtype=np.uint8)
        return Scores(spec=spec, values=values[self.numbers], kinds=kinds[self.numbers])


def distinct_outcomes(per_case: Mapping[str, Outcome]) -> Collection[Outcome]:
    """Every outcome that some case has, of a column once."""
    return per_case.distinct if isinstance(per_case, OutcomeColumn) else per_case.values()


def _pick(things: Sequence[Thing], numbers: NDArray[np.int32]) -> Iterator[Thing]:
    for start in range(0, len(numbers), _PART):
        yield from map(things.__getitem__, numbers[start : start + _PART].tolist())


class _Numbering:
    """Gives equal outcomes one number."""

    def __init__(self) -> None:
        self.distinct: list[Outcome] = []
        self._by_identity: dict[int, int] = {}
        self._by_content: dict[tuple[object, ...], int] = {}

    def find(self, outcome: Outcome) -> int:
        # What is in `distinct` stays alive, so that nothing else can have its identity.
        number = self._by_identity.get(id(outcome))
        if number is not None:
            return number
        value = None if outcome.value is None else outcome.value.hex()
        key = (outcome.kind, value, outcome.reason, outcome.cause)
        if key not in self._by_content:
            self._by_content[key] = self._by_identity[id(outcome)] = len(self.distinct)
            self.distinct.append(outcome)
        return self._by_content[key]
