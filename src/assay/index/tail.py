"""The tail: what changed since the base, kept in memory, and how indexes read the store.

- Reading the store: passages with their stems and vectors, memories with their facts.
- The tail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from assay.index.columns import Fact, Mask, Whole, merge_tables
from assay.index.lexical import Postings
from assay.index.scoring import Halves, MeasuredVectors, measure_vectors
from assay.storage import Work
from assay.storage.full_text import IndexPassage, passage_text
from assay.storage.repositories.passages import MemoryColumns
from assay.text.terms import bag_of_stems

# --- Reading the store: passages with their stems and vectors, memories with their facts ---

_NO_VECTOR = b""


class Passage(NamedTuple):
    """A passage as an index takes it."""

    number: int
    memory_number: int
    stamp: int
    """Equal exactly when the words and the vector are equal."""
    position: int
    token_count: int
    words: str
    vector: Halves | None

    @property
    def row(self) -> tuple[int, ...]:
        """What a table of passages holds of it (`base.Row`), but for the place of its memory."""
        return self[:5]

    def stems(self) -> list[str]:
        """Its bag of words."""
        return bag_of_stems(self.words)


class Reader:
    """Reads one snapshot of one tenant."""

    def __init__(self, work: Work, *, model: str | None, title_repeats: int, page: int) -> None:
        self._work = work
        self._model = model
        self._repeats = title_repeats
        self._page = page

    def passages(self) -> Iterator[list[Passage]]:
        """Every passage in the order of numbers, a page at a time."""
        after = 0
        while rows := self._work.passages.page(after=after, limit=self._page):
            last = rows[-1].number
            yield self._make_passages(rows, self._vectors_between(after, last))
            after = last

    def passages_of(self, numbers: Sequence[int]) -> list[Passage]:
        """Those of these passages that exist, in the order of numbers."""
        made = []
        for part in _parts(sorted(numbers), self._page):
            rows = self._work.passages.by_numbers(part)
            vectors = {} if self._model is None else _by_number(*self._work.vectors.by_numbers(self._model, part))
            made += self._make_passages(rows, vectors)
        return made

    def memories(self) -> list[MemoryColumns]:
        """The facts of every memory, in the order of numbers."""
        return [row for page in self.memory_pages() for row in page]

    def memory_pages(self) -> Iterator[list[MemoryColumns]]:
        """The same, a page at a time."""
        after = 0
        while rows := self._work.passages.memory_columns(after=after, limit=self._page):
            yield rows
            after = rows[-1].number

    def memories_of(self, numbers: Sequence[int]) -> list[MemoryColumns]:
        """The facts of those of these memories that exist."""
        parts = _parts(sorted(numbers), self._page)
        return [row for part in parts for row in self._work.passages.memory_columns_of(part)]

    def vector_count(self) -> int:
        """How many passages have a vector of the model."""
        return 0 if self._model is None else self._work.vectors.count(self._model)

    def _vectors_between(self, after: int, last: int) -> dict[int, Halves]:
        if self._model is None:
            return {}
        numbers, matrix = self._work.vectors.page(self._model, after=after, limit=self._page)
        upto = int(np.searchsorted(numbers, last, side="right"))
        return _by_number(numbers[:upto], matrix[:upto])

    def _make_passages(self, rows: Sequence[IndexPassage], vectors: dict[int, Halves]) -> list[Passage]:
        made = []
        for row in rows:
            words = passage_text(row, self._repeats)
            vector = vectors.get(row.number)
            stamp = _stamp(words, vector)
            made.append(Passage(row.number, row.memory_number, stamp, row.position, row.token_count, words, vector))
        return made


def _by_number(numbers: np.ndarray, matrix: np.ndarray) -> dict[int, Halves]:
    return dict(zip(numbers.tolist(), matrix.astype(np.float16), strict=True))


def _stamp(words: str, vector: Halves | None) -> int:
    made = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8)
    made.update(_NO_VECTOR if vector is None else b"\x00" + vector.tobytes())
    return int.from_bytes(made.digest(), "little", signed=True)


def _parts(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for begin in range(0, len(numbers), size):
        yield numbers[begin : begin + size]


# --- The tail ---
#
# `Tail` is written by one thread at a time and only ever grows; `TailView` is what it was at one moment. A changed
# passage is added again and its old place marked dead, so that a view never sees a row change under it.


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

    rows: Whole
    """A line for each passage, as `Passage.row` has it."""
    numbers: Whole
    memory_numbers: Whole
    lengths: Whole
    alive: Mask
    memories: Whole
    """A table of the memories that are new or changed."""
    vectors: MeasuredVectors
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
        self._rows = Growing(np.int64, (len(Passage._fields) - 1,))
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
        self.memories = merge_tables(self.memories, fresh)

    def change(self, gone: Sequence[int], fresh: Sequence[Passage]) -> None:
        """Drop the passages of some numbers and add others, which may have the same numbers."""
        alive = np.concatenate([self._alive, np.ones(len(fresh), bool)])
        alive[[place for number in gone if (place := self._places.pop(number, None)) is not None]] = False
        begin = len(self._alive)
        bags = [passage.stems() for passage in fresh]
        for place, (passage, bag) in enumerate(zip(fresh, bags, strict=True), begin):
            self._postings.add(place, bag)
            self._places[passage.number] = place
        rows = [(*passage.row, len(bag)) for passage, bag in zip(fresh, bags, strict=True)]
        self._rows.extend(np.array(rows, np.int64).reshape(-1, len(Passage._fields) - 1))
        self._add_vectors(begin, fresh)
        self._alive = alive

    def view(self) -> TailView:
        """The tail as it is now."""
        rows = self._rows.rows()
        return TailView(
            rows=rows[:, :-1],
            numbers=rows[:, 0],
            memory_numbers=rows[:, 1],
            lengths=rows[:, -1],
            alive=self._alive,
            memories=self.memories,
            vectors=_NO_VECTORS
            if self._vectors is None
            else MeasuredVectors(self._vectors.rows(), self._lengths.rows()),
            vector_places=self._vector_places.rows(),
            postings=self._postings,
        )

    def _add_vectors(self, begin: int, fresh: Sequence[Passage]) -> None:
        having = [(place, passage.vector) for place, passage in enumerate(fresh, begin) if passage.vector is not None]
        if having:
            ready = measure_vectors(np.stack([vector for _, vector in having]))
            if self._vectors is None:
                self._vectors = Growing(np.float32, ready.full.shape[1:])
            self._vectors.extend(ready.full)
            self._lengths.extend(ready.lengths)
            self._vector_places.extend(np.array([place for place, _ in having], np.int64))


_NO_VECTORS = measure_vectors(np.zeros((0, 0), np.float16))
