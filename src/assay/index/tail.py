"""What changed since the base: passages kept in memory and compared one by one.

`Tail` is written by one thread at a time and only ever grows; `TailView` is what it was at one moment. A changed
passage is added again and its old place marked dead, so that a view never sees a row change under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from assay.index.columns import Fact, Mask, Whole, merged
from assay.index.nearness import Measured, measured
from assay.index.postings import Postings
from assay.index.reading import Passage


class Growing:
    """Rows in one block with room to grow; what was handed out before stays as it was."""

    def __init__(self, dtype: DTypeLike, width: tuple[int, ...] = ()) -> None:
        self._block: NDArray[Any] = np.zeros((0, *width), dtype)
        self._used = 0

    def extend(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        end = self._used + len(rows)
        if end > len(self._block):
            larger = np.zeros((max(end, 2 * len(self._block), 64), *self._block.shape[1:]), self._block.dtype)
            larger[: self._used] = self._block[: self._used]
            self._block = larger
        self._block[self._used : end] = rows
        self._used = end

    def rows(self) -> NDArray[Any]:
        """What is there now."""
        return self._block[: self._used]


@dataclass(frozen=True, kw_only=True, slots=True)
class TailView:
    """The tail at one moment."""

    numbers: Whole
    memory_numbers: Whole
    stamps: Whole
    lengths: Whole
    alive: Mask
    memories: Whole
    """A table of the memories that are new or changed."""
    vectors: Measured
    vector_places: Whole
    postings: Postings

    @property
    def count(self) -> int:
        """Places, dead ones too."""
        return len(self.numbers)


class Tail:
    """The tail as it grows."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._rows = Growing(np.int64, (4,))
        self._alive: Mask = np.zeros(0, bool)
        self._vectors: Growing | None = None
        self._lengths = Growing(np.float32)
        self._vector_places = Growing(np.int64)
        self._postings = Postings()
        self.memories: Whole = np.zeros((len(Fact), 0), np.int64)

    @property
    def live(self) -> int:
        """Passages that stand in the tail."""
        return len(self._places)

    @property
    def size(self) -> int:
        """Places, dead ones too."""
        return len(self._alive)

    def stamp_of(self, number: int) -> int | None:
        """The stamp under which a passage is kept here, if it is."""
        place = self._places.get(number)
        return None if place is None else int(self._rows.rows()[place, 2])

    def numbers_of(self, memories: Whole) -> list[int]:
        """The numbers of the passages of these memories, dead ones too."""
        rows = self._rows.rows()
        found: list[int] = rows[np.isin(rows[:, 1], memories), 0].tolist()
        return found

    def remember(self, fresh: Whole) -> None:
        """Take new facts of memories."""
        self.memories = merged(self.memories, fresh)

    def change(self, gone: Sequence[int], fresh: Sequence[Passage]) -> None:
        """Drop the passages of some numbers and add others, which may have the same numbers."""
        alive = np.concatenate([self._alive, np.ones(len(fresh), bool)])
        alive[[place for number in gone if (place := self._places.pop(number, None)) is not None]] = False
        begin = len(self._alive)
        bags = [one.stems() for one in fresh]
        for place, (one, bag) in enumerate(zip(fresh, bags, strict=True), begin):
            self._postings.add(place, bag)
            self._places[one.number] = place
        rows = [(one.number, one.memory_number, one.stamp, len(bag)) for one, bag in zip(fresh, bags, strict=True)]
        self._rows.extend(np.array(rows, np.int64).reshape(-1, 4))
        self._add_vectors(begin, fresh)
        self._alive = alive

    def view(self) -> TailView:
        """The tail as it is now."""
        rows = self._rows.rows()
        return TailView(
            numbers=rows[:, 0],
            memory_numbers=rows[:, 1],
            stamps=rows[:, 2],
            lengths=rows[:, 3],
            alive=self._alive,
            memories=self.memories,
            vectors=_NO_VECTORS if self._vectors is None else Measured(self._vectors.rows(), self._lengths.rows()),
            vector_places=self._vector_places.rows(),
            postings=self._postings,
        )

    def _add_vectors(self, begin: int, fresh: Sequence[Passage]) -> None:
        having = [(place, one.vector) for place, one in enumerate(fresh, begin) if one.vector is not None]
        if having:
            ready = measured(np.stack([vector for _, vector in having]))
            if self._vectors is None:
                self._vectors = Growing(np.float32, ready.full.shape[1:])
            self._vectors.extend(ready.full)
            self._lengths.extend(ready.lengths)
            self._vector_places.extend(np.array([place for place, _ in having], np.int64))


_NO_VECTORS = measured(np.zeros((0, 0), np.float16))
