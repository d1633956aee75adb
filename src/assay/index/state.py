"""The state of a tenant's index at one moment, and how it follows the change log.

- What searches have read of passages, kept until the change log names them.
- The state: a base, which of it is still true, and the tail; never changed once made.
- Following the change log: what was touched is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from assay.index.base import Base, Row
from assay.index.columns import Fact, Folders, Mask, Names, Whole, find, make_table, mark_removed, passes
from assay.index.scoring import MeasuredVectors, idf
from assay.index.tail import Passage, Reader, Tail, TailView
from assay.index.vectors import PassingRows
from assay.records import Change, Filters, LogPosition, RowKind
from assay.storage import Authorship

# --- What searches have read of passages, kept until the change log names them ---
#
# Many searches look at the same passages. `Kept` belongs to one follower of the log, which drops what was touched.
# Something is taken in only from a snapshot that stands where the follower stands, so that nothing is older than the
# log allows.

MOST_FIRSTS = 100_000
"""First passages kept of a tenant; when there are more, all are let go."""
MOST_LETTERS = 40_000_000
"""Letters of the words kept of a tenant; when there are more, all words are let go."""


class Kept:
    """What was read of one tenant's passages. Threads share it."""

    def __init__(self, position: LogPosition, most_firsts: int = MOST_FIRSTS, most_letters: int = MOST_LETTERS) -> None:
        self._position = position
        self._most_firsts = most_firsts
        self._most_letters = most_letters
        self._firsts: dict[str, int] = {}
        self._owners: dict[int, str] = {}
        """The same the other way round."""
        self._words: dict[int, str] = {}
        self._letters = 0
        self._lock = threading.Lock()

    def firsts_among(self, memory_ids: Iterable[str]) -> dict[str, int]:
        """The numbers of the first passages of those of these memories whose first passage is known."""
        firsts = self._firsts
        return {memory_id: number for memory_id in memory_ids if (number := firsts.get(memory_id)) is not None}

    def add_firsts(self, firsts: Mapping[str, int], position: LogPosition) -> None:
        """Keep the first passages of memories, read in a snapshot at this position of the log."""
        with self._lock:
            if position != self._position:
                return
            if len(self._firsts) + len(firsts) > self._most_firsts:
                self._firsts.clear()
                self._owners.clear()
            self._firsts |= firsts
            self._owners |= {number: memory_id for memory_id, number in firsts.items()}

    def words_among(self, numbers: Iterable[int]) -> dict[int, str]:
        """The words of those of these passages whose words are here."""
        words = self._words
        return {number: found for number in numbers if (found := words.get(number)) is not None}

    def add_words(self, words: Mapping[int, str], position: LogPosition) -> None:
        """Keep the words of passages, read in a snapshot at this position."""
        with self._lock:
            if position != self._position:
                return
            for number, lines in words.items():
                if number not in self._words:
                    self._words[number] = lines
                    self._letters += len(lines)
            if self._letters > self._most_letters:
                self._words.clear()
                self._letters = 0

    def advance(self, position: LogPosition, *, touched: Iterable[int]) -> None:
        """The log went on, and these passages, or their memories, were touched."""
        with self._lock:
            self._position = position
            for number in touched:
                owner = self._owners.pop(number, None)
                if owner is not None:
                    self._firsts.pop(owner, None)
                self._letters -= len(self._words.pop(number, ""))


# --- The state: a base, which of it is still true, and the tail; never changed once made ---

