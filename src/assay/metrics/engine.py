"""Ranking metrics of whole runs: from mappings in memory, or from batches of a file in constant memory.

Both ways end in `Columns`, a batch of topics at a time, and every requested metric reads the same ones. The cases are
the topics of the qrels, in their order. A topic without any result is an empty ranking: it scores what the formula
gives, which is what TREC does (`trec_eval -c`), or is skipped on request (`trec_eval` without `-c`). Topics that only
the run has cannot be measured; they are named, never dropped in silence. Of a document listed twice the better rank
counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import filterfalse, islice, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue
from assay.metrics import catalog, ranked_grades, ranking
from assay.metrics.aggregate import KIND_NUMBER, SCORED, Scores
from assay.metrics.catalog import FromRanking
from assay.metrics.ordering import Rows, rank_grades
from assay.metrics.ranked_grades import grades_of, with_topic, without_repeats
from assay.metrics.ranking import Columns, JudgedGrades, Kernel, RankingQuestion, columns_of
from assay.metrics.spec import MetricSpec
from assay.records.evaluations import OutcomeKind
from assay.records.rankings import QrelTable, RunBatch

ORDER_SEEN = 10
"""Ranks among which it is counted whether grades fall or rise."""
BATCH_CELLS = 1 << 18
"""Results in one batch: few enough for their columns to stay in the processor's cache."""


_KEPT_BYTES = (32 << 20) - (64 << 10)
_MOST_TOPICS = 1 << 14
"""Topics in one batch."""


_Pair = tuple[Mapping[str, int], Mapping[str, float]]
"""The judgments and the results of a topic."""


class ScatteredTopics(Exception):
    """A topic came back after its batch was measured."""


