"""Candidates of a search as columns of the index; a row is made of them only when somebody looks at it.

A search ranks hundreds of passages and shows ten. Reading all their rows from the database was a quarter of its
processor time, so an index keeps what ranking asks of a passage and of its memory in its tables.

- Columns of some passages in one state of the index.
- The rows of a search: columns, and rows that came from the database, behind one mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from assay.index.base import Row
from assay.index.columns import NEVER, REMOVED, TIER_NAMES, TIERS, Fact, Mask, Whole, find, read_confidences, read_ids
from assay.index.state import State
from assay.records import Tier
from assay.storage import Candidate, CandidateMemory

# --- Columns of some passages in one state of the index ---

_SECOND = 1_000_000
_DEPRECATED = TIERS[str(Tier.DEPRECATED)]
_NUMBER, _FOLDER, _TIER = int(Fact.NUMBER), int(Fact.FOLDER), int(Fact.TIER)
_VALID_FROM, _SUPERSEDED, _UPDATED = int(Fact.VALID_FROM), int(Fact.SUPERSEDED), int(Fact.UPDATED)
_CONTEXT_TYPE, _ENTITY_TYPE, _LEARNED = int(Fact.CONTEXT_TYPE), int(Fact.ENTITY_TYPE), int(Fact.LEARNED)
_new_memory: Callable[[tuple[object, ...]], CandidateMemory] = partial(tuple.__new__, CandidateMemory)
_new_candidate: Callable[[tuple[object, ...]], Candidate] = partial(tuple.__new__, Candidate)


class RowColumns(NamedTuple):
    """Passages that one state of the index holds, a place for each."""

    state: State
    numbers: list[int]
    positions: list[int]
    tokens: list[int]
    memory_ids: list[str]
    """Empty for a memory whose id does not fit into the table."""
    facts: Whole
    """A table of their memories, a column for each passage."""
    confidences: list[float]

    def are_whole(self) -> bool:
        """Whether rows can be made of them: an id may be too long for the table, and a tier unknown to it."""
        return all(self.memory_ids) and not np.count_nonzero(self.facts[Fact.TIER] == REMOVED)

    def find_numbers(self, mask: Mask) -> set[int]:
        """The numbers of the passages at these places."""
        return {self.numbers[place] for place in np.flatnonzero(mask).tolist()} if mask.any() else set()

    def make_rows(self, places: list[int]) -> list[Candidate]:
        """The rows of the passages at these places."""
        every: list[list[int]] = self.facts[:, places].T.tolist()
        folders, types = self.state.folders.listed, self.state.types.listed
        rows = []
        for place, said in zip(places, every, strict=True):
            memory_id, position, superseded = self.memory_ids[place], self.positions[place], said[_SUPERSEDED]
            # Without the call in Python that a named tuple makes for each: dozens are made in a search.
            memory = _new_memory(
                (
                    memory_id,
                    said[_NUMBER],
                    TIER_NAMES[said[_TIER]],
                    folders[said[_FOLDER]],
                    types[said[_CONTEXT_TYPE]],
                    types[said[_ENTITY_TYPE]],
                    self.confidences[place],
                    bool(said[_LEARNED]),
                    said[_UPDATED] / _SECOND,
                    said[_VALID_FROM] / _SECOND,
                    None if superseded == NEVER else superseded / _SECOND,
                )
            )
            named = f"{memory_id}#{position}"
            rows.append(_new_candidate((self.numbers[place], memory_id, position, self.tokens[place], memory, named)))
        return rows


def read_columns(state: State, numbers: Iterable[int]) -> RowColumns:
    """The columns of those of these passages that the index holds."""
    wanted = np.fromiter(numbers, np.int64)
    (in_base, of_base), (in_tail, of_tail) = state.locate(wanted)
    base, tail = state.base, state.tail
    if np.count_nonzero(of_base) == len(wanted):
        passages = base.passages[:, in_base]
    else:
        passages = np.zeros((len(Row), len(wanted)), np.int64)
        passages[:, of_base] = base.passages[:, in_base[of_base]]
        passages[_BUT_PLACE, of_tail.nonzero()[0][:, None]] = tail.rows[in_tail[of_tail]]
        there = of_base | of_tail
        wanted, passages, of_base = wanted[there], passages[:, there], of_base[there]
    facts = _read_facts(state, passages, of_base)
    return RowColumns(
        state,
        wanted.tolist(),
        passages[Row.POSITION].tolist(),
        passages[Row.TOKENS].tolist(),
        read_ids(facts),
        facts,
        read_confidences(facts),
    )


_BUT_PLACE = [row for row in Row if row is not Row.MEMORY_PLACE]


def _read_facts(state: State, passages: Whole, of_base: Mask) -> Whole:
    """The facts of the memories of passages: the tail's where it has any, else those of the base."""
    owners = passages[Row.MEMORY_NUMBER]
    if np.count_nonzero(of_base) == len(owners):
        facts = state.base.memories[:, passages[Row.MEMORY_PLACE]]
    else:
        facts = np.zeros((len(Fact), len(owners)), np.int64)
        facts[:, of_base] = state.base.memories[:, passages[Row.MEMORY_PLACE, of_base]]
        # A passage of the tail whose memory did not change since the base.
        new = np.flatnonzero(~of_base)
        places, there = find(state.base.memories[Fact.NUMBER], owners[new])
        facts[:, new[there]] = state.base.memories[:, places[there]]
    if state.tail.memories.shape[1]:
        places, there = find(state.tail.memories[Fact.NUMBER], owners)
        facts[:, there] = state.tail.memories[:, places[there]]
    return facts


