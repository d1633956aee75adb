"""Replay logged lists under other ways to fuse, many at once and without an index.

- Logged lists as columns.
- Replaying.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.tuning.choices import FusionChoice, LoggedCase, memory_of, weights_of
from assay.memory.searching.fusion import COUNTED, scale_scores
from assay.metrics.catalog import FromRanking
from assay.metrics.ordering import UNJUDGED
from assay.metrics.ranking import Columns, Kernel, RankingQuestion, answer
from assay.records import Channel, FusionMethod, Intent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.metrics.spec import MetricSpec

# --- Logged lists as columns ---
#
# Cases of one kind (intent, and whether `bm25` was asked) stand together, since they are weighed alike; within a case
# the passages of a unit stand together, and within a unit those of a memory.

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
CHANNELS = tuple(Channel)
NOT_SHOWN = np.iinfo(np.int64).max
TIE_STEP = 1e-15
"""Parts equals by their place; thousands of it are less than the last digit that fused scores are rounded to."""
MOST_IN_A_BYTE = 255


class Segments(NamedTuple):
    """Stretches that follow each other without gaps."""

    starts: Places
    sizes: Places


class Group(NamedTuple):
    """Passages that are weighed alike."""

    begin: int
    end: int
    intent: Intent
    asked: tuple[Channel, ...]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class ReplayVotes:
    """What the votes for some passages are worth under one method, and what the passages belong to."""

    values: Floats
    """[passage, channel]"""
    case: Places
    """Of each passage."""
    behind: Floats
    """[passage, 1]: what to take off a score, so that of equals the one that fusion meets first comes first."""
    groups: tuple[Group, ...]
    memories: Segments
    units: Segments
    rows: Segments
    """The units of each case."""
    graded: Places
    """[graded unit]: which unit it is; case by case."""
    graded_case: Places
    graded_grade: NDArray[np.int16]

    def best_of_units(self, scores: Floats) -> Floats:
        """[unit, choice] of [passage, choice]."""
        alone = len(self.units.starts) == len(scores)
        return scores if alone else np.maximum.reduceat(scores, self.units.starts, axis=0)

    def ranks(self, scores: Floats) -> Places:
        """[graded unit, choice]: its rank from 1 among the units of its case; what scores nothing is not shown."""
        ranks = np.empty((len(self.graded), scores.shape[1]), dtype=np.int64)
        begins = np.searchsorted(self.graded_case, np.arange(len(self.rows.starts) + 1))
        for case, (start, size) in enumerate(zip(*self.rows, strict=True)):
            own = slice(begins[case], begins[case + 1])
            better = scores[start : start + size] > scores[self.graded[own], None]
            counter = np.uint8 if size < MOST_IN_A_BYTE else np.int64
            ranks[own] = better.view(np.uint8).sum(axis=1, dtype=counter)
        ranks += 1
        ranks[scores[self.graded] <= 0.0] = NOT_SHOWN
        return ranks

    def floors(self, fused: Floats, counted: int) -> Floats:
        """[case, choice]: the score of the first passage behind the best `counted`; 0 where there is none."""
        found = np.zeros((len(self.rows.starts), fused.shape[1]))
        for begin, end in spans(self.case):
            behind = end - begin - counted - 1
            if behind >= 0:
                found[self.case[begin]] = np.partition(fused[begin:end], behind, axis=0)[behind]
        return found


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Cases:
    """Every passage of every case that has something to find."""

    ids: tuple[str, ...]
    kinds: tuple[tuple[Intent, tuple[Channel, ...]], ...]
    """Of each case: whose weights, and which channels gave a list."""
    case: Places
    unit: Places
    """Numbered over all cases, case by case."""
    memory: Places
    met: Places
    """The place of each passage among those of its case, in the order in which fusion meets them."""
    ranks: Places
    """[passage, channel], from 1; 0: the channel did not offer it."""
    convex: Floats
    """[passage, channel]: scores as convex fusion scales them."""
    unit_case: Places
    unit_grade: NDArray[np.int16]
    """-1: not judged."""
    scale: NDArray[np.int16]
    counts: Places
    """[grade, case]"""

    def values(self, method: FusionMethod, rrf_k: int) -> Floats:
        """[passage, channel]: what each vote is worth."""
        if method is FusionMethod.CONVEX:
            return self.convex
        return np.where(self.ranks > 0, 1.0 / (rrf_k + np.maximum(self.ranks, 1)), 0.0)

    def votes(self, values: Floats, kept: Places) -> ReplayVotes:
        """The votes for some of the passages, in their order."""
        units, unit_of_kept = np.unique(self.unit[kept], return_index=True)
        case, unit_case = self.case[kept], self.unit_case[units]
        graded = np.flatnonzero(self.unit_grade[units] > 0)
        _, memory_starts = np.unique(self.memory[kept], return_index=True)
        return ReplayVotes(
            values=np.ascontiguousarray(values[kept]),
            case=case,
            behind=(TIE_STEP * self.met[kept, None]).astype(np.float64),
            groups=tuple(self._groups(case)),
            memories=_segments(np.sort(memory_starts), len(kept)),
            units=_segments(unit_of_kept, len(kept)),
            rows=_rows(unit_case, len(self.ids)),
            graded=graded,
            graded_case=unit_case[graded],
            graded_grade=self.unit_grade[units][graded],
        )

    def _groups(self, case: Places) -> Iterator[Group]:
        begin = 0
        for end in range(1, len(case) + 1):
            kind = self.kinds[case[begin]]
            if end == len(case) or self.kinds[case[end]] != kind:
                yield Group(begin, end, *kind)
                begin = end


def cases_of(logged: Sequence[LoggedCase], *, level: int, gains: bool) -> Cases:
    """Columns of every case with something to find: any positive grade where grades are gains, else a relevant one."""
    least = 1 if gains else level
    scored = [case for case in logged if any(grade >= least for grade in case.grades.values())]
    scored.sort(key=lambda item: (item.intent.value, item.asked))
    rows = _Rows()
    for number, case in enumerate(scored):
        rows.add(number, case)
    scale = sorted({grade for case in scored for grade in case.grades.values() if grade >= 0})
    counts = [[list(case.grades.values()).count(grade) for case in scored] for grade in scale]
    return Cases(
        ids=tuple(case.case_id for case in scored),
        kinds=tuple((case.intent, case.asked) for case in scored),
        case=np.array(rows.case, dtype=np.int64),
        unit=np.array(rows.unit, dtype=np.int64),
        memory=np.array(rows.memory, dtype=np.int64),
        met=np.array(rows.met, dtype=np.int64),
        ranks=np.array(rows.ranks, dtype=np.int64).reshape(-1, len(CHANNELS)),
        convex=np.array(rows.convex, dtype=np.float64).reshape(-1, len(CHANNELS)),
        unit_case=np.array(rows.unit_case, dtype=np.int64),
        unit_grade=np.array(rows.unit_grade, dtype=np.int16),
        scale=np.array(scale, dtype=np.int16),
        counts=np.array(counts, dtype=np.int64).reshape(len(scale), len(scored)),
    )


class _Rows:
    """Columns while they grow."""

    def __init__(self) -> None:
        self.case: list[int] = []
        self.unit: list[int] = []
        self.memory: list[int] = []
        self.met: list[int] = []
        self.ranks: list[list[int]] = []
        self.convex: list[list[float]] = []
        self.unit_case: list[int] = []
        self.unit_grade: list[int] = []
        self._memories = 0

    def add(self, number: int, logged_case: LoggedCase) -> None:
        by_unit: dict[str, dict[str, list[str]]] = {}
        votes = _votes(logged_case)
        met = {passage: place for place, passage in enumerate(votes)}
        for passage in votes:
            by_unit.setdefault(logged_case.unit_of[passage], {}).setdefault(memory_of(passage), []).append(passage)
        for unit, memories in by_unit.items():
            for passages in memories.values():
                for passage in passages:
                    self.case.append(number)
                    self.unit.append(len(self.unit_case))
                    self.memory.append(self._memories)
                    self.met.append(met[passage])
                    self.ranks.append([rank for rank, _ in votes[passage]])
                    self.convex.append([value for _, value in votes[passage]])
                self._memories += 1
            self.unit_case.append(number)
            self.unit_grade.append(logged_case.grades.get(unit, -1))


def _votes(logged_case: LoggedCase) -> dict[str, list[tuple[int, float]]]:
    """By passage, in the order fusion meets them: rank and scaled score in each channel, 0 where it has none."""
    lists = {offered.channel: offered for offered in logged_case.lists}
    found: dict[str, list[tuple[int, float]]] = {}
    for place, channel in enumerate(CHANNELS):
        if channel.value not in lists:
            continue
        offered = lists[channel.value]
        values = scale_scores(channel, offered.scores)
        for rank, (passage, value) in enumerate(zip(offered.ids, values, strict=True), start=1):
            found.setdefault(passage, [(0, 0.0)] * len(CHANNELS))[place] = (rank, value)
    return found


def find_undominated(cases: Cases, values: Floats, shown: int) -> Places:
    """The passages that can be shown among the first under some weights above 0.

    One that a passage of `shown` other units beats or equals in every channel, and beats in one, is always behind them.
    """
    kept = np.ones(len(values), dtype=bool)
    for begin, end in spans(cases.case):
        own = values[begin:end]
        beats = (own[:, None, :] >= own[None, :, :]).all(axis=2) & (own[:, None, :] > own[None, :, :]).any(axis=2)
        unit = cases.unit[begin:end]
        _, starts = np.unique(unit, return_index=True)
        beaten_by = np.logical_or.reduceat(beats, starts, axis=0)
        beaten_by[np.searchsorted(np.unique(unit), unit), np.arange(len(unit))] = False
        kept[begin:end] = beaten_by.sum(axis=0) < shown
    return np.flatnonzero(kept)


def spans(case: Places) -> Iterator[tuple[int, int]]:
    """Where the passages of each case begin and end."""
    ends = np.flatnonzero(np.diff(case, append=-1)) + 1
    yield from zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)


def _rows(unit_case: Places, cases: int) -> Segments:
    sizes = np.bincount(unit_case, minlength=cases)
    return Segments(np.cumsum(sizes) - sizes, sizes)


def _segments(starts: Places, length: int) -> Segments:
    return Segments(starts, np.diff(starts, append=length))


# --- Replaying ---
#
# A `Replay` holds every case's passages as columns: what each channel's vote is worth under a method, which memory and
# which ranked unit a passage belongs to. A way to fuse is then a weighted sum, a best passage for each unit, and the
# places of the few units that are graded. A passage that stands below enough others in every channel can never be
# shown, whatever the weights are, and is left out beforehand.
#
# What a replay leaves out: boosts, reranking, and what a session was given already. The graph channel is replayed with
# the neighbours of the hits it was asked with. So a choice is found here and confirmed by a run.

METRICS = ("ndcg", "recall", "precision", "mrr", "success", "ap")
BLOCK_CELLS = 1 << 20
"""Scores in memory at once."""
DIGITS = 11
"""Sums of the same votes in another order differ by less; what is equal to the engine has to be equal here."""


class Replay:
    """Logged cases, ready to be fused otherwise."""

    def __init__(
        self, logged: Sequence[LoggedCase], metric: MetricSpec, *, level: int, aggregated: bool = False
    ) -> None:
        self.metric, self._kernel = metric, _replayable(metric)
        self.cutoff: int = metric.cutoff or 1
        self._question = RankingQuestion(self.cutoff, level, metric.at_defaults())
        self._aggregated = aggregated
        everything = cases_of(logged, level=level, gains=metric.name == "ndcg")
        if not everything.ids:
            raise NothingMeasured(
                f"no case has anything relevant to find under {metric}",
                remedy="Look at the grades: `assay dataset show`.",
            )
        self._all = everything
        self._votes: dict[object, ReplayVotes] = {}

    def __getstate__(self) -> dict[str, object]:
        """Everything but what was computed on the way, which whoever unpickles it computes again."""
        return {**self.__dict__, "_votes": {}}

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The cases that have a value; those with nothing to find have none."""
        return self._all.ids

    def measure(self, choices: Sequence[FusionChoice], *, channels: Iterable[Channel] = Channel) -> Floats:
        """The metric of every choice (rows) for every case (columns).

        `channels`: as if only these had been searched.
        """
        asked = tuple(channels)
        found = np.empty((len(choices), len(self.case_ids)))
        for block in self.plan_blocks(choices, asked):
            found[block] = self.measure_block([choices[place] for place in block], asked)
        return found

    def plan_blocks(self, choices: Sequence[FusionChoice], asked: Sequence[Channel] = CHANNELS) -> Iterator[list[int]]:
        """Places of the choices that are measured together: they have the same votes, and fit into memory."""
        places = sorted(range(len(choices)), key=lambda place: choices[place].values_key)
        for _, alike in groupby(places, key=lambda place: choices[place].values_key):
            chosen = list(alike)
            votes = self._votes_of(choices[chosen[0]], pruned=len(asked) == len(Channel))
            yield from _blocks(chosen, max(1, BLOCK_CELLS // max(1, len(votes.values))))

    def measure_block(self, choices: Sequence[FusionChoice], asked: Sequence[Channel] = CHANNELS) -> Floats:
        """The metric of choices that have the same votes, for every case."""
        return self._block(self._votes_of(choices[0], pruned=len(asked) == len(Channel)), choices, asked)

    def _votes_of(self, choice: FusionChoice, *, pruned: bool) -> ReplayVotes:
        # Without weights above 0 everywhere, what stands below others may still be their equal.
        pruned = pruned and not self._aggregated
        key = (choice.values_key, pruned)
        if key not in self._votes:
            values = self._all.values(choice.method, choice.rrf_k)
            kept = find_undominated(self._all, values, self.cutoff) if pruned else np.arange(len(values))
            self._votes[key] = self._all.votes(values, kept)
        return self._votes[key]

    def _block(self, votes: ReplayVotes, choices: Sequence[FusionChoice], asked: Sequence[Channel]) -> Floats:
        fused = self._fuse(votes, choices, asked)
        if self._aggregated:
            scores = _with_further(fused, votes, np.array([choice.coefficient for choice in choices]))
        else:
            scores = np.subtract(fused, votes.behind, out=fused)
        return self._measure(votes, votes.ranks(votes.best_of_units(scores)))

    def _fuse(self, votes: ReplayVotes, choices: Sequence[FusionChoice], asked: Sequence[Channel]) -> Floats:
        """Of every passage under every choice."""
        fused = np.zeros((len(votes.values), len(choices)))
        for group in votes.groups:
            weights = weights_of(choices, group.intent, [channel for channel in group.asked if channel in asked])
            part, values = fused[group.begin : group.end], votes.values[group.begin : group.end]
            for place, channel in enumerate(Channel):
                if channel in asked:
                    part += values[:, place, None] * weights[:, place]
        return np.round(fused, DIGITS, out=fused)

    def _measure(self, votes: ReplayVotes, ranks: NDArray[np.int64]) -> Floats:
        """From the ranks of the graded units to the metric, by the catalogue's own arithmetic."""
        cases, count = len(self.case_ids), ranks.shape[1]
        grades = np.full((self.cutoff, count * cases), UNJUDGED, dtype=np.int16)
        unit, choice = np.nonzero(ranks <= self.cutoff)
        grades[ranks[unit, choice] - 1, choice * cases + votes.graded_case[unit]] = votes.graded_grade[unit]
        shown = np.full(count * cases, self.cutoff, dtype=np.int64)
        columns = Columns(
            grades=grades,
            retrieved=shown,
            unjudged=np.zeros_like(shown),
            scale=self._all.scale,
            counts=np.tile(self._all.counts, count),
            looked=self.cutoff,
        )
        return answer(self._kernel, columns, self._question).values.reshape(count, cases)


def _replayable(metric: MetricSpec) -> Kernel:
    """Return how a metric is computed from ranked grades; refuse one that needs more than those."""
    compute = metric.entry.compute
    if (
        not isinstance(compute, FromRanking)
        or metric.name not in METRICS
        or metric.cutoff is None
        or metric.at_defaults().get("unjudged", "0") != "0"
    ):
        raise BadValue(
            f"fusion cannot be tuned by {metric}", remedy=f"Use one of {', '.join(METRICS)} with a cutoff, as ndcg@10."
        )
    return compute.kernel


def _blocks(places: Sequence[int], size: int) -> Iterator[list[int]]:
    for begin in range(0, len(places), size):
        yield list(places[begin : begin + size])


def _with_further(fused: Floats, votes: ReplayVotes, coefficients: Floats) -> Floats:
    """Every passage with the score of its memory (MPAB), as `memory.searching.aggregation` makes it."""
    starts, sizes = votes.memories
    best = np.maximum.reduceat(fused, starts, axis=0)
    floor = votes.floors(fused, COUNTED)
    further = np.add.reduceat(np.maximum(fused - floor[votes.case], 0.0), starts, axis=0)
    further -= np.maximum(best - floor[votes.case[starts]], 0.0)
    joined = np.round(best + coefficients * further / np.sqrt(sizes)[:, None], DIGITS)
    # Of equals the memory comes first whose best passage does.
    joined -= best - np.maximum.reduceat(fused - votes.behind, starts, axis=0)
    return np.repeat(joined, sizes, axis=0)
