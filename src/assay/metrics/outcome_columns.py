"""The outcomes of one metric by case, in a few bytes a case.

Most outcomes of many cases are equal: a column has every distinct outcome once, and for each case its number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat, starmap
from operator import eq, ne
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay.metrics.aggregate import KIND_NUMBER, KINDS, Scores
from assay.records.evaluations import Outcome, OutcomeKind

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
        self._aligned: tuple[CaseOrder, SharedCases] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each case."""
        return {case: place for place, case in enumerate(self.ids)}

    @cached_property
    def sorted_places(self) -> NDArray[np.int32]:
        """The places of the cases in the order of their ids."""
        texts = _fixed_texts(self.ids)
        if texts is None:
            return np.array(sorted(range(len(self.ids)), key=self.ids.__getitem__), dtype=np.int32)
        return np.argsort(texts, kind="stable").astype(np.int32)

    @cached_property
    def is_unique(self) -> bool:
        """Whether no case is there twice."""
        return all(starmap(ne, pairwise(self.iterate_ids(self.sorted_places))))

    def iterate_ids(self, places: NDArray[np.integer[Any]]) -> Iterator[str]:
        """The cases at these places."""
        return _pick(self.ids, places)

    def iterate_parts(self, *, by_id: bool = False) -> Iterator[Sequence[str]]:
        """All ids in order, or sorted, many at a time."""
        for start in range(0, len(self.ids), _PART):
            part = slice(start, start + _PART)
            yield [self.ids[place] for place in self.sorted_places[part].tolist()] if by_id else self.ids[part]

    def align(self, other: CaseOrder) -> SharedCases:
        """The cases that both have; neither may have one twice."""
        # Every metric asks for the same two orders.
        if self._aligned is None or self._aligned[0] is not other:
            self._aligned = (other, self._share(other))
        return self._aligned[1]

    def _share(self, other: CaseOrder) -> SharedCases:
        if len(self.ids) == len(other.ids) and all(map(eq, self.ids, other.ids)):
            return SharedCases(self, self.sorted_places, self.sorted_places, whole=True)
        found = map(other.places.get, self.iterate_ids(self.sorted_places), repeat(-1))
        places = np.fromiter(found, dtype=np.int32, count=len(self.ids))
        shared = places >= 0
        count = int(np.count_nonzero(shared))
        whole = count == len(self.ids) == len(other.ids)
        return SharedCases(self, self.sorted_places[shared], places[shared], whole=whole)


_WIDEST = 64
"""Bytes of an id up to which ids are sorted as an array of that width."""


def _fixed_texts(ids: Sequence[str]) -> NDArray[np.bytes_] | None:
    """The ids as an array of bytes, which sort as the texts do; None where one is long or ends in a zero byte."""
    width, count = 0, len(ids)
    with suppress(UnicodeEncodeError):
        for start in range(0, count, _PART):
            part = [case.encode() for case in ids[start : start + _PART]]
            width = max(width, *map(len, part))
            if width > _WIDEST or any(text.endswith(b"\0") for text in part):
                return None
        return np.fromiter((case.encode() for case in ids), dtype=f"S{max(1, width)}", count=count)
    return None


@dataclass(frozen=True, eq=False, slots=True)
class SharedCases:
    """The cases that two runs share, in the order of their ids."""

    order: CaseOrder
    """Of the first run."""
    left: NDArray[np.int32]
    """Their places in the first run."""
    right: NDArray[np.int32]
    """Their places in the second."""
    whole: bool
    """Whether neither run has further cases."""

    def __len__(self) -> int:
        return len(self.left)

    def ids(self, chosen: NDArray[np.int64] | slice = slice(None)) -> Iterator[str]:
        """The ids of some of them, by their place here."""
        return self.order.iterate_ids(self.left[chosen])