# --- The rows of a search: columns, and rows that came from the database, behind one mapping ---


class PassageNames:
    """Names passages as the query log does; without the columns of the index, which the log must not hold on to."""

    __slots__ = ("_memory_ids", "_named", "_positions")

    def __init__(self, memory_ids: Mapping[int, str], positions: Mapping[int, int]) -> None:
        self._memory_ids = memory_ids
        self._positions = positions
        self._named: dict[int, str] | None = None

    def name(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The names of these passages."""
        named = self._named
        if named is None:
            # Most stand in the lists of two channels or more.
            positions = self._positions
            named = {number: f"{memory_id}#{positions[number]}" for number, memory_id in self._memory_ids.items()}
            self._named = named
        return tuple(map(named.__getitem__, numbers))


class Rows(Mapping[int, Candidate]):
    """Candidates by the number of their passage. Facts that every candidate is asked for are plain dictionaries."""

    __slots__ = (
        "_columns",
        "_learners",
        "_made",
        "_superseded",
        "has_deprecated",
        "highest_confidence",
        "memory_ids",
        "memory_numbers",
        "positions",
    )

    def __init__(self, rows: Iterable[Candidate] = ()) -> None:
        made = [*rows]
        self._made = {row.number: row for row in made} if made else {}
        self._columns: list[tuple[RowColumns, dict[int, int]]] = []
        self.memory_numbers = {row.number: row.memory.number for row in made} if made else {}
        """The memory of each passage, by its number."""
        self.memory_ids = {row.number: row.memory_id for row in made} if made else {}
        """The same, by its id."""
        self.positions = {row.number: row.position for row in made} if made else {}
        """The position of each passage in its memory."""
        self._superseded = {row.number for row in made if row.memory.superseded_at is not None} if made else set()
        self._learners = {row.number for row in made if row.memory.has_learned} if made else set()
        self.highest_confidence = max([row.memory.confidence for row in made]) if made else 0.0
        """No memory here has a higher one."""
        self.has_deprecated = Tier.DEPRECATED.value in {row.memory.tier for row in made}
        """Whether a memory here may be deprecated; False: none is."""

    @classmethod
    def of(cls, columns: RowColumns) -> Self:
        """Rows that are made of columns when they are asked for."""
        rows = cls()
        numbers = columns.numbers
        rows._columns.append((columns, dict(zip(numbers, range(len(numbers)), strict=True))))
        rows.memory_numbers = dict(zip(numbers, columns.facts[Fact.NUMBER].tolist(), strict=True))
        rows.memory_ids = dict(zip(numbers, columns.memory_ids, strict=True))
        rows.positions = dict(zip(numbers, columns.positions, strict=True))
        rows._superseded = columns.find_numbers(columns.facts[Fact.SUPERSEDED] != NEVER)
        rows._learners = columns.find_numbers(columns.facts[Fact.LEARNED] != 0)
        rows.highest_confidence = max(columns.confidences, default=0.0)
        rows.has_deprecated = bool((columns.facts[Fact.TIER] == _DEPRECATED).any())
        return rows

    def join(self, other: Rows) -> Rows:
        """Rows of both."""
        if not self.memory_numbers:
            return other
        joined = Rows()
        joined._made = {**self._made, **other._made}
        joined._columns = [*self._columns, *other._columns]
        joined.memory_numbers = {**self.memory_numbers, **other.memory_numbers}
        joined.memory_ids = {**self.memory_ids, **other.memory_ids}
        joined.positions = {**self.positions, **other.positions}
        joined._superseded = self._superseded | other._superseded
        joined._learners = self._learners | other._learners
        joined.highest_confidence = max(self.highest_confidence, other.highest_confidence)
        joined.has_deprecated = self.has_deprecated or other.has_deprecated
        return joined

    def extend(self, other: Rows) -> None:
        """Add the rows of another one to these."""
        self._made |= other._made
        # A new list: rows that these were taken from may share the old one.
        self._columns = [*self._columns, *other._columns]
        self.memory_numbers |= other.memory_numbers
        self.memory_ids |= other.memory_ids
        self.positions |= other.positions
        self._superseded |= other._superseded
        self._learners |= other._learners
        self.highest_confidence = max(self.highest_confidence, other.highest_confidence)
        self.has_deprecated = self.has_deprecated or other.has_deprecated

    def keep_current(self) -> Rows:
        """Those whose memory nothing has superseded."""
        return self._without(self._superseded) if self._superseded else self

    def keep(self, passes: Callable[[Candidate], bool]) -> Rows:
        """Those that pass a test."""
        failed = {number for number, row in self.items() if not passes(row)}
        return self._without(failed) if failed else self

    def _without(self, left_out: set[int]) -> Rows:
        kept = Rows()
        # Rows that are made are shared, left out ones too: what is here is what `memory_numbers` names.
        kept._made, kept._columns = self._made, self._columns
        kept.memory_numbers = {key: value for key, value in self.memory_numbers.items() if key not in left_out}
        kept.memory_ids = {key: value for key, value in self.memory_ids.items() if key not in left_out}
        kept.positions = {key: value for key, value in self.positions.items() if key not in left_out}
        kept._superseded = self._superseded - left_out
        kept._learners = self._learners - left_out
        kept.highest_confidence = self.highest_confidence
        kept.has_deprecated = self.has_deprecated
        return kept

    def find_learners(self, numbers: Iterable[int]) -> set[str]:
        """The ids of the memories of these passages that have learned triggers."""
        return {self.memory_ids[number] for number in numbers if number in self._learners} if self._learners else set()

    def passage_names(self) -> PassageNames:
        """What the query log needs to name these passages."""
        return PassageNames(self.memory_ids, self.positions)

    def __getitem__(self, number: int) -> Candidate:
        if number not in self.memory_numbers:
            raise KeyError(number)
        row = self._made.get(number)
        if row is None:
            row = self._made[number] = self._make(number)
        return row

    def __iter__(self) -> Iterator[int]:
        return iter(self.memory_numbers)

    def __len__(self) -> int:
        return len(self.memory_numbers)

    def __contains__(self, number: object) -> bool:
        return number in self.memory_numbers

    def make_rows(self, numbers: Iterable[int]) -> None:
        """Make the rows of these passages, which are here, at once: one by one they would take twice as long."""
        missing = [number for number in numbers if number not in self._made]
        for columns, places in self._columns:
            own = [number for number in missing if number in places]
            if own:
                self._made.update(zip(own, columns.make_rows([places[number] for number in own]), strict=True))

    def _make(self, number: int) -> Candidate:
        for columns, places in self._columns:
            place = places.get(number)
            if place is not None:
                return columns.make_rows([place])[0]
        raise KeyError(number)