class Absent:
    """What becomes of a topic that has judgments and no results."""

    EMPTY = "empty"
    """An empty ranking: 0, and 0 counts."""
    SKIP = "skip"
    """Left out of the mean and counted apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoringRules:
    """What moves the numbers besides the specs."""

    level: int = 1
    """The lowest grade that counts as relevant."""
    depth: int | None = None
    """Results beyond this rank are not looked at."""
    absent: str = Absent.EMPTY

    def __post_init__(self) -> None:
        if self.level < 1:
            raise BadValue(f"relevance level {self.level} is below 1", remedy="Grade 0 is judged and not relevant.")
        if self.depth is not None and self.depth < 1:
            raise BadValue(f"depth {self.depth} is below 1", remedy="Give the number of results to look at.")
        if self.absent not in (Absent.EMPTY, Absent.SKIP):
            raise BadValue(f"absent {self.absent!r} is not known", remedy="Use one of: empty, skip.")


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class MeasuredRun:
    """One run under every requested metric."""

    topics: Sequence[str]
    scores: Mapping[MetricSpec, Scores]
    retrieved: NDArray[np.int64]
    """Results of each topic; 0 where the run has none."""
    judged_results: int
    """Judged results, over all topics. 0 means that no id of the run is an id of the qrels."""
    absent: tuple[str, ...]
    """Topics with judgments and no results."""
    unknown: tuple[str, ...]
    """Topics with results and no judgments."""
    repeats: int = 0
    """Results left out because a better rank had the same document."""
    falls: int = 0
    """Neighbours among the first results, both judged, of which the lower one has the lower grade."""
    rises: int = 0
    """The same where the lower one has the higher grade."""
    tied: int = 0
    """Topics of a run file in which results of equal score have different grades, so that ids decide their order."""

    def take(self, places: Sequence[int]) -> MeasuredRun:
        """Some of the topics, by their places; counts over all topics stay as they are."""
        return replace(
            self,
            topics=[self.topics[place] for place in places],
            scores={spec: column.take(places) for spec, column in self.scores.items()},
            retrieved=self.retrieved[list(places)],
        )


@dataclass(kw_only=True, slots=True)
class _Sheet:
    """What is known so far, a column for each metric."""

    specs: tuple[MetricSpec, ...]
    kernels: tuple[Kernel, ...]
    rules: ScoringRules
    values: NDArray[np.float64]
    vacuous: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    judged_results: int = 0
    repeats: int = 0
    tied: int = 0
    falls: int = 0
    rises: int = 0
    unknown: dict[str, None] = field(default_factory=dict)

    def count_tied(self, topics: int) -> None:
        """Remember in how many topics of a batch ids had to decide the order."""
        self.tied += topics

    def write(self, places: NDArray[np.int64], columns: Columns) -> None:
        """Measure a batch."""
        for row, (spec, kernel) in enumerate(zip(self.specs, self.kernels, strict=True)):
            question = RankingQuestion(spec.cutoff, self.rules.level, spec.at_defaults())
            found = ranking.answer(kernel, columns, question)
            self.values[row, places], self.vacuous[row, places] = found.values, found.vacuous
        self.retrieved[places] = columns.retrieved
        self.judged_results += int(columns.retrieved.sum() - columns.unjudged.sum())
        first = columns.grades[:ORDER_SEEN]
        above, below = first[:-1], first[1:]
        judged = (above >= 0) & (below >= 0)
        self.falls += int(np.count_nonzero(judged & (above > below)))
        self.rises += int(np.count_nonzero(judged & (above < below)))


def measure_mappings(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    specs: Sequence[MetricSpec],
    rules: ScoringRules | None = None,
) -> MeasuredRun:
    """Measure rankings given as {topic: {document: score}} against {topic: {document: grade}}."""
    topics, nothing = tuple(qrels), dict[str, float]()
    pairs = zip(qrels.values(), map(run.get, topics, repeat(nothing)), strict=True)
    measured = measure_pairs(topics, pairs, specs, rules)
    return replace(measured, unknown=tuple(dict.fromkeys(filterfalse(qrels.__contains__, run))))


def measure_pairs(
    topics: Sequence[str],
    pairs: Iterable[_Pair],
    specs: Sequence[MetricSpec],
    rules: ScoringRules | None = None,
) -> MeasuredRun:
    """Measure the judgments and results of each topic, {document: grade} and {document: score}, as they come."""
    sheet = _sheet(specs, rules or ScoringRules(), len(topics))
    keep = _ranks_needed(sheet.specs)
    measured = 0
    for part in _batches(iter(pairs)):
        judgments, results = zip(*part, strict=True)
        last = measured + len(part)
        found = ranked_grades.gather(results, judgments, topics[measured:last])
        sheet.write(np.arange(measured, last), columns_of(*found, depth=sheet.rules.depth, keep=keep))
        measured = last
    return _collect_scores(topics, sheet)


def _batches(pairs: Iterator[_Pair]) -> Iterator[list[_Pair]]:
    """Consecutive topics, so many that their padded rankings make a batch."""
    waiting: list[_Pair] = []
    while new := list(islice(pairs, _MOST_TOPICS - len(waiting))):
        waiting += new
        spans = list(_spans(ranked_grades.lengths_of([results for _, results in waiting])))
        # Topics to come may belong to the last of several batches.
        whole = spans[:-1] or spans[: len(waiting) == _MOST_TOPICS]
        yield from (waiting[first:last] for first, last in whole)
        waiting = waiting[whole[-1][1] if whole else 0 :]
    for first, last in _spans(ranked_grades.lengths_of([results for _, results in waiting])):
        yield waiting[first:last]


def measure_batches(
    qrels: QrelTable, batches: Iterable[RunBatch], specs: Sequence[MetricSpec], rules: ScoringRules | None = None
) -> MeasuredRun:
    """Measure the batches of a run file. Raises `ScatteredTopics` when one topic comes in two batches."""
    sheet = _sheet(specs, rules or ScoringRules(), len(qrels.topics))
    keep = _ranks_needed(sheet.specs)
    for batch in batches:
        _measure_batch(qrels, batch, sheet, keep)
    for places in _chunks(np.flatnonzero(sheet.retrieved == 0)):
        nothing = np.empty((len(places), 0), dtype=np.int16)
        lengths = np.zeros(len(places), dtype=np.int64)
        sheet.write(places, columns_of(nothing, lengths, _select_judgments(qrels, places).judged, keep=keep))
    return _collect_scores(qrels.topics, sheet)


def _measure_batch(qrels: QrelTable, batch: RunBatch, sheet: _Sheet, keep: int | None) -> None:
    places = np.array([qrels.place.get(topic, -1) for topic in batch.topics], dtype=np.int64)
    unknown = [batch.topics[row] for row in np.flatnonzero(places < 0).tolist()]
    if (sheet.retrieved[places[places >= 0]] > 0).any() or not sheet.unknown.keys().isdisjoint(unknown):
        raise ScatteredTopics
    sheet.unknown.update(dict.fromkeys(unknown))
    batch, dropped = without_repeats(batch)
    sheet.repeats += dropped
    for rows in _row_groups(batch.lengths):
        known = rows[places[rows] >= 0]
        if known.size:
            _measure_rows(qrels, _select_rows(batch, known), places[known], sheet, keep)


def _measure_rows(
    qrels: QrelTable, batch: RunBatch, places: NDArray[np.int64], sheet: _Sheet, keep: int | None
) -> None:
    found = _select_judgments(qrels, places)
    local = np.arange(len(places))
    asked = with_topic(batch.keys, np.repeat(local, batch.lengths))
    known = with_topic(found.keys, np.repeat(local, found.judged.lengths))
    rows = Rows(batch.lengths, batch.scores, grades_of(asked, known, found.judged.grades), batch.ids)
    ranked = rank_grades(rows, on_tied=sheet.count_tied)
    sheet.write(places, columns_of(ranked, batch.lengths, found.judged, depth=sheet.rules.depth, keep=keep))


class _KeyedJudgments(NamedTuple):
    """The judgments of some topics with the keys of their documents."""

    keys: NDArray[np.uint64]
    judged: JudgedGrades


def _select_judgments(qrels: QrelTable, places: NDArray[np.int64]) -> _KeyedJudgments:
    lengths = qrels.lengths[places]
    if places.size and (np.diff(places) == 1).all():
        begin = int(qrels.starts[places[0]])
        here: slice | NDArray[np.int64] = slice(begin, begin + int(lengths.sum()))
    else:
        offset = np.repeat(qrels.starts[places] - (np.cumsum(lengths) - lengths), lengths)
        here = offset + np.arange(len(offset))
    return _KeyedJudgments(qrels.keys[here], JudgedGrades(lengths, qrels.grades[here]))


def _select_rows(batch: RunBatch, rows: NDArray[np.int64]) -> RunBatch:
    """Some rows of a batch."""
    if len(rows) == len(batch.lengths):
        return batch
    wanted = np.zeros(len(batch.lengths), dtype=bool)
    wanted[rows] = True
    cells = np.repeat(wanted, batch.lengths)
    ids, numbers = batch.ids, rows.tolist()
    return RunBatch(
        topics=[batch.topics[row] for row in numbers],
        lengths=batch.lengths[rows],
        keys=batch.keys[cells],
        scores=batch.scores[cells],
        ids=lambda row: ids(numbers[row]),
    )


def _row_groups(lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Rows that may be padded to one width without waste: all together, unless a few are much longer."""
    widest = int(lengths.max(initial=0))
    if widest * len(lengths) <= max(4 * BATCH_CELLS, 4 * int(lengths.sum())):
        yield np.arange(len(lengths))
        return
    magnitude = np.frexp(lengths.astype(np.float64))[1]
    for size in np.unique(magnitude):
        yield np.flatnonzero(magnitude == size)


