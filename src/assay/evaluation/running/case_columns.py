"""What a system gave for the cases of a run, in a few bytes a case.

    cases = read_columns(files, manifest, order, repeats)

Most lines of `cases.jsonl` hold a status, a list of documents and a time: they become numbers in columns, and a
`CaseResult` is made when somebody asks for it. A line that holds more is kept as the result that it is. Every line is
checked as `RunFolder.iterate_cases` checks it; a line of another form is read there.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.running.files import NOTHING, RunFolder, line_digits
from assay.evaluation.running.json_text import Plain
from assay.metrics.outcome_columns import CaseOrder
from assay.records.evaluations import CaseResult, CaseStatus, Retrieved
from assay.records.fields import make_checked

STATUSES = tuple(CaseStatus)
"""Statuses by the small number that represents them in a column."""
STATUS_NUMBER = {status: number for number, status in enumerate(STATUSES)}
NO_LIST = -1
_KNOWN_LISTS = 1 << 16
"""Texts of lists that are remembered, to know a list that comes again."""
_WHOLE = r"(?:0|[1-9][0-9]{0,8})"
_PLAIN_LINE = re.compile(
    rb'(\{"case_id":"([!#-\[\]-~][ !#-\[\]-~]{0,499})"(?:,"repeat":('
    + _WHOLE.encode()
    + rb'))?,"status":"(ok|error|timeout|empty)"(?:,"retrieved":\{"ids":\[([^\[\]\\\x00-\x1f]*)\]\})?'
    + rb'(?:,"total_ms":(-?'
    + _WHOLE.encode()
    + rb'(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))?(,"first":true)?),"seal":"([0-9a-f]{16})"\}'
)
"""A line with nothing but id, repeat, status, list and time. Ids are ASCII without quotes and backslashes."""
_STATUS_TEXTS = {status.value.encode(): number for status, number in STATUS_NUMBER.items()}


class IdLists(Sequence[tuple[str, ...]]):
    """Lists of documents, four bytes for each place of a list."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._documents: list[str] = []
        self._places = array("I")
        self._ends = array("Q", [0])

    def add(self, ids: Sequence[str]) -> int:
        """Keep a list; return its number."""
        for document in ids:
            number = self._names.setdefault(document, len(self._documents))
            if number == len(self._documents):
                self._documents.append(document)
            self._places.append(number)
        self._ends.append(len(self._places))
        return len(self._ends) - 2

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[tuple[str, ...]]: ...
    def __getitem__(self, number: int | slice) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return tuple(map(self._documents.__getitem__, self._places[self._ends[number] : self._ends[number + 1]]))


class CaseColumns(Sequence[CaseResult]):
    """Every case of every repeat, in the order of the manifest; those without a line are `skipped`."""

    def __init__(self, order: CaseOrder, repeats: int) -> None:
        total = len(order.ids) * repeats
        self.order, self.repeats = order, repeats
        self.lists = IdLists()
        self.more: dict[int, CaseResult] = {}
        """Results that hold more than columns do, by place."""
        self._firsts = set[int]()
        self._statuses = array("B", [STATUS_NUMBER[CaseStatus.SKIPPED]]) * total
        self._times = array("d", [math.nan]) * total
        self._list_numbers = array("i", [NO_LIST]) * total

    @property
    def statuses(self) -> NDArray[np.uint8]:
        """The numbers of the statuses: [repeat, case]."""
        return np.frombuffer(self._statuses, dtype=np.uint8).reshape(self.repeats, -1)

    @property
    def times(self) -> NDArray[np.float64]:
        """Milliseconds, NaN where none were measured: [repeat, case]."""
        return np.frombuffer(self._times, dtype=np.float64).reshape(self.repeats, -1)

    @property
    def list_numbers(self) -> NDArray[np.int32]:
        """The places in `lists` of what was returned, `NO_LIST` for nothing: [repeat, case]."""
        return np.frombuffer(self._list_numbers, dtype=np.int32).reshape(self.repeats, -1)

    def put(self, place: int, status: int, ids: int, total_ms: float, *, first: bool) -> None:
        """Keep a case that holds no more than this."""
        self._statuses[place], self._times[place], self._list_numbers[place] = status, total_ms, ids
        if first:
            self._firsts.add(place)

    def put_result(self, place: int, result: CaseResult) -> None:
        """Keep a case that holds more."""
        self.more[place] = result
        ids = NO_LIST if result.retrieved is None else self.lists.add(result.retrieved.ids)
        total_ms = math.nan if result.total_ms is None else result.total_ms
        self.put(place, STATUS_NUMBER[result.status], ids, total_ms, first=result.first)

    def count_statuses(self) -> dict[CaseStatus, int]:
        """How many results there are of each status."""
        counts = np.bincount(self.statuses.ravel(), minlength=len(STATUSES)).tolist()
        return dict(zip(STATUSES, counts, strict=True))

    def first_found_with_more(self) -> Iterator[CaseResult]:
        """For each case, its first result with a list, where that holds more than columns do."""
        numbers = self.list_numbers
        for case in {place % len(self.order.ids) for place in self.more}:
            listed = np.flatnonzero(numbers[:, case] != NO_LIST)
            place = int(listed[0]) * len(self.order.ids) + case if len(listed) else None
            if place in self.more:
                yield self.more[place]

    def __len__(self) -> int:
        return len(self._statuses)

    @overload
    def __getitem__(self, place: int) -> CaseResult: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[CaseResult]: ...
    def __getitem__(self, place: int | slice) -> CaseResult | Sequence[CaseResult]:
        if isinstance(place, slice):
            return tuple(map(self._make, range(*place.indices(len(self)))))
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._make(place % len(self))

    def __iter__(self) -> Iterator[CaseResult]:
        return map(self._make, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, CaseColumns)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _make(self, place: int) -> CaseResult:
        if place in self.more:
            return self.more[place]
        repeat, case = divmod(place, len(self.order.ids))
        listed, total_ms = self._list_numbers[place], self._times[place]
        return make_checked(
            CaseResult,
            case_id=self.order.ids[case],
            repeat=repeat,
            status=STATUSES[self._statuses[place]],
            retrieved=None
            if listed == NO_LIST
            else Retrieved(ids=self.lists[listed], outdated=NOTHING, stages=NOTHING),
            total_ms=None if math.isnan(total_ms) else total_ms,
            error="",
            first=place in self._firsts,
            cost=None,
            tries=None,
            unreachable=False,
        )


