"""Thresholds from labelled pairs, on vectors whose similarities are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from assay.embedding.protocol import Progress, SimilarityProfile, Vectors
from assay.errors import NothingMeasured
from assay.evaluation.datasets.bundled import load_scenarios
from assay.memory.saving.thresholds import Cut, LabelledPair, PairLabel, measure_thresholds, pairs_of
from assay.testing import HashedEmbedder


class Angles(HashedEmbedder):
    """Embeds `0.8` as a vector whose cosine with that of `1` is 0.8."""

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        cosines = np.array([float(text) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)


def pairs(label: PairLabel, *similarities: float) -> list[LabelledPair]:
    return [LabelledPair("1", str(similarity), label) for similarity in similarities]


PAIRS = [
    *pairs(PairLabel.SAME, 0.95, 0.9, 0.93),
    *pairs(PairLabel.CONFLICT, 0.8, 0.85, 0.97),
    *pairs(PairLabel.DIFFERENT, 0.2, 0.5, 0.735, 0.4),
]


def test_thresholds_part_the_labels_where_they_can_be_parted() -> None:
    report = measure_thresholds(PAIRS, Angles())

    assert report.proposed == SimilarityProfile(related=0.8, merge=0.9, duplicate=0.9)
    assert [(cut.missed, cut.wrong) for cut in report.cuts] == [(0, 0), (0, 0), (0, 0)]


def test_the_thresholds_in_use_are_judged_on_the_same_pairs() -> None:
    report = measure_thresholds([*PAIRS, *pairs(PairLabel.DIFFERENT, 0.89)], Angles())
    assert report.current == (
        Cut("related", 0.75, 0, 1, 11),
        Cut("merge", 0.88, 0, 1, 8),
        Cut("duplicate", 0.92, 1, 0, 8),
    )


def test_no_different_pair_lies_above_the_proposed_duplicate_threshold() -> None:
    report = measure_thresholds([*PAIRS, *pairs(PairLabel.DIFFERENT, 0.944)], Angles())
    assert report.proposed.duplicate == 0.95


def test_the_spread_of_each_label_is_told() -> None:
    spread = measure_thresholds(PAIRS, Angles()).spreads[PairLabel.SAME]
    assert (spread.pairs, spread.lowest, spread.median, spread.highest) == (3, 0.9, 0.93, 0.95)


def test_every_label_needs_a_pair() -> None:
    with pytest.raises(NothingMeasured, match="conflict or different"):
        measure_thresholds(pairs(PairLabel.SAME, 0.9), Angles())


def test_the_scenarios_give_pairs_of_every_label() -> None:
    assert {pair.label for pair in pairs_of(load_scenarios())} == set(PairLabel)
