"""What other ways to fuse would have shown for the same logged lists: many at once, without an index.

A `Replay` holds every case's passages as columns: what each channel's vote is worth under a method, which memory and
which ranked unit a passage belongs to. A way to fuse is then a weighted sum, a best passage for each unit, and the
places of the few units that are graded. A passage that stands below enough others in every channel can never be shown,
whatever the weights are, and is left out beforehand.

What a replay leaves out: boosts, reranking, and what a session was given already. The graph channel is replayed with
the neighbours of the hits it was asked with. So a choice is found here and confirmed by a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadValue, NothingMeasured
from assay.evaluation.tuning.choices import FusionChoice
from assay.evaluation.tuning.columns import Floats, Votes, cases_of, undominated
from assay.evaluation.tuning.trails import LoggedCase
from assay.evaluation.tuning.weighing import weights_of
from assay.memory.searching.aggregation import COUNTED
from assay.metrics.catalog import FromRanking
from assay.metrics.ordering import UNJUDGED
from assay.metrics.ranking import Columns, Kernel, Question, answer
from assay.metrics.spec import MetricSpec
from assay.records import Channel

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
        self._question = Question(self.cutoff, level, metric.at_defaults())
        self._aggregated = aggregated
        everything = cases_of(logged, level=level, gains=metric.name == "ndcg")
        if not everything.ids:
            raise NothingMeasured(
                f"no case has anything relevant to find under {metric}",
                remedy="Look at the grades: `assay dataset show`.",
            )
        self._all = everything
        self._votes: dict[object, Votes] = {}

    @property
    def case_ids(self) -> tuple[str, ...]:
        """The cases that have a value; those with nothing to find have none."""
        return self._all.ids

    def measure(self, choices: Sequence[FusionChoice], *, channels: Iterable[Channel] = Channel) -> Floats:
        """The metric of every choice (rows) for every case (columns).

        `channels`: as if only these had been asked.
        """
        asked = tuple(channels)
        found = np.empty((len(choices), len(self.case_ids)))
        places = sorted(range(len(choices)), key=lambda place: choices[place].values_key)
        for _, alike in groupby(places, key=lambda place: choices[place].values_key):
            chosen = list(alike)
            votes = self._votes_of(choices[chosen[0]], pruned=len(asked) == len(Channel))
            for block in _blocks(chosen, max(1, BLOCK_CELLS // max(1, len(votes.values)))):
                found[block] = self._block(votes, [choices[place] for place in block], asked)
        return found

    def _votes_of(self, choice: FusionChoice, *, pruned: bool) -> Votes:
        # Without weights above 0 everywhere, what stands below others may still be their equal.
        pruned = pruned and not self._aggregated
        key = (choice.values_key, pruned)
        if key not in self._votes:
            values = self._all.values(choice.method, choice.rrf_k)
            kept = undominated(self._all, values, self.cutoff) if pruned else np.arange(len(values))
            self._votes[key] = self._all.votes(values, kept)
        return self._votes[key]

    def _block(self, votes: Votes, choices: Sequence[FusionChoice], asked: Sequence[Channel]) -> Floats:
        fused = self._fused(votes, choices, asked)
        if self._aggregated:
            scores = _with_further(fused, votes, np.array([one.coefficient for one in choices]))
        else:
            scores = np.subtract(fused, votes.behind, out=fused)
        return self._measured(votes, votes.ranks(votes.best_of_units(scores)))

    def _fused(self, votes: Votes, choices: Sequence[FusionChoice], asked: Sequence[Channel]) -> Floats:
        """Of every passage under every choice."""
        fused = np.zeros((len(votes.values), len(choices)))
        for group in votes.groups:
            weights = weights_of(choices, group.intent, [one for one in group.asked if one in asked])
            part, values = fused[group.begin : group.end], votes.values[group.begin : group.end]
            for place, channel in enumerate(Channel):
                if channel in asked:
                    part += values[:, place, None] * weights[:, place]
        return np.round(fused, DIGITS, out=fused)

    def _measured(self, votes: Votes, ranks: NDArray[np.int64]) -> Floats:
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


def _with_further(fused: Floats, votes: Votes, coefficients: Floats) -> Floats:
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
