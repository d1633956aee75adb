"""Brings an index forward along the change log: what was touched is read again, and the tail takes what differs.

The log says only *that* a row changed. What it is now comes from the snapshot, so a line read twice does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.index.base import Base, Row
from assay.index.columns import Fact, Folders, Mask, Whole, find, removed, table
from assay.index.kept import KeptRows
from assay.index.reading import Passage, Reader
from assay.index.state import State
from assay.index.tail import Tail
from assay.records import Change, LogPosition, RowKind


class Follower:
    """The base, the tail over it, and how far both have come. One thread at a time."""

    def __init__(self, base: Base, position: LogPosition, *, model: str | None) -> None:
        self.base = base
        self._pending = base.pending.tolist()
        self.position = position
        self.model = model
        self.tail = Tail()
        self._kept = KeptRows(position)
        self._folders = Folders(base.folders)
        self._alive: Mask = np.ones(base.count, bool)

    def state(self) -> State:
        """What searches may look at."""
        return State(
            position=self.position,
            base=self.base,
            base_alive=self._alive,
            tail=self.tail.view(),
            folders=self._folders,
            model=self.model,
            kept=self._kept,
        )

    def keep(self, other: Follower) -> None:
        """Go on with the rows that another one kept, if it stands at the same position."""
        if other.position == self.position:
            self._kept = other._kept

    def take_pending(self, reader: Reader) -> None:
        """Look anew at what the base does not know any more; nothing the second time."""
        pending, self._pending = self._pending, []
        self._take_passages(pending, reader)

    def take_all(self, reader: Reader) -> None:
        """Read the whole tenant into the tail."""
        self._remember(table(reader.memories(), self._folders))
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
        found = table(reader.memories_of(numbers), self._folders)
        gone = np.setdiff1d(np.array(numbers, np.int64), found[Fact.NUMBER])
        self._remember(found)
        if len(gone):
            self._remember(removed(gone))

    def _remember(self, fresh: Whole) -> None:
        """Keep facts that are not known yet: most updates of a memory change none of them."""
        self.tail.remember(fresh[:, ~self._same(fresh)])

    def _same(self, fresh: Whole) -> Mask:
        """Which facts are those that are known. The tail's word counts before the base's."""
        same = np.zeros(fresh.shape[1], bool)
        for known in (self.base.memories, self.tail.memories):
            places, there = find(known[Fact.NUMBER], fresh[Fact.NUMBER])
            same[there] = (known[:, places[there]] == fresh[:, there]).all(axis=0)
        return same

    def _take_passages(self, numbers: Sequence[int], reader: Reader) -> None:
        if not numbers:
            return
        found = {one.number: one for one in reader.passages_of(numbers)}
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
