"""What became of exposure and quality, each beside the control: the same questions to a memory that learned nothing.

Paired with the control, the luck of which questions came up cancels out; what is left is learning. A number has grown
when the last rounds are above their control by more than the margin, and resampling leaves no doubt of a growth. It has
held only when resampling leaves no doubt that it is within the margin; between the two, nobody knows. What is resampled
are questions with all their searches, since a question that is asked again brings nothing new; and simulations, where
there are several, since each has its own luck with votes and with what is popular.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.memory.learning.exposure import MARGIN, SURE, Numbers, has_grown, numbers
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs

RESAMPLES = 500
QUALITY_MARGIN = 0.01
"""A loss of nDCG@10 that matters."""
(NDCG,) = parse_specs("ndcg@10")


class Verdict(StrEnum):
    """What is known of a number."""

    HELD = "held"
    GROWN = "grown"
    UNCLEAR = "unclear"


class Searched(NamedTuple):
    """One simulated search and its control."""

    case_id: str
    shown: tuple[str, ...]
    control: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What the numbers are measured against."""

    known: Collection[str]
    """Every memory that could be shown."""
    stale: Collection[str]
    favoured: Collection[str]
    """Those that were shown most to begin with."""
    grades: Mapping[str, Mapping[str, int]]
    """By case and memory."""

    def exposure(self, lists: Sequence[tuple[str, ...]]) -> Numbers:
        """How exposure is spread over some results."""
        return numbers(lists, known=self.known, favoured=self.favoured, stale=self.stale)

    def quality(self, searched: Sequence[Searched]) -> NDArray[np.float64]:
        """nDCG@10 of each search minus that of its control; 0 where nothing could be found."""
        qrels = {str(place): self.grades[one.case_id] for place, one in enumerate(searched)}
        measured = [
            measure_mappings(qrels, {str(place): _scored(ids) for place, ids in enumerate(lists)}, [NDCG])
            for lists in ([one.shown for one in searched], [one.control for one in searched])
        ]
        now, control = (found.scores[NDCG] for found in measured)
        return np.where(now.scored, now.values - control.values, 0.0)


class RoundNumbers(NamedTuple):
    """One round: each number, and how far it is from its control."""

    number: int
    gini: float
    gini_change: float
    entrenchment: float
    entrenchment_change: float
    stale_served: float
    stale_change: float
    ndcg_change: float
    terms: int
    """Learned terms in memories."""


class Drift(NamedTuple):
    """One number over the last rounds."""

    name: str
    control: float
    now: float
    low: float
    """What the change is at least, beyond reasonable doubt."""
    high: float
    """And at most."""
    margin: float

    @property
    def change(self) -> float:
        """How far it is from its control."""
        return self.now - self.control

    @property
    def verdict(self) -> Verdict:
        """Whether it grew."""
        if has_grown(self.change, at_least=self.low, margin=self.margin):
            return Verdict.GROWN
        return Verdict.HELD if self.high <= self.margin else Verdict.UNCLEAR


def of_round(number: int, searched: Sequence[Searched], ground: Ground, *, terms: int) -> RoundNumbers:
    """The numbers of one round."""
    now, control = (ground.exposure(lists) for lists in _both(searched))
    return RoundNumbers(
        number=number,
        gini=now.gini,
        gini_change=now.gini - control.gini,
        entrenchment=now.entrenchment,
        entrenchment_change=now.entrenchment - control.entrenchment,
        stale_served=now.stale_served,
        stale_change=now.stale_served - control.stale_served,
        ndcg_change=float(ground.quality(searched).mean()),
        terms=terms,
    )


class Trial(NamedTuple):
    """What is judged of one simulation."""

    searched: Sequence[Searched]
    ground: Ground

    def levels(self) -> tuple[list[float], list[float]]:
        """Every number and its control."""
        now, control = (self.ground.exposure(lists) for lists in _both(self.searched))
        # Quality is told as a number that should not grow: what was lost of it.
        return [*now, -float(self.ground.quality(self.searched).mean())], [*control, 0.0]

    def changes(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """How far every number is from its control, in one row for each time the questions are drawn again."""
        lost = -self.ground.quality(self.searched)
        return np.asarray([self._change(lost, places) for places in _draws(self.searched, rng)])

    def _change(self, lost: NDArray[np.float64], places: Sequence[int]) -> list[float]:
        now, control = (self.ground.exposure(lists) for lists in _both([self.searched[place] for place in places]))
        return [*(one - other for one, other in zip(now, control, strict=True)), float(lost[places].mean())]


def drifts(trials: Sequence[Trial], rng: np.random.Generator) -> list[Drift]:
    """Every number, over all simulations in the mean, with how sure its change is."""
    levels = np.asarray([trial.levels() for trial in trials]).mean(axis=0)
    lows, highs = _interval(levels[0] - levels[1], _drawn(trials, rng))
    names = (*Numbers._fields, "ndcg@10 lost")
    margins = (*(MARGIN for _ in Numbers._fields), QUALITY_MARGIN)
    now, control = levels.tolist()
    return [Drift(*parts) for parts in zip(names, control, now, lows, highs, margins, strict=True)]


def _interval(change: NDArray[np.float64], drawn: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """What each change is at least and at most: as drawn, or as far around the change itself, whichever is wider.

    Of questions that are drawn again some are the same, so that attention is less even and its growth looks smaller.
    """
    low, high = np.quantile(drawn, (1.0 - SURE, SURE), axis=0)
    off = change - drawn.mean(axis=0)
    return np.minimum(low, low + off).tolist(), np.maximum(high, high + off).tolist()


def _drawn(trials: Sequence[Trial], rng: np.random.Generator) -> NDArray[np.float64]:
    """The mean change when both the simulations and the questions of each are drawn again: a row for each time."""
    changes = np.stack([trial.changes(rng) for trial in trials])
    drawn = rng.integers(len(trials), size=(RESAMPLES, len(trials)))
    own = rng.integers(RESAMPLES, size=drawn.shape) if len(trials) > 1 else np.arange(RESAMPLES)[:, None]
    return np.asarray(changes[drawn, own].mean(axis=1), dtype=np.float64)


def _draws(searched: Sequence[Searched], rng: np.random.Generator) -> Iterator[list[int]]:
    """The places of the searches of as many questions as there are, drawn again and again."""
    asked: dict[str, list[int]] = {}
    for place, one in enumerate(searched):
        asked.setdefault(one.case_id, []).append(place)
    places = list(asked.values())
    for _ in range(RESAMPLES):
        yield [place for drawn in rng.integers(len(places), size=len(places)) for place in places[drawn]]


def _both(searched: Sequence[Searched]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [one.shown for one in searched], [one.control for one in searched]


def _scored(ids: Sequence[str]) -> dict[str, float]:
    return {one: 1.0 / rank for rank, one in enumerate(ids, start=1)}
