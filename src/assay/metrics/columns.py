"""Many rankings side by side, as integers: what every ranking metric looks at.

Ids are gone by here. `grades[r, t]` is the grade of the document at rank r of topic t, `counts[g, t]` how many judged
documents of topic t have the grade `scale[g]`. Ranks run down the first axis, so that a sum over ranks adds in rank
order for all topics at once and gives the same bits however topics are batched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.metrics.ordering import UNJUDGED

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

POOLED_GRADE = 1
"""What an unjudged document is worth under `unjudged=1`."""


class Judged(NamedTuple):
    """The judgments of some topics one after the other: how many each has, and their grades."""

    lengths: NDArray[np.int64]
    grades: NDArray[np.int16]


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Rankings and judgments of a batch of topics."""

    grades: NDArray[np.int16]
    """[rank, topic]; `UNJUDGED` where there is no verdict, `PADDING` below the end of a ranking."""
    retrieved: Counts
    """How many documents each ranking has, also beyond the ranks kept in `grades`."""
    unjudged: Counts
    """How many of them have no verdict."""
    scale: NDArray[np.int16]
    """The grades there are, ascending, none negative."""
    counts: Counts
    """[grade, topic]"""
    looked: int | None = None
    """The largest rank that any metric asked for looks at; None: all."""
    memo: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Tables that several metrics share."""

    @property
    def topics(self) -> int:
        """How many topics there are."""
        return len(self.retrieved)

    def first(self, cutoff: int | None) -> NDArray[np.int16]:
        """The grades of the first ranks."""
        return self.grades if cutoff is None else self.grades[:cutoff]

    def relevant(self, level: int, cutoff: int | None = None) -> Flags:
        """Which of the first ranks hold a relevant document."""
        return self.first(cutoff) >= level

    def relevant_in_all(self, level: int) -> Counts:
        """How many relevant documents each topic has, retrieved or not."""
        total: Counts = self.counts[self.scale >= level].sum(axis=0, dtype=np.int64)
        return total

    def once(self, name: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """A table that is made when the first metric asks for it."""
        if name not in self.memo:
            self.memo[name] = make()
        return self.memo[name]

    def pooled(self, grade: int, *, first: int | None = None, found: bool = True) -> Columns:
        """Return the columns as if unjudged documents that were retrieved had this grade.

        `first` takes only those among the first ranks. With `found=False` they are in the judgments and not in the
        ranking: what the topics look like to a run that does not retrieve them.
        """
        key = (grade, first, found)
        if key not in self._pools:
            self._pools[key] = self._pool(*key)
        return self._pools[key]

    @cached_property
    def _pools(self) -> dict[tuple[int, int | None, bool], Columns]:
        """Pooled columns by how they were asked for: several metrics ask for the same ones."""
        return {}

    def _pool(self, grade: int, first: int | None, found: bool) -> Columns:
        concerned = self.grades == UNJUDGED
        if first is not None:
            concerned[first:] = False
        added = self.unjudged if first is None else concerned.sum(axis=0)
        scale = np.union1d(self.scale, np.array([grade], dtype=np.int16)).astype(np.int16)
        counts = np.zeros((len(scale), self.topics), dtype=np.int64)
        counts[np.searchsorted(scale, self.scale)] = self.counts
        counts[np.searchsorted(scale, grade)] += added
        grades = np.where(concerned, np.int16(grade), self.grades) if found else self.grades
        left = self.unjudged - added if found else self.unjudged
        return replace(self, grades=grades, scale=scale, counts=counts, unjudged=left, memo={})


def columns_of(
    ranked: NDArray[np.int16], lengths: Counts, judged: Judged, *, depth: int | None = None, keep: int | None = None
) -> Columns:
    """Columns of ranked grades. `depth` cuts every ranking; `keep` is how far the metrics asked for look."""
    ranked = ranked[:, :depth]
    scale, counts = _tally(judged)
    found = ranked >= 0
    retrieved = lengths if depth is None else np.minimum(lengths, depth)
    return Columns(
        grades=np.ascontiguousarray(ranked[:, :keep].T),
        retrieved=retrieved,
        unjudged=retrieved - found.sum(axis=1),
        scale=scale,
        counts=counts,
        looked=keep,
    )


def _tally(judged: Judged) -> tuple[NDArray[np.int16], Counts]:
    """The grades there are, and how often each topic has each of them."""
    usable = judged.grades >= 0
    topic = np.repeat(np.arange(len(judged.lengths)), judged.lengths)[usable]
    highest = int(judged.grades.max(initial=0))
    present = np.bincount(judged.grades[usable], minlength=highest + 1) > 0
    scale = np.flatnonzero(present).astype(np.int16)
    place = (np.cumsum(present) - 1)[judged.grades[usable]]
    flat = np.bincount(topic * max(1, len(scale)) + place, minlength=len(judged.lengths) * len(scale))
    return scale, np.ascontiguousarray(flat.reshape(len(judged.lengths), len(scale)).T)
