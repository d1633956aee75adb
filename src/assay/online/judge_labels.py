"""Whether a model's grades may stand beside a person's: only when they agree where both graded.

Both grade the same pairs; grades from 2 on are relevant. Below 50 pairs nothing can be said, and below 80 % agreement
the model's grades are kept but count for nothing. Kappa is told beside it: where nearly everything is relevant, two
coins agree as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.records import Judgment, JudgmentSource
from assay.statistics.agreement import cohen_kappa

LEAST_PAIRS = 50
LEAST_AGREEMENT = 0.80
RELEVANT = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """What a model's grades are worth."""

    pairs: int
    agreement: float | None
    """None: no pair was graded by both."""
    kappa: float | None
    admitted: bool
    sentence: str


def admission(judgments: Sequence[Judgment], *, rng: np.random.Generator) -> Admission:
    """Hold a model's grades against people's, over the pairs that both graded."""
    hand = _relevant(judgments, JudgmentSource.MANUAL)
    model = _relevant(judgments, JudgmentSource.LLM_JUDGE)
    shared = sorted(hand.keys() & model.keys())
    if not shared:
        return Admission(pairs=0, agreement=None, kappa=None, admitted=False, sentence="No pair was graded by both.")
    ours, theirs = [hand[pair] for pair in shared], [model[pair] for pair in shared]
    agreement = float(np.mean([one == other for one, other in zip(ours, theirs, strict=True)]))
    kappa = cohen_kappa(ours, theirs, rng=rng).value
    told = f"{agreement:.0%} agreement over {len(shared)} pairs"
    if len(shared) < LEAST_PAIRS:
        sentence = f"{told}; {LEAST_PAIRS} pairs are needed."
    else:
        sentence = f"{told}; {LEAST_AGREEMENT:.0%} are needed."
    admitted = len(shared) >= LEAST_PAIRS and agreement >= LEAST_AGREEMENT
    return Admission(pairs=len(shared), agreement=agreement, kappa=kappa, admitted=admitted, sentence=sentence)


def counting(judgments: Sequence[Judgment], *, rng: np.random.Generator) -> list[Judgment]:
    """The judgments that may be measured with: a model's only when they were admitted."""
    if admission(judgments, rng=rng).admitted:
        return list(judgments)
    return [one for one in judgments if one.source is not JudgmentSource.LLM_JUDGE]


def _relevant(judgments: Sequence[Judgment], source: JudgmentSource) -> dict[tuple[str, str], int]:
    return {(one.query_id, one.memory_id): int(one.relevance >= RELEVANT) for one in judgments if one.source is source}
