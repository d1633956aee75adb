"""What a tenant's index is at one moment: a base, what of it is still true, and the tail. Never changed once made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from assay.index import bm25
from assay.index.base import Base, Row
from assay.index.columns import Fact, Folders, Mask, Whole, find, passes
from assay.index.kept import KeptRows
from assay.index.tail import TailView
from assay.records import Filters, LogPosition

_FILTERS_KEPT = 64


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Allowed:
    """The passages that pass a filter, of one state of the index."""

    base: Mask
    tail: Mask
    count: int

    def unless_all(self, alive: Allowed) -> Allowed | None:
        """Itself, or None when it leaves nothing out."""
        return None if self.count == alive.count else self


@dataclass(frozen=True, kw_only=True)
class State:
    """One moment. Shared by every search that began in it."""

    position: LogPosition
    base: Base
    base_alive: Mask
    """Which passages of the base are neither removed nor changed."""
    tail: TailView
    folders: Folders
    model: str | None
    """Whose vectors are here; None when there are none to have."""
    kept: KeptRows = field(repr=False, compare=False)
    """Rows that searches have read; those of the newest state, whichever state this is."""
    _known: dict[Filters, Allowed] = field(default_factory=dict, repr=False)

    @cached_property
    def alive(self) -> Allowed:
        """Every passage there is."""
        count = int(np.count_nonzero(self.base_alive)) + int(np.count_nonzero(self.tail.alive))
        return Allowed(base=self.base_alive, tail=self.tail.alive, count=count)

    def allowed(self, filters: Filters, memory_numbers: Whole | None) -> Allowed | None:
        """The passages whose memories pass; None when all do."""
        if memory_numbers is not None:
            return self._compute_allowed(filters, memory_numbers).unless_all(self.alive)
        found = self._known.get(filters)
        if found is None:
            found = self._compute_allowed(filters, None)
            if len(self._known) >= _FILTERS_KEPT:
                self._known.clear()
            self._known[filters] = found
        return found.unless_all(self.alive)

    def memories_of(self, numbers: Whole) -> Whole:
        """The memory of each passage; -1 for a passage that is not here."""
        found = np.full(len(numbers), -1, np.int64)
        for (places, there), owners in zip(
            self._locate(numbers), (self.base.passages[Row.MEMORY_NUMBER], self.tail.memory_numbers), strict=True
        ):
            found[there] = owners[places[there]]
        return found

    def passes(self, numbers: Whole, allowed: Allowed) -> Mask:
        """Which of these passages are allowed."""
        (in_base, of_base), (in_tail, of_tail) = self._locate(numbers)
        kept = np.zeros(len(numbers), bool)
        kept[of_base] = allowed.base[in_base[of_base]]
        kept[of_tail] = allowed.tail[in_tail[of_tail]]
        return kept

    def _locate(self, numbers: Whole) -> tuple[tuple[Whole, Mask], tuple[Whole, Mask]]:
        """Where these passages stand in the base and in the tail; each in one of them or in none."""
        in_base, of_base = find(self.base.numbers, numbers)
        of_base[of_base] = self.base_alive[in_base[of_base]]
        sorted_places, of_tail = find(self.tail.numbers[self._tail_order], numbers)
        in_tail = self._tail_order[sorted_places] if len(self._tail_order) else sorted_places
        return (in_base, of_base), (in_tail, of_tail)

    @cached_property
    def _tail_order(self) -> Whole:
        """The living places of the tail, by number."""
        alive = np.flatnonzero(self.tail.alive)
        return alive[np.argsort(self.tail.numbers[alive])]

    def passing(self, allowed: Allowed | None) -> Allowed:
        """A filter's passages, or every one."""
        return self.alive if allowed is None else allowed

    @property
    def statistics_count(self) -> int:
        """The documents that frequencies are counted in: until folded, a changed passage counts twice."""
        return self.base.count + int(np.count_nonzero(self.tail.alive))

    def frequency(self, stem: str) -> int:
        """How many of them hold a stem."""
        places, _ = self.tail.postings.of(stem, self.tail.count)
        of_tail = int(np.count_nonzero(self.tail.alive[places]))
        return of_tail + (0 if self.base.lexical is None else self.base.lexical.frequency(stem))

    def weighed(self, terms: Mapping[str, float]) -> dict[str, float]:
        """Each term's weight times its idf, over base and tail together."""
        total = self.statistics_count
        held = {stem: self.frequency(stem) for stem, weight in terms.items() if weight > 0.0}
        return {stem: terms[stem] * bm25.idf(total, frequency) for stem, frequency in held.items() if frequency}

    @property
    def average_length(self) -> float:
        """The base's, so that both score alike; without a base the tail's own."""
        if self.base.lexical is not None and self.base.lexical.count:
            return self.base.lexical.average_length
        lengths = self.tail.lengths[self.tail.alive]
        return float(lengths.mean()) if len(lengths) else 0.0

    def current_memories(self, filters: Filters) -> tuple[Mask, Mask]:
        """Which memories pass, of the base's table and of the tail's; the tail's word counts for both."""
        of_base = passes(self.base.memories, filters, self.folders)
        of_tail = passes(self.tail.memories, filters, self.folders)
        places, there = find(self.base.memories[Fact.NUMBER], self.tail.memories[Fact.NUMBER])
        of_base[places[there]] = of_tail[there]
        return of_base, of_tail

    def _compute_allowed(self, filters: Filters, memory_numbers: Whole | None) -> Allowed:
        of_base, of_tail = self.current_memories(filters)
        if memory_numbers is not None:
            of_base &= np.isin(self.base.memories[Fact.NUMBER], memory_numbers)
            of_tail &= np.isin(self.tail.memories[Fact.NUMBER], memory_numbers)
        base = self.base_alive & of_base[self.base.passages[Row.MEMORY_PLACE]]
        tail = self.tail.alive & self._tail_passing(of_base, of_tail)
        count = int(np.count_nonzero(base)) + int(np.count_nonzero(tail))
        return Allowed(base=base, tail=tail, count=count)

    def _tail_passing(self, of_base: Mask, of_tail: Mask) -> Mask:
        """Passages of the tail whose memory passes; the memory may stand in the base alone."""
        wanted = self.tail.memory_numbers
        passing = np.zeros(len(wanted), bool)
        for table, kept in ((self.base.memories, of_base), (self.tail.memories, of_tail)):
            places, there = find(table[Fact.NUMBER], wanted)
            passing[there] = kept[places[there]]
        return passing
