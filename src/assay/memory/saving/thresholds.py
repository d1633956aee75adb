"""Where an embedder's similarity begins to mean something, measured on labelled pairs.

Three labels: `same` repeats the statement, `conflict` makes another statement about the same subject, `different` has
another subject. Each threshold is the cut with the fewest errors, the higher one among equals, since a pair that is not
compared costs less than one that is merged:
`related` parts same and conflict from different; `merge` parts same from different, at or above `related`;
`duplicate` lies above every different pair, at or above `merge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from assay.embedding.protocol import Embedder, SimilarityProfile
from assay.errors import NothingMeasured
from assay.records.saving import APART, SAME, Scenario
from assay.text.chunking import build_embedding_text

STEP = 0.01
"""Thresholds have two decimals: a set of this size does not support more."""


class PairLabel(StrEnum):
    """Relation of the second of two texts to the first."""

    SAME = "same"
    CONFLICT = "conflict"
    DIFFERENT = "different"


class LabelledPair(NamedTuple):
    """Two texts and how they stand to each other."""

    first: str
    second: str
    label: PairLabel


class Spread(NamedTuple):
    """How similar the pairs of one label are."""

    pairs: int
    lowest: float
    quarter: float
    median: float
    three_quarters: float
    highest: float


class Cut(NamedTuple):
    """A threshold and its errors."""

    name: str
    value: float
    missed: int
    """Pairs below it that belong above."""
    wrong: int
    """Pairs above it that belong below."""
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdReport:
    """What was measured, and what follows from it."""

    model: str
    spreads: Mapping[PairLabel, Spread]
    proposed: SimilarityProfile
    cuts: tuple[Cut, ...]
    """The proposed thresholds with their errors."""
    current: tuple[Cut, ...]
    """The thresholds in use with theirs, on the same pairs."""


def pairs_of(scenarios: Iterable[Scenario]) -> list[LabelledPair]:
    """Labelled saves as labelled pairs."""
    return [
        LabelledPair(
            build_embedding_text(scenario.old.title, "", scenario.old.body),
            build_embedding_text(scenario.new.title, "", scenario.new.body),
            _label(scenario),
        )
        for scenario in scenarios
    ]


def measure_thresholds(pairs: Sequence[LabelledPair], embedder: Embedder) -> ThresholdReport:
    """Similarities by label, the thresholds that part them best, and how good those in use are."""
    found = {label: _similarities(pairs, label, embedder) for label in PairLabel}
    empty = [label for label, similarities in found.items() if not len(similarities)]
    if empty:
        raise NothingMeasured(
            f"there is no pair labelled {' or '.join(empty)}", remedy="Label some pairs of each of the three kinds."
        )
    proposed = _propose(found)
    return ThresholdReport(
        model=embedder.model,
        spreads={label: _spread(similarities) for label, similarities in found.items()},
        proposed=proposed,
        cuts=_cuts(found, proposed),
        current=_cuts(found, embedder.profile),
    )


_Found = Mapping[PairLabel, np.ndarray[tuple[int], np.dtype[np.float64]]]


def _label(one: Scenario) -> PairLabel:
    if one.kind in SAME:
        return PairLabel.SAME
    return PairLabel.DIFFERENT if one.kind in APART else PairLabel.CONFLICT


def _similarities(
    pairs: Sequence[LabelledPair], label: PairLabel, embedder: Embedder
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    wanted = [pair for pair in pairs if pair.label is label]
    if not wanted:
        return np.zeros(0)
    first, second = (embedder.embed([pair[side] for pair in wanted]).astype(np.float64) for side in (0, 1))
    # Beyond six decimals, vectors kept in half precision mean nothing.
    return np.asarray(np.clip((first * second).sum(axis=1), -1.0, 1.0).round(6))


def _propose(found: _Found) -> SimilarityProfile:
    kin = np.concatenate([found[PairLabel.SAME], found[PairLabel.CONFLICT]])
    related = _best(kin, found[PairLabel.DIFFERENT], least=0.0)
    merge = _best(found[PairLabel.SAME], found[PairLabel.DIFFERENT], least=related)
    beyond = float(np.ceil(found[PairLabel.DIFFERENT].max() / STEP) * STEP)
    return SimilarityProfile(related=related, merge=merge, duplicate=round(min(1.0, max(merge, beyond)), 2))


def _best(above: np.ndarray, below: np.ndarray, *, least: float) -> float:
    """The cut with the fewest errors, each side weighing the same however many pairs it has."""
    cuts = np.round(np.arange(least, 1.0 + STEP / 2, STEP), 2)
    errors = [float((above < cut).mean() + (below >= cut).mean()) for cut in cuts]
    fewest = min(errors)
    return float(max(cut for cut, error in zip(cuts, errors, strict=True) if error <= fewest + 1e-12))


def _cuts(found: _Found, profile: SimilarityProfile) -> tuple[Cut, ...]:
    same, conflict, different = (found[label] for label in PairLabel)
    sides = {"related": np.concatenate([same, conflict]), "merge": same, "duplicate": same}
    return tuple(
        Cut(
            name,
            value := float(getattr(profile, name)),
            int((above < value).sum()),
            int((different >= value).sum()),
            len(above) + len(different),
        )
        for name, above in sides.items()
    )


def _spread(similarities: np.ndarray) -> Spread:
    marks = np.quantile(similarities, [0.0, 0.25, 0.5, 0.75, 1.0])
    return Spread(len(similarities), *(round(float(mark), 3) for mark in marks))
