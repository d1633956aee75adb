"""Ranking metrics as kernels over many rankings at once.

- Rankings side by side, as integers.
- The kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.metrics.ordering import UNJUDGED

# --- Rankings side by side, as integers ---
#
# Ids are gone by here. `grades[r, t]` is the grade of the document at rank r of topic t, `counts[g, t]` how many
# judged documents of topic t have the grade `scale[g]`. Ranks run down the first axis, so that a sum over ranks adds
# in rank order for all topics at once and gives the same bits however topics are batched.

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

POOLED_GRADE = 1
"""What an unjudged document is worth under `unjudged=1`."""


class JudgedGrades(NamedTuple):
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
    """The largest rank that any requested metric looks at; None: all."""
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
        """A table that is made when the first metric needs it."""
        if name not in self.memo:
            self.memo[name] = make()
        return self.memo[name]

    def with_unjudged_as(self, grade: int, *, first: int | None = None, found: bool = True) -> Columns:
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
        """Pooled columns by grade: several metrics need the same ones."""
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
    ranked: NDArray[np.int16],
    lengths: Counts,
    judged: JudgedGrades,
    *,
    depth: int | None = None,
    keep: int | None = None,
) -> Columns:
    """Columns of ranked grades. `depth` cuts every ranking; `keep` is how far the requested metrics look."""
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


def _tally(judged: JudgedGrades) -> tuple[NDArray[np.int16], Counts]:
    """The grades there are, and how often each topic has each of them."""
    usable = judged.grades >= 0
    topic = np.repeat(np.arange(len(judged.lengths)), judged.lengths)[usable]
    highest = int(judged.grades.max(initial=0))
    present = np.bincount(judged.grades[usable], minlength=highest + 1) > 0
    scale = np.flatnonzero(present).astype(np.int16)
    place = (np.cumsum(present) - 1)[judged.grades[usable]]
    flat = np.bincount(topic * max(1, len(scale)) + place, minlength=len(judged.lengths) * len(scale))
    return scale, np.ascontiguousarray(flat.reshape(len(judged.lengths), len(scale)).T)


# --- The kernels ---
#
# Every kernel takes `Columns` and a `Question` and returns one value a topic, with the topics for which the question
# does not arise marked. What each means, cites and where others compute something else is in `ranking_entries`.


class RankingQuestion(NamedTuple):
    """The cutoff and parameters of a metric."""

    cutoff: int | None
    level: int
    """The lowest grade that counts as relevant."""
    parameters: Mapping[str, str]


class TopicValues(NamedTuple):
    """One value a topic, and the topics that had nothing to find."""

    values: Floats
    vacuous: Flags


Kernel = Callable[[Columns, RankingQuestion], TopicValues]
Number = TypeVar("Number", np.float64, np.int32)
_FEW = 16
"""Topics below which a loop over ranks costs more than it saves."""


def answer(kernel: Kernel, columns: Columns, question: RankingQuestion) -> TopicValues:
    """One metric of every topic. `unjudged` changes what is looked at, never how."""
    rule = question.parameters.get("unjudged", "0")
    relevant = max(POOLED_GRADE, question.level)
    if rule in ("1", "relevant"):
        columns = columns.with_unjudged_as(POOLED_GRADE if rule == "1" else relevant)
    elif rule in ("in_view", "missed"):
        columns = columns.with_unjudged_as(relevant, first=question.cutoff, found=rule == "in_view")
    return kernel(columns, question)


def success(columns: Columns, question: RankingQuestion) -> TopicValues:
    """Whether a relevant document is among the first."""
    hits = np.any(columns.relevant(question.level, question.cutoff), axis=0)
    return TopicValues(np.asarray(hits, dtype=np.float64), _nothing_relevant(columns, question))


def mrr(columns: Columns, question: RankingQuestion) -> TopicValues:
    """One over the rank of the first relevant document."""
    hits = columns.relevant(question.level, question.cutoff)
    if not len(hits):
        return TopicValues(np.zeros(columns.topics), _nothing_relevant(columns, question))
    values = np.where(hits.any(axis=0), 1.0 / (hits.argmax(axis=0) + 1), 0.0)
    return TopicValues(values, _nothing_relevant(columns, question))


def precision(columns: Columns, question: RankingQuestion) -> TopicValues:
    """Relevant documents among the first k, divided by k."""
    return TopicValues(_hits(columns, question) / float(question.cutoff or 1), _nothing_relevant(columns, question))


def recall(columns: Columns, question: RankingQuestion) -> TopicValues:
    """The share of the relevant documents that is among the first; 1 by definition where there is none."""
    total = columns.relevant_in_all(question.level)
    return TopicValues(_ratio(_hits(columns, question), total, empty=1.0), total == 0)


def rprec(columns: Columns, question: RankingQuestion) -> TopicValues:
    """Precision at the rank that equals the number of relevant documents."""
    total = columns.relevant_in_all(question.level)
    near = columns.relevant(question.level) & (_ranks(columns.grades) <= total)
    return TopicValues(_ratio(near.sum(axis=0), total), total == 0)


def ap(columns: Columns, question: RankingQuestion) -> TopicValues:
    """The mean of the precision at each relevant document; those not found count 0."""
    total = columns.relevant_in_all(question.level)
    running = columns.once(f"ap {question.level}", lambda: _running_precisions(columns.relevant(question.level)))
    return TopicValues(_ratio(_until(running, question.cutoff), total), total == 0)


def _running_precisions(hits: Flags) -> Floats:
    return _running(_running(hits.astype(np.int32)) * hits / _ranks(hits))


def bpref(columns: Columns, question: RankingQuestion) -> TopicValues:
    """How rarely a document judged not relevant ranks above a relevant one; unjudged documents are ignored."""
    total = columns.relevant_in_all(question.level)
    fewer = np.maximum(np.minimum(columns.counts.sum(axis=0) - total, total), 1)
    hits = columns.relevant(question.level)
    above = _running(((columns.grades >= 0) & ~hits).astype(np.int32))
    wrong = (np.minimum(above, total.astype(np.int32)) * hits).sum(axis=0, dtype=np.int64)
    return TopicValues(_ratio(hits.sum(axis=0) - wrong / fewer, total), total == 0)


def rbp(columns: Columns, question: RankingQuestion) -> TopicValues:
    """What a reader gains who goes on to the next result with probability p."""
    p = float(question.parameters["p"])
    hits = columns.relevant(question.level, question.cutoff)
    gained = hits * ((1.0 - p) * np.power(p, _ranks(hits) - 1))
    return TopicValues(_until(_running(gained), None), _nothing_relevant(columns, question))


def judged(columns: Columns, question: RankingQuestion) -> TopicValues:
    """The share of judged documents among the first results."""
    cutoff = question.cutoff
    shown = columns.retrieved if cutoff is None else np.minimum(columns.retrieved, cutoff)
    return TopicValues(_ratio((columns.first(cutoff) >= 0).sum(axis=0), shown), shown == 0)


def ndcg(columns: Columns, question: RankingQuestion) -> TopicValues:
    """The discounted gain of the ranking, as a share of what the best ranking would have."""
    name = question.parameters.get("gain", "linear")
    seen = columns.once(f"dcg {name}", lambda: _running_gains(columns.grades, name))
    best = columns.once(f"ideal {name}", lambda: _running_gains(_best_grades(columns), name))
    ideal = _until(best, question.cutoff)
    # Both are added in rank order, so that a perfect ranking gives exactly 1; no rounding may exceed it.
    values = np.minimum(_ratio(_until(seen, question.cutoff), ideal), 1.0)
    return TopicValues(values, ideal == 0.0)


def _running_gains(grades: NDArray[np.int16], gain: str) -> Floats:
    """The gain down to each rank, every grade's divided by log2(rank + 1)."""
    gains = np.maximum(grades, 0).astype(np.float64)
    if gain == "exp":
        gains = np.exp2(gains) - 1.0
    return _running(gains / np.log2(_ranks(grades) + 1))