def _chunks(places: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for first in range(0, len(places), _MOST_TOPICS):
        yield places[first : first + _MOST_TOPICS]


def _spans(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Consecutive topics, so many that their padded rankings make a batch; at least one."""
    first = 0
    while first < len(lengths):
        widest = np.maximum.accumulate(lengths[first : first + _MOST_TOPICS])
        fitting = int(np.searchsorted(widest * np.arange(1, len(widest) + 1), BATCH_CELLS, side="right"))
        last = first + max(1, fitting)
        yield first, last
        first = last


def _ranks_needed(specs: Iterable[MetricSpec]) -> int | None:
    """How far down the metrics look; None when one looks at everything."""
    cutoffs = [spec.cutoff for spec in specs]
    return None if None in cutoffs else max(cutoff for cutoff in cutoffs if cutoff is not None)


def _sheet(specs: Sequence[MetricSpec], rules: ScoringRules, topics: int) -> _Sheet:
    kernels = {spec: spec.entry.compute.kernel for spec in specs if isinstance(spec.entry.compute, FromRanking)}
    foreign = [str(spec) for spec in specs if spec not in kernels]
    if foreign or not specs:
        known = [entry.name for entry in catalog.entries() if isinstance(entry.compute, FromRanking)]
        raise BadValue(
            f"not measured from rankings: {', '.join(foreign) or 'no metric was given'}",
            remedy=f"From rankings and judgments come: {', '.join(known)}.",
        )
    _keep_freed_memory()
    shape = (len(specs), topics)
    return _Sheet(
        specs=tuple(specs),
        kernels=tuple(kernels[spec] for spec in specs),
        rules=rules,
        values=np.zeros(shape),
        vacuous=np.ones(shape, dtype=bool),
        retrieved=np.zeros(topics, dtype=np.int64),
    )


def _keep_freed_memory() -> None:
    """Make the allocator keep what one batch frees for the next.

    Glibc gives large blocks back to the system and fetches them again page by page, which costs a batch a fifth of its
    time. Once a block of up to 32 MB was freed it keeps that much. The block is never touched; elsewhere this is idle.
    """
    np.empty(_KEPT_BYTES, dtype=np.uint8)


def _collect_scores(topics: Sequence[str], sheet: _Sheet) -> MeasuredRun:
    absent = np.flatnonzero(sheet.retrieved == 0).tolist()
    kinds = np.full(len(sheet.retrieved), SCORED, dtype=np.uint8)
    if sheet.rules.absent == Absent.SKIP:
        kinds[absent] = KIND_NUMBER[OutcomeKind.SKIPPED]
    return MeasuredRun(
        topics=topics,
        scores={spec: _scores(sheet, row, spec, kinds) for row, spec in enumerate(sheet.specs)},
        retrieved=sheet.retrieved,
        judged_results=sheet.judged_results,
        absent=tuple(topics[place] for place in absent),
        unknown=tuple(sheet.unknown),
        repeats=sheet.repeats,
        tied=sheet.tied,
        falls=sheet.falls,
        rises=sheet.rises,
    )


def _scores(sheet: _Sheet, row: int, spec: MetricSpec, kinds: NDArray[np.uint8]) -> Scores:
    """One metric; most metrics share the kinds, which nobody may change."""
    skips = spec.name == "judged" or spec.parameter("vacuous") == "skip"
    if skips and sheet.vacuous[row].any():
        kinds = np.where(sheet.vacuous[row], KIND_NUMBER[OutcomeKind.NOT_APPLICABLE], kinds)
    return Scores(spec=spec, values=sheet.values[row], kinds=kinds)
