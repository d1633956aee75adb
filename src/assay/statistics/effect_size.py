"""How large a paired difference is beside its own spread, and on how many queries it points which way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.checks import Floats, numbers
from assay.statistics.clusters import units_of

TIE = 1e-9
"""Differences up to this size are ties: rounding of the arithmetic, not a change."""


class Score(NamedTuple):
    """On how many queries the treatment won, tied and lost."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectSize:
    """A mean difference in units of its standard deviation; None where there is no spread to measure with."""

    cohen_dz: float | None
    hedges_gz: float | None
    """Cohen's dz without its small-sample bias."""


def effect_size(differences: ArrayLike) -> EffectSize:
    """Cohen's dz of paired differences and its Hedges correction."""
    array = numbers(differences, "differences")
    if not units_of(array).vary:
        return EffectSize(cohen_dz=None, hedges_gz=None)
    dz = float(array.mean() / array.std(ddof=1))
    return EffectSize(cohen_dz=dz, hedges_gz=dz * hedges_factor(len(array) - 1))


def hedges_factor(df: int) -> float:
    """Hedges' exact correction; about 1 - 3 / (4 df - 1). With one degree of freedom no unbiased value exists: 0."""
    if df < 2:
        return 0.0
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def wins_ties_losses(differences: ArrayLike, *, tie: float = TIE) -> Score:
    """Count the queries on each side."""
    array: Floats = numbers(differences, "differences", least=0)
    wins, losses = int(np.count_nonzero(array > tie)), int(np.count_nonzero(array < -tie))
    return Score(wins, len(array) - wins - losses, losses)
