"""What became of exposure and quality, each beside the control: the same questions to a memory that learned nothing.

Paired with the control, the luck of which questions came up cancels out; what is left is learning. A number has grown
when the last rounds are above their control by more than the margin, and resampling the searches leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.memory.learning.exposure import MARGIN, SURE, Numbers, numbers
from assay.metrics.engine import measure_mappings
from assay.metrics.spec import parse_specs

RESAMPLES = 300
QUALITY_MARGIN = 0.01
"""A loss of nDCG@10 that matters."""
(NDCG,) = parse_specs("ndcg@10")


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
    margin: float

    @property
    def change(self) -> float:
        """How far it is from its control."""
        return self.now - self.control

    @property
    def grown(self) -> bool:
        """Whether it grew, beyond the margin and beyond doubt."""
        return self.change > self.margin and self.low > 0.0


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


def drifts(searched: Sequence[Searched], ground: Ground, rng: np.random.Generator) -> list[Drift]:
    """Every number over some searches, with how sure its change is."""
    draws = [[searched[place] for place in rng.integers(len(searched), size=len(searched))] for _ in range(RESAMPLES)]
    changes = np.asarray([_change(ground, drawn) for drawn in draws])
    lows = np.quantile(changes, 1.0 - SURE, axis=0)
    now, control = (ground.exposure(lists) for lists in _both(searched))
    found = [Drift(*parts, MARGIN) for parts in zip(Numbers._fields, control, now, map(float, lows), strict=True)]
    return [*found, _quality_drift(ground.quality(searched), rng)]


def _change(ground: Ground, searched: Sequence[Searched]) -> list[float]:
    now, control = (ground.exposure(lists) for lists in _both(searched))
    return [one - other for one, other in zip(now, control, strict=True)]


def _quality_drift(changes: NDArray[np.float64], rng: np.random.Generator) -> Drift:
    """Quality as a number that should not grow: what was lost of it."""
    means = [rng.choice(-changes, size=len(changes)).mean() for _ in range(RESAMPLES)]
    low = float(np.quantile(means, 1.0 - SURE))
    return Drift("ndcg@10 lost", 0.0, float(-changes.mean()), low, QUALITY_MARGIN)


def _both(searched: Sequence[Searched]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [one.shown for one in searched], [one.control for one in searched]


def _scored(ids: Sequence[str]) -> dict[str, float]:
    return {one: 1.0 / rank for rank, one in enumerate(ids, start=1)}