def read_columns(files: RunFolder, manifest: Plain, order: CaseOrder, repeats: int) -> CaseColumns:
    """The first line of every case of every repeat; raises as `RunFolder.iterate_cases` does. No case may be twice."""
    reader = _Reader(CaseColumns(order, repeats))
    read_result = files.case_reader(manifest)
    for number, line in enumerate(files.iterate_lines(), start=1):
        if not reader.read_plain(line):
            reader.keep(read_result(number, line))
    return reader.columns


class _Reader:
    """Puts lines into columns."""

    def __init__(self, columns: CaseColumns) -> None:
        self.columns = columns
        self._ids = columns.order.ids
        self._seen = bytearray(len(columns))
        self._lists: dict[bytes, int] = {}
        self._next = 0
        self._places: dict[str, int] | None = None

    def read_plain(self, line: bytes) -> bool:
        """Keep a line that is plain and whose seal is right; return whether it was."""
        found = _PLAIN_LINE.fullmatch(line)
        if found is None:
            return False
        bare, case, repeat, status, ids, total_ms, first, seal = found.groups()
        time = math.nan if total_ms is None else float(total_ms)
        if line_digits(bare) != seal.decode() or math.isinf(time):
            return False
        listed = NO_LIST if ids is None else self._find_list(ids)
        if listed is None:
            return False
        place = self._claim(case.decode(), 0 if repeat is None else int(repeat))
        if place is not None:
            self.columns.put(place, _STATUS_TEXTS[status], listed, time, first=first is not None)
        return True

    def keep(self, result: CaseResult) -> None:
        """Keep a result that was read from its line."""
        place = self._claim(result.case_id, result.repeat)
        if place is not None:
            self.columns.put_result(place, result)

    def _find_list(self, text: bytes) -> int | None:
        """The number of a list; None: it is not a list of texts."""
        number = self._lists.get(text)
        if number is None:
            try:
                ids: Any = json.loads(b"[" + text + b"]")
            except ValueError:
                return None
            if not all(isinstance(document, str) for document in ids):
                return None
            if len(self._lists) >= _KNOWN_LISTS:
                self._lists.clear()
            number = self._lists[text] = self.columns.lists.add(ids)
        return number

    def _claim(self, case: str, repeat: int) -> int | None:
        """The place of a case that has none yet; None: it is not of this run, or had a line before."""
        if repeat >= self.columns.repeats:
            return None
        # Lines come nearly always in the order of the cases: a table of all places is rarely needed.
        if self._next < len(self._ids) and self._ids[self._next] == case:
            place = self._next
        else:
            if self._places is None:
                self._places = {known: place for place, known in enumerate(self._ids)}
            if case not in self._places:
                return None
            place = self._places[case]
        self._next = place + 1 if place + 1 < len(self._ids) else 0
        whole = repeat * len(self._ids) + place
        if self._seen[whole]:
            return None
        self._seen[whole] = 1
        return whole
