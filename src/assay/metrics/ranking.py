"""Ranking metrics: eleven ways to read a list of graded documents, each for many topics at once.

Every kernel takes `Columns` and a `Question` and returns one value a topic, with the topics for which the question does
not arise marked. What each means, cites and where others compute something else is in `ranking_entries`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.metrics.columns import POOLED_GRADE, Columns, Counts, Flags, Floats


class Question(NamedTuple):
    """What is asked of the columns."""

    cutoff: int | None
    level: int
    """The lowest grade that counts as relevant."""
    parameters: Mapping[str, str]


class Found(NamedTuple):
    """One value a topic, and the topics that had nothing to find."""

    values: Floats
    vacuous: Flags


Kernel = Callable[[Columns, Question], Found]
Number = TypeVar("Number", np.float64, np.int32)
_FEW = 16
"""Topics below which a loop over ranks costs more than it saves."""


def answer(kernel: Kernel, columns: Columns, question: Question) -> Found:
    """One metric of every topic. `unjudged` changes what is looked at, never how."""
    rule = question.parameters.get("unjudged", "0")
    relevant = max(POOLED_GRADE, question.level)
    if rule in ("1", "relevant"):
        columns = columns.pooled(POOLED_GRADE if rule == "1" else relevant)
    elif rule in ("in_view", "missed"):
        columns = columns.pooled(relevant, first=question.cutoff, found=rule == "in_view")
    return kernel(columns, question)


def top1_chunk(columns: Columns, question: Question) -> Found:
    """Whether the first result is relevant."""
    return success(columns, question._replace(cutoff=1))


def success(columns: Columns, question: Question) -> Found:
    """Whether a relevant document is among the first."""
    hits = np.any(columns.relevant(question.level, question.cutoff), axis=0)
    return Found(np.asarray(hits, dtype=np.float64), _nothing_relevant(columns, question))


def mrr(columns: Columns, question: Question) -> Found:
    """One over the rank of the first relevant document."""
    hits = columns.relevant(question.level, question.cutoff)
    if not len(hits):
        return Found(np.zeros(columns.topics), _nothing_relevant(columns, question))
    values = np.where(hits.any(axis=0), 1.0 / (hits.argmax(axis=0) + 1), 0.0)
    return Found(values, _nothing_relevant(columns, question))


def precision(columns: Columns, question: Question) -> Found:
    """Relevant documents among the first k, divided by k."""
    return Found(_hits(columns, question) / float(question.cutoff or 1), _nothing_relevant(columns, question))


def recall(columns: Columns, question: Question) -> Found:
    """The share of the relevant documents that is among the first; 1 by definition where there is none."""
    total = columns.relevant_in_all(question.level)
    return Found(_ratio(_hits(columns, question), total, empty=1.0), total == 0)


def rprec(columns: Columns, question: Question) -> Found:
    """Precision at the rank that equals the number of relevant documents."""
    total = columns.relevant_in_all(question.level)
    near = columns.relevant(question.level) & (_ranks(columns.grades) <= total)
    return Found(_ratio(near.sum(axis=0), total), total == 0)


def ap(columns: Columns, question: Question) -> Found:
    """The mean of the precision at each relevant document; those not found count 0."""
    total = columns.relevant_in_all(question.level)
    running = columns.once(f"ap {question.level}", lambda: _running_precisions(columns.relevant(question.level)))
    return Found(_ratio(_until(running, question.cutoff), total), total == 0)


def _running_precisions(hits: Flags) -> Floats:
    return _running(_running(hits.astype(np.int32)) * hits / _ranks(hits))


def bpref(columns: Columns, question: Question) -> Found:
    """How rarely a document judged not relevant stands above a relevant one; the unjudged are passed over."""
    total = columns.relevant_in_all(question.level)
    fewer = np.maximum(np.minimum(columns.counts.sum(axis=0) - total, total), 1)
    hits = columns.relevant(question.level)
    above = _running(((columns.grades >= 0) & ~hits).astype(np.int32))
    wrong = (np.minimum(above, total.astype(np.int32)) * hits).sum(axis=0, dtype=np.int64)
    return Found(_ratio(hits.sum(axis=0) - wrong / fewer, total), total == 0)


def rbp(columns: Columns, question: Question) -> Found:
    """What a reader gains who goes on to the next result with probability p."""
    p = float(question.parameters["p"])
    hits = columns.relevant(question.level, question.cutoff)
    gained = hits * ((1.0 - p) * np.power(p, _ranks(hits) - 1))
    return Found(_until(_running(gained), None), _nothing_relevant(columns, question))


def judged(columns: Columns, question: Question) -> Found:
    """The share of the first results that somebody judged."""
    cutoff = question.cutoff
    shown = columns.retrieved if cutoff is None else np.minimum(columns.retrieved, cutoff)
    return Found(_ratio((columns.first(cutoff) >= 0).sum(axis=0), shown), shown == 0)


def ndcg(columns: Columns, question: Question) -> Found:
    """The discounted gain of the ranking, as a share of what the best ranking would have."""
    name = question.parameters.get("gain", "linear")
    seen = columns.once(f"dcg {name}", lambda: _running_gains(columns.grades, name))
    best = columns.once(f"ideal {name}", lambda: _running_gains(_best_grades(columns), name))
    ideal = _until(best, question.cutoff)
    # Both are added in rank order, so that a perfect ranking gives exactly 1; no rounding may exceed it.
    values = np.minimum(_ratio(_until(seen, question.cutoff), ideal), 1.0)
    return Found(values, ideal == 0.0)


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


def _hits(columns: Columns, question: Question) -> Counts:
    hits: Counts = columns.relevant(question.level, question.cutoff).sum(axis=0, dtype=np.int64)
    return hits


def _nothing_relevant(columns: Columns, question: Question) -> Flags:
    nothing: Flags = columns.relevant_in_all(question.level) == 0
    return nothing


def _ratio(part: NDArray[np.float64] | Counts, whole: NDArray[np.float64] | Counts, *, empty: float = 0.0) -> Floats:
    """Part by whole, and `empty` where the whole is 0."""
    ratio: Floats = np.divide(part, whole, out=np.full(len(whole), empty), where=whole != 0)
    return ratio
