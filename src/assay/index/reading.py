"""The only place where indexes read the store: passages with their stems and vectors, memories with their facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from assay.index.nearness import Halves
from assay.storage import Work
from assay.storage.repositories.passages import IndexPassage, MemoryColumns
from assay.text.terms import stems_of, words

_NO_VECTOR = b""
_MOST_STEMS = 200_000


class _Stems(dict[str, str]):
    """Stems of words met before: a corpus has few words, and asking the stemmer is most of an analysis."""

    def __missing__(self, word: str) -> str:
        if word.isdigit():
            # Nothing is taken from a number, and there is no end of them.
            return word
        if len(self) >= _MOST_STEMS:
            self.clear()
        self[word] = found = stems_of([word])[0]
        return found


_STEMS = _Stems()


class Passage(NamedTuple):
    """A passage as an index takes it."""

    number: int
    memory_number: int
    stamp: int
    """Equal exactly when what the index knows of it is equal: words and vector."""
    words: str
    vector: Halves | None

    def stems(self) -> list[str]:
        """Its bag of words."""
        return [_STEMS[word] for word in words(self.words)]


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
        found: list[MemoryColumns] = []
        while rows := self._work.passages.memory_columns(after=found[-1].number if found else 0, limit=self._page):
            found += rows
        return found

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
            words = self._words(row)
            vector = vectors.get(row.number)
            made.append(Passage(row.number, row.memory_number, _stamp(words, vector), words, vector))
        return made

    def _words(self, row: IndexPassage) -> str:
        """What a passage is found by. Learned triggers are not read at all."""
        titles = [row.title] * self._repeats
        return "\n".join((*titles, *row.triggers, row.heading_path, row.text))


def _by_number(numbers: np.ndarray, matrix: np.ndarray) -> dict[int, Halves]:
    return dict(zip(numbers.tolist(), matrix.astype(np.float16), strict=True))


def _stamp(words: str, vector: Halves | None) -> int:
    made = blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8)
    made.update(_NO_VECTOR if vector is None else b"\x00" + vector.tobytes())
    return int.from_bytes(made.digest(), "little", signed=True)


def _parts(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for begin in range(0, len(numbers), size):
        yield numbers[begin : begin + size]