class CaseSet:
    """Some cases of an order, to tell whether two metrics have values of the same ones."""

    def __init__(self, order: CaseOrder, places: NDArray[np.int32]) -> None:
        self._order, self._places = order, places

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CaseSet):
            return NotImplemented
        if self._order is other._order:
            return np.array_equal(self._places, other._places)
        return len(self._places) == len(other._places) and all(map(eq, self, other))

    def __hash__(self) -> int:
        ends = self._places[[0, -1]] if len(self._places) else self._places
        return hash((len(self._places), *self._order.iterate_ids(ends)))

    def __iter__(self) -> Iterator[str]:
        return self._order.iterate_ids(self._places)


class NumberedCases(Mapping[str, Thing]):
    """Something of each case, where many cases have the same."""

    def __init__(self, order: CaseOrder, numbers: NDArray[np.integer[Any]], distinct: Sequence[Thing]) -> None:
        self.order = order
        self.numbers = numbers
        """For each case, the place in `distinct` of what it has."""
        self.distinct = distinct
        """What some case has, once."""

    def write(self, text: Callable[[Thing], str], *, by_id: bool = False) -> Iterator[tuple[str, str]]:
        """Each case with the text of what it has, in the order of the cases or of their ids."""
        written = NumberedCases(self.order, self.numbers, list(map(text, self.distinct)))
        return written.by_id() if by_id else iter(written.items())

    def write_parts(
        self, keys: Iterable[Sequence[str]], text: Callable[[Thing], str], *, by_id: bool = False
    ) -> Iterator[Iterator[str]]:
        """The same, a part of the cases at a time: the key of each case, from `keys`, and its text as one."""
        written = list(map(text, self.distinct))
        start = 0
        for part in keys:
            stop = start + len(part)
            numbers = self.numbers[self.order.sorted_places[start:stop] if by_id else slice(start, stop)]
            yield map(str.__add__, part, map(written.__getitem__, numbers.tolist()))
            start = stop

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


def shrink(numbers: NDArray[np.integer[Any]], distinct: int) -> NDArray[np.integer[Any]]:
    """Numbers below `distinct` in as few bytes as they need."""
    return numbers.astype(np.min_scalar_type(max(0, distinct - 1)))


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
        return OutcomeColumn(order, shrink(numbers, len(first)), [scores.outcome(place) for place in first.tolist()])

    def scores(self, spec: MetricSpec) -> Scores:
        """The values and kinds of all cases."""
        values = np.array([0.0 if one.value is None else one.value for one in self.distinct], dtype=np.float64)
        kinds = np.array([KIND_NUMBER[one.kind] for one in self.distinct], dtype=np.uint8)
        return Scores(spec=spec, values=values[self.numbers], kinds=kinds[self.numbers])

    def values_at(self, places: NDArray[np.int32] | slice) -> NDArray[np.float64]:
        """The values of the cases at these places; NaN where there is none."""
        values = np.array([np.nan if one.value is None else one.value for one in self.distinct], dtype=np.float64)
        found: NDArray[np.float64] = values[self.numbers[places]]
        return found

    def kinds_at(self, places: NDArray[np.int32] | slice) -> NDArray[np.uint8]:
        """The numbers of the kinds (`KINDS`) of the cases at these places."""
        kinds = np.array([KIND_NUMBER[one.kind] for one in self.distinct], dtype=np.uint8)
        found: NDArray[np.uint8] = kinds[self.numbers[places]]
        return found

    def find_cases(self, kinds: Collection[OutcomeKind]) -> Iterator[str]:
        """The cases whose outcome is of one of these kinds, in order."""
        chosen = np.array([one.kind in kinds for one in self.distinct], dtype=np.bool_)
        if chosen.any():
            yield from self.order.iterate_ids(np.flatnonzero(chosen[self.numbers]))


def distinct_outcomes(per_case: Mapping[str, Outcome]) -> Collection[Outcome]:
    """Every outcome that some case has, of a column once."""
    return per_case.distinct if isinstance(per_case, OutcomeColumn) else per_case.values()


def _pick(things: Sequence[Thing], numbers: NDArray[np.integer[Any]]) -> Iterator[Thing]:
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