_FILTERS_KEPT = 64
_FREQUENCIES_KEPT = 10_000
_NOTHING: Whole = np.zeros(0, np.int64)


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
    types: Names
    """Context types and entity types."""
    model: str | None
    """Whose vectors are here; None when there are none to have."""
    kept: Kept = field(repr=False, compare=False)
    """What searches have read; of the newest state, whichever state this is."""
    _known: dict[Filters, Allowed] = field(default_factory=dict, repr=False)
    _vector_rows: dict[Allowed, PassingRows] = field(default_factory=dict, repr=False, compare=False)
    """The vectors of the base that pass a filter, by filter."""
    _frequencies: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    """How many passages hold a stem, as far as searches asked: one search asks four times for each of its stems."""
    _weighed: dict[str, tuple[tuple[tuple[str, float], ...], dict[str, float]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The terms that were weighed last, and their weights."""
    authors: dict[str, Authorship] = field(default_factory=dict, repr=False, compare=False)
    """Who wrote memories, by their ids, as far as searches asked; views fill it."""
    known_once: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What searches asked the store about the whole tenant, such as whether there are facts; views fill it."""
    samples: dict[Allowed | None, MeasuredVectors] = field(default_factory=dict, repr=False, compare=False)
    """Even samples of the vectors that pass a filter, by filter; views fill it."""

    @cached_property
    def alive(self) -> Allowed:
        """Every passage there is."""
        count = int(np.count_nonzero(self.base_alive)) + int(np.count_nonzero(self.tail.alive))
        return Allowed(base=self.base_alive, tail=self.tail.alive, count=count)

    def find_allowed(self, filters: Filters, memory_numbers: Whole | None) -> Allowed | None:
        """Return the passages whose memories pass; None if all do."""
        if memory_numbers is not None:
            return self._compute_allowed(filters, memory_numbers).unless_all(self.alive)
        found = self._known.get(filters)
        if found is None:
            found = self._compute_allowed(filters, None)
            if len(self._known) >= _FILTERS_KEPT:
                self._known.clear()
            self._known[filters] = found
        return found.unless_all(self.alive)

    def find_allowed_only(self, wider: Filters, without: Filters) -> Allowed:
        """The passages that pass the first filters and not the second."""
        more, less = (self.passing(self.find_allowed(filters, None)) for filters in (wider, without))
        base, tail = more.base & ~less.base, more.tail & ~less.tail
        return Allowed(base=base, tail=tail, count=int(np.count_nonzero(base)) + int(np.count_nonzero(tail)))

    def memories_of(self, numbers: Whole) -> Whole:
        """The memory of each passage; -1 for a passage that is not here."""
        found = np.full(len(numbers), -1, np.int64)
        for (places, there), owners in zip(
            self.locate(numbers), (self.base.passages[Row.MEMORY_NUMBER], self.tail.memory_numbers), strict=True
        ):
            found[there] = owners[places[there]]
        return found

    def passes(self, numbers: Whole, allowed: Allowed) -> Mask:
        """Which of these passages are allowed."""
        (in_base, of_base), (in_tail, of_tail) = self.locate(numbers)
        kept = np.zeros(len(numbers), bool)
        kept[of_base] = allowed.base[in_base[of_base]]
        kept[of_tail] = allowed.tail[in_tail[of_tail]]
        return kept

    def locate(self, numbers: Whole) -> tuple[tuple[Whole, Mask], tuple[Whole, Mask]]:
        """Where these passages stand in the base and in the tail; each in one of them or in none."""
        in_base, of_base = find(self.base.numbers, numbers)
        if not self._is_base_whole:
            of_base[of_base] = self.base_alive[in_base[of_base]]
        if not len(self._tail_order):
            return (in_base, of_base), find(_NOTHING, numbers)
        sorted_places, of_tail = find(self.tail.numbers[self._tail_order], numbers)
        return (in_base, of_base), (self._tail_order[sorted_places], of_tail)

    @cached_property
    def _is_base_whole(self) -> bool:
        """Whether every passage of the base is alive."""
        return bool(self.base_alive.all())

    @cached_property
    def _tail_order(self) -> Whole:
        """The living places of the tail, by number."""
        alive = np.flatnonzero(self.tail.alive)
        return alive[np.argsort(self.tail.numbers[alive])]

    def passing(self, allowed: Allowed | None) -> Allowed:
        """A filter's passages, or every one."""
        return self.alive if allowed is None else allowed

    def find_vector_rows(self, passing: Allowed) -> PassingRows:
        """Return which vectors of the base pass a filter; kept, since it takes a look at all of them."""
        found = self._vector_rows.get(passing)
        if found is None:
            if self.base.vectors is None:
                raise ValueError("a base without vectors has no rows of them")
            found = self.base.vectors.find_rows(passing.base)
            if len(self._vector_rows) >= _FILTERS_KEPT:
                self._vector_rows.clear()
            self._vector_rows[passing] = found
        return found

    @cached_property
    def statistics_count(self) -> int:
        """The documents that frequencies are counted in: until folded, a changed passage counts twice."""
        return self.base.count + int(np.count_nonzero(self.tail.alive))

    def frequency(self, stem: str) -> int:
        """How many of them hold a stem."""
        found = self._frequencies.get(stem)
        if found is None:
            found = self._count(stem)
            if len(self._frequencies) >= _FREQUENCIES_KEPT:
                self._frequencies.clear()
            self._frequencies[stem] = found
        return found

    def _count(self, stem: str) -> int:
        places, _ = self.tail.postings.of(stem, self.tail.count)
        of_tail = int(np.count_nonzero(self.tail.alive[places]))
        return of_tail + (0 if self.base.lexical is None else self.base.lexical.frequency(stem))

    def weigh_terms(self, terms: Mapping[str, float]) -> dict[str, float]:
        """Return each term's weight times its idf, over base and tail together."""
        # In their order, too, in which scores are added up.
        asked, last = tuple(terms.items()), self._weighed.get("last")
        if last is not None and last[0] == asked:
            # A search asks for the best passages, and then for the scores of others.
            return last[1]
        total = self.statistics_count
        held = {stem: self.frequency(stem) for stem, weight in terms.items() if weight > 0.0}
        weights = {stem: terms[stem] * idf(total, frequency) for stem, frequency in held.items() if frequency}
        # One assignment, so that threads need no lock.
        self._weighed["last"] = asked, weights
        return weights

    @cached_property
    def average_length(self) -> float:
        """The base's, so that both score alike; without a base the tail's own."""
        if self.base.lexical is not None and self.base.lexical.count:
            return self.base.lexical.average_length
        lengths = self.tail.lengths[self.tail.alive]
        return float(lengths.mean()) if len(lengths) else 0.0

    def current_memories(self, filters: Filters) -> tuple[Mask, Mask]:
        """Return which memories of the base and of the tail pass; for a memory in both, the tail decides."""
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
        # Mostly every memory passes: then there are no millions of passages to look at.
        base = self.base_alive if of_base.all() else self.base_alive & of_base[self.base.passages[Row.MEMORY_PLACE]]
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


# --- Following the change log: what was touched is read again ---
#
# The log says only *that* a row changed. What it is now comes from the snapshot, so a line read twice does no harm.


class Follower:
    """The base, the tail over it, and how far both have come. One thread at a time."""

    def __init__(self, base: Base, position: LogPosition, *, model: str | None) -> None:
        self.base = base
        self._pending = base.pending.tolist()
        self.position = position
        self.model = model
        self.tail = Tail()
        self._kept = Kept(position)
        self._folders = Folders(base.folders)
        self._types = Names(base.types)
        self._alive: Mask = np.ones(base.count, bool)

    def state(self) -> State:
        """What searches may look at."""
        return State(
            position=self.position,
            base=self.base,
            base_alive=self._alive,
            tail=self.tail.view(),
            folders=self._folders,
            types=self._types,
            model=self.model,
            kept=self._kept,
        )

    def keep(self, other: Follower) -> None:
        """Take over what another follower kept, if it is at the same position."""
        if other.position == self.position:
            self._kept = other._kept

    def take_pending(self, reader: Reader) -> None:
        """Look anew at what the base does not know any more; nothing the second time."""
        pending, self._pending = self._pending, []
        self._take_passages(pending, reader)

    def take_all(self, reader: Reader) -> None:
        """Read the whole tenant into the tail."""
        self._remember(make_table(reader.memories(), self._folders, self._types))
        for page in reader.passages():
            self.tail.change([], page)

    def take(self, changes: Iterable[Change], position: LogPosition, reader: Reader) -> None:
        """Take some lines of the log."""
        touched: dict[RowKind, set[int]] = {kind: set() for kind in RowKind}
        for change in changes:
            if change.number is not None:
                touched[change.kind].add(change.number)
        self._take_memories(sorted(touched[RowKind.MEMORY]), reader)
        self._take_passages(sorted(touched[RowKind.CHUNK]), reader)
        self._kept.advance(position, touched=(*touched[RowKind.CHUNK], *self._passages_of(touched[RowKind.MEMORY])))
        self.position = position

    def _passages_of(self, memories: Iterable[int]) -> Iterable[int]:
        """The numbers of all passages of these memories that are here, dead ones too."""
        wanted = np.array(sorted(memories), np.int64)
        _, there = find(self.base.memories[Fact.NUMBER], wanted)
        if there.any():
            # Most lines are of memories that the base does not know, and need no look at all its passages.
            yield from self.base.numbers[np.isin(self.base.passages[Row.MEMORY_NUMBER], wanted[there])].tolist()
        yield from self.tail.numbers_of(wanted)

    def _take_memories(self, numbers: Sequence[int], reader: Reader) -> None:
        if not numbers:
            return
        found = make_table(reader.memories_of(numbers), self._folders, self._types)
        gone = np.setdiff1d(np.array(numbers, np.int64), found[Fact.NUMBER])
        self._remember(found)
        if len(gone):
            self._remember(mark_removed(gone))

    def _remember(self, fresh: Whole) -> None:
        """Keep facts that are not known yet: most updates of a memory change none of them."""
        self.tail.remember(fresh[:, ~self._same(fresh)])

    def _same(self, fresh: Whole) -> Mask:
        """Return which facts are already known; the tail takes precedence over the base."""
        same = np.zeros(fresh.shape[1], bool)
        for known in (self.base.memories, self.tail.memories):
            places, there = find(known[Fact.NUMBER], fresh[Fact.NUMBER])
            same[there] = (known[:, places[there]] == fresh[:, there]).all(axis=0)
        return same

    def _take_passages(self, numbers: Sequence[int], reader: Reader) -> None:
        if not numbers:
            return
        found = {passage.number: passage for passage in reader.passages_of(numbers)}
        places, there = find(self.base.numbers, np.array(numbers, np.int64))
        base_places = {
            number: place for number, place, known in zip(numbers, places.tolist(), there, strict=True) if known
        }
        gone = [number for number in numbers if not self._is_known(found.get(number), base_places.get(number))]
        self._drop([base_places[number] for number in gone if number in base_places])
        self.tail.change(gone, [found[number] for number in gone if number in found])

    def _is_known(self, one: Passage | None, base_place: int | None) -> bool:
        """Whether a passage is kept already just as it is."""
        if one is None:
            return False
        kept = self.tail.stamp_of(one.number)
        if kept is None and base_place is not None and self._alive[base_place]:
            kept = int(self.base.passages[Row.STAMP, base_place])
        return kept == one.stamp

    def _drop(self, base_places: Sequence[int]) -> None:
        if base_places:
            # A copy: searches may still look at the mask as it was.
            self._alive = self._alive.copy()
            self._alive[base_places] = False