def _best_grades(columns: Columns) -> NDArray[np.int16]:
    """[rank, topic]: the grades of the judged documents, best first, 0 below."""
    positive = columns.scale > 0
    scale, counts = columns.scale[positive][::-1], columns.counts[positive][::-1]
    most = int(counts.sum(axis=0).max(initial=0)) if len(counts) else 0
    ranks = np.arange(most if columns.looked is None else min(most, columns.looked))[:, None]
    grades = np.zeros((len(ranks), columns.topics), dtype=np.int16)
    above = np.zeros(columns.topics, dtype=np.int64)
    for grade, count in zip(scale, counts, strict=True):
        grades[(ranks >= above) & (ranks < above + count)] = grade
        above += count
    return grades


def _running(matrix: NDArray[Number]) -> NDArray[Number]:
    """The sum down to each rank, in place, added in rank order: the same bits however topics are batched."""
    if matrix.shape[1] < _FEW:
        return np.add.accumulate(matrix, axis=0, out=matrix)
    # Row by row is several times quicker than `accumulate` where rows are wide.
    for rank in range(1, len(matrix)):
        np.add(matrix[rank], matrix[rank - 1], out=matrix[rank])
    return matrix


def _until(running: Floats, cutoff: int | None) -> Floats:
    """The sum down to the cutoff."""
    last = len(running) if cutoff is None else min(cutoff, len(running))
    return running[last - 1] if last else np.zeros(running.shape[1])


def _ranks(matrix: NDArray[np.int16] | Flags) -> NDArray[np.int64]:
    """1, 2, 3 ... down the first axis."""
    return np.arange(1, len(matrix) + 1)[:, None]


def _hits(columns: Columns, question: RankingQuestion) -> Counts:
    hits: Counts = columns.relevant(question.level, question.cutoff).sum(axis=0, dtype=np.int64)
    return hits


def _nothing_relevant(columns: Columns, question: RankingQuestion) -> Flags:
    nothing: Flags = columns.relevant_in_all(question.level) == 0
    return nothing


def _ratio(part: NDArray[np.float64] | Counts, whole: NDArray[np.float64] | Counts, *, empty: float = 0.0) -> Floats:
    """Part by whole, and `empty` where the whole is 0."""
    ratio: Floats = np.divide(part, whole, out=np.full(len(whole), empty), where=whole != 0)
    return ratio
